"""Process managers that speak PMI: ``mpiexec`` of MPICH (hydra), Intel MPI, MVAPICH, Cray's PALS:
one task per rank. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from argosy.runtime.launch.environments.placement import (
    MASTER_VARIABLES,
    Placement,
    master_of,
    named,
    number,
)

# hydra's name, then Cray's
_LOCAL_RANK = ("MPI_LOCALRANKID", "PMI_LOCAL_RANK")
_LOCAL_SIZE = ("MPI_LOCALNRANKS", "PMI_LOCAL_SIZE")


def detect(environment: Mapping[str, str]) -> Placement | None:
    rank, world_size = number(environment, "PMI_RANK"), number(environment, "PMI_SIZE")
    if rank is None or world_size is None:
        return None
    local_rank, here = (
        next((found for name in names if (found := number(environment, name)) is not None), None)
        for names in (_LOCAL_RANK, _LOCAL_SIZE)
    )
    job_id = environment.get("PMI_JOBID", "")
    return Placement(
        launcher="mpiexec of MPICH, or another that speaks PMI",
        variables=named(
            environment,
            "PMI_RANK",
            "PMI_SIZE",
            *_LOCAL_RANK,
            *_LOCAL_SIZE,
            *MASTER_VARIABLES,
        ),
        num_hosts=1 if here == world_size else None,
        this_host=0 if here == world_size else None,
        processes_per_host=here,
        rank=rank,
        local_rank=local_rank,
        world_size=world_size,
        master=master_of(environment, "", job_id),
        job_id=job_id,
        is_in_tasks=here not in (None, world_size),  # what is around are its daemons, not its ranks
    )
