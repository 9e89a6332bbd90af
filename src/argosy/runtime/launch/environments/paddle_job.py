"""PADDLE_NNODES and PADDLE_MASTER, as Kubeflow's PaddleJob and people set them: one task per host,
which is to be a launcher. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from argosy.runtime.launch.environments.placement import Placement, named, number


def detect(environment: Mapping[str, str]) -> Placement | None:
    least, colon, most = environment.get("PADDLE_NNODES", "").partition(":")
    if not least or environment.get("PADDLE_TRAINERS_NUM"):
        return None
    num_hosts = number({"PADDLE_NNODES": least}, "PADDLE_NNODES")
    index = number(environment, "PADDLE_TRAINER_ID")
    has_servers, has_workers = (
        environment.get(name, "0") != "0" for name in ("PADDLE_SERVER_NUM", "PADDLE_TRAINER_NUM")
    )
    return Placement(
        launcher="PaddleJob of Kubeflow"
        if environment.get("PADDLE_JOB_ID")
        else "whoever set PADDLE_NNODES",
        variables=named(
            environment,
            "PADDLE_NNODES",
            "PADDLE_MASTER",
            "PADDLE_TRAINER_ID",
            "PADDLE_RANK",
            "PADDLE_NPROC_PER_NODE",
            "PADDLE_JOB_ID",
            "PADDLE_SERVER_NUM",
            "PADDLE_TRAINER_NUM",
        ),
        num_hosts=num_hosts,
        most_hosts=number({"PADDLE_NNODES": most}, "PADDLE_NNODES") if colon else None,
        this_host=number(environment, "PADDLE_RANK") if index is None else index,
        processes_per_host=number(environment, "PADDLE_NPROC_PER_NODE"),
        master=environment.get("PADDLE_MASTER", ""),
        job_id=environment.get("PADDLE_JOB_ID", ""),
        role="server" if has_servers and not has_workers else "worker" if has_workers else "",
    )
