"""PaddleJob of paddle-operator: PADDLE_TRAINERS lists the pods, each of which is one trainer or one
host of a launcher. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from argosy.runtime.launch.environments.placement import Placement, named, number


def detect(environment: Mapping[str, str]) -> Placement | None:
    hosts = environment.get("PADDLE_TRAINERS", "")
    index = number(environment, "PADDLE_TRAINER_ID")
    if not hosts or index is None or not environment.get("POD_IP"):
        return None
    if environment.get("PADDLE_CURRENT_ENDPOINT"):
        return None  # a launcher in the pod has started this process
    endpoints = environment.get("PADDLE_TRAINER_ENDPOINTS", "").split(",")
    count = len(hosts.split(","))
    is_server = environment.get("TRAINING_ROLE") == "PSERVER"
    return Placement(
        launcher="PaddleJob of paddle-operator",
        variables=named(
            environment,
            "PADDLE_TRAINERS",
            "PADDLE_TRAINERS_NUM",
            "PADDLE_TRAINER_ID",
            "PADDLE_TRAINER_ENDPOINTS",
            "PADDLE_PSERVERS_IP_PORT_LIST",
            "TRAINING_ROLE",
            "POD_IP",
            "PADDLE_PORT",
        ),
        num_hosts=count,
        this_host=None if is_server else index,
        processes_per_host=1,
        rank=None if is_server else index,
        local_rank=0,
        world_size=count,
        endpoint=endpoints[index] if index < len(endpoints) and not is_server else "",
        master=endpoints[0],
        role=""
        if not environment.get("PADDLE_PSERVERS_IP_PORT_LIST")
        else "server"
        if is_server
        else "worker",
    )
