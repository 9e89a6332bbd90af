"""Process managers that speak PMI: ``mpiexec`` of MPICH (hydra), of Intel MPI, of MVAPICH: one task
per rank. Pure.
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


def detect(environment: Mapping[str, str]) -> Placement | None:
    rank, world_size = number(environment, "PMI_RANK"), number(environment, "PMI_SIZE")
    if rank is None or world_size is None:
        return None
    here = number(environment, "MPI_LOCALNRANKS")
    job_id = environment.get("PMI_JOBID", "")
    return Placement(
        launcher="mpiexec of MPICH, or another that speaks PMI",
        variables=named(
            environment,
            "PMI_RANK",
            "PMI_SIZE",
            "MPI_LOCALRANKID",
            "MPI_LOCALNRANKS",
            *MASTER_VARIABLES,
        ),
        num_hosts=1 if here == world_size else None,
        this_host=0 if here == world_size else None,
        processes_per_host=here,
        rank=rank,
        local_rank=number(environment, "MPI_LOCALRANKID"),
        world_size=world_size,
        master=master_of(environment, "", job_id),
        job_id=job_id,
    )
