"""Paddle's own launchers: one task per rank, by a count or a list of all ranks. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from argosy.runtime.launch.environments.placement import (
    MASTER_VARIABLES,
    Placement,
    named,
    number,
)


def detect(environment: Mapping[str, str]) -> Placement | None:
    listed = environment.get("PADDLE_TRAINER_ENDPOINTS", "").replace(";", ",").split(",")
    endpoints = [each.strip() for each in listed if each.strip()]
    world_size = number(environment, "PADDLE_TRAINERS_NUM")
    if world_size is None and not endpoints:
        return None
    address, port = environment.get("MASTER_ADDR", ""), environment.get("MASTER_PORT", "")
    return Placement(
        launcher="a launcher of Paddle",
        variables=named(
            environment,
            "PADDLE_TRAINERS_NUM",
            "PADDLE_TRAINER_ID",
            "PADDLE_NNODES",
            "PADDLE_LOCAL_SIZE",
            "PADDLE_LOCAL_RANK",
            "PADDLE_TRAINER_ENDPOINTS",
            *MASTER_VARIABLES,
            "TRAINING_ROLE",
            "PADDLE_PSERVER_ID",
        ),
        num_hosts=number(environment, "PADDLE_NNODES"),
        processes_per_host=number(environment, "PADDLE_LOCAL_SIZE"),
        rank=number(environment, "PADDLE_TRAINER_ID"),
        local_rank=number(environment, "PADDLE_LOCAL_RANK"),
        world_size=len(endpoints) if world_size is None else world_size,
        endpoint=environment.get("PADDLE_CURRENT_ENDPOINT", ""),
        master=f"{address}:{port}"
        if address and port
        else environment.get("PADDLE_MASTER", "") or "".join(endpoints[:1]),
        job_id=environment.get("PADDLE_JOB_ID", ""),
        role={"PSERVER": "server", "TRAINER": "worker"}.get(
            environment.get("TRAINING_ROLE", ""), ""
        ),
    )
