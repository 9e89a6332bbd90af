"""``mpirun`` of Open MPI: one task per rank. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from argosy.runtime.launch.environments.placement import (
    MASTER_VARIABLES,
    Placement,
    master_of,
    named,
    number,
)

_JOB = ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid")


def detect(environment: Mapping[str, str]) -> Placement | None:
    world_size = number(environment, "OMPI_COMM_WORLD_SIZE")
    rank = number(environment, "OMPI_COMM_WORLD_RANK")
    if world_size is None or rank is None:
        return None
    here = number(environment, "OMPI_COMM_WORLD_LOCAL_SIZE")
    job_id = next((environment[name] for name in _JOB if environment.get(name)), "")
    return Placement(
        launcher="mpirun of Open MPI",
        variables=named(
            environment,
            "OMPI_COMM_WORLD_RANK",
            "OMPI_COMM_WORLD_SIZE",
            "OMPI_COMM_WORLD_LOCAL_RANK",
            "OMPI_COMM_WORLD_LOCAL_SIZE",
            *MASTER_VARIABLES,
        ),
        num_hosts=1 if here == world_size else None,
        this_host=0 if here == world_size else None,
        processes_per_host=here,
        rank=rank,
        local_rank=number(environment, "OMPI_COMM_WORLD_LOCAL_RANK"),
        world_size=world_size,
        master=master_of(environment, "", job_id),
        job_id=job_id,
        is_in_tasks=here not in (None, world_size),  # what is around are its daemons, not its ranks
    )
