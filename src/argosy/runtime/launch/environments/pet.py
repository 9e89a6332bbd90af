"""PET_*, torchrun's flags as variables, of Kubeflow's Trainer v2 and PyTorchJob: one task per host,
which is to be a launcher. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from argosy.foundation.endpoints import Endpoint
from argosy.runtime.launch.environments.placement import Placement, named, number


def detect(environment: Mapping[str, str]) -> Placement | None:
    least, colon, most = environment.get("PET_NNODES", "").partition(":")
    if not least:
        return None
    each = environment.get("PET_NPROC_PER_NODE", "")  # also: auto, cpu, gpu
    host = environment.get("PET_MASTER_ADDR", "") or environment.get("MASTER_ADDR", "")
    port = number(environment, "PET_MASTER_PORT")
    if port is None:
        port = number(environment, "MASTER_PORT")
    return Placement(
        launcher="Kubeflow's Trainer or PyTorchJob",
        variables=named(
            environment,
            "PET_NNODES",
            "PET_NODE_RANK",
            "PET_NPROC_PER_NODE",
            "PET_MASTER_ADDR",
            "PET_MASTER_PORT",
            "PET_RDZV_ENDPOINT",
            "MASTER_ADDR",
            "MASTER_PORT",
        ),
        num_hosts=number({"PET_NNODES": least}, "PET_NNODES"),
        most_hosts=number({"PET_NNODES": most}, "PET_NNODES") if colon else None,
        this_host=number(environment, "PET_NODE_RANK"),
        processes_per_host=int(each) if each.isascii() and each.isdigit() else None,
        master=str(Endpoint(host.strip("[]"), port))
        if host and port is not None
        else environment.get("PET_RDZV_ENDPOINT", ""),
        job_id=environment.get("PET_RDZV_ID", ""),
    )
