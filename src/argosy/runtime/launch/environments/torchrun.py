"""torchrun, and everybody who sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT as torch's
``env://`` reads them: one task per rank. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from argosy.foundation.endpoints import Endpoint
from argosy.runtime.launch.environments.placement import Placement, named, number


def detect(environment: Mapping[str, str]) -> Placement | None:
    rank, world_size = number(environment, "RANK"), number(environment, "WORLD_SIZE")
    local_rank = number(environment, "LOCAL_RANK")
    if rank is None or world_size is None:
        return None
    if local_rank is None and environment.get("PET_NNODES"):
        return None  # PyTorchJob numbers its pods by RANK; torchrun is to make ranks of them
    is_agent = bool(environment.get("TORCHELASTIC_RUN_ID"))
    address, port = environment.get("MASTER_ADDR", ""), number(environment, "MASTER_PORT")
    where = str(Endpoint(address.strip("[]"), port)) if address and port is not None else ""
    has_store = environment.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    return Placement(
        launcher="torchrun" if is_agent else "whoever set RANK and WORLD_SIZE",
        variables=named(
            environment,
            "RANK",
            "WORLD_SIZE",
            "LOCAL_RANK",
            "LOCAL_WORLD_SIZE",
            "GROUP_RANK",
            "GROUP_WORLD_SIZE",
            "MASTER_ADDR",
            "MASTER_PORT",
            "TORCHELASTIC_RUN_ID",
            "TORCHELASTIC_USE_AGENT_STORE",
        ),
        num_hosts=number(environment, "GROUP_WORLD_SIZE"),
        this_host=number(environment, "GROUP_RANK"),
        processes_per_host=number(environment, "LOCAL_WORLD_SIZE"),
        rank=rank,
        local_rank=local_rank,
        world_size=world_size,
        master="" if has_store else where,
        agent=where if has_store else "",
        attempt=environment.get("TORCHELASTIC_RESTART_COUNT", ""),
        job_id=environment.get("TORCHELASTIC_RUN_ID", ""),
        is_in_tasks=is_agent,  # its hosts are in the order of their names, n10 before n9
    )
