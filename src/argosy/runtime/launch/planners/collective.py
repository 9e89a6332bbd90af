"""The ranks of a collective job that run on this host. Pure.

Ranks are started again together, by whoever made the roster: their endpoints and their store are
new then. So a rank has no restart rule of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from argosy.runtime.launch.machine import Machine
from argosy.runtime.launch.planners.environment import shared_variables, threads_each
from argosy.runtime.launch.process_spec import Job, ProcessSpec
from argosy.runtime.launch.roster import RANK, Member, Roster
from argosy.runtime.launch.spec import Generation, LaunchSpec

_LONGEST_LIST = 120 * 1024  # of a variable; the kernel refuses one of 128 KiB


def plan(spec: LaunchSpec, roster: Roster, machine: Machine, *, is_first: bool = True) -> Job:
    """This host's share of the job; ``is_first`` tells it from one that is started again."""
    here, world_size = roster.here, len(roster.members)
    num_threads = threads_each(spec.num_threads, machine, len(here))
    shared = _shared(spec, roster, machine, num_threads)
    processes = tuple(_process(spec, member, shared) for member in here)
    workers = f"{world_size} worker{'s' if world_size > 1 else ''}"
    on_host = "" if roster.num_hosts == 1 else f" ({len(here)} here)"
    return Job(
        processes=processes,
        title=f"{workers}{on_host}, {num_threads} thread{'s' if num_threads > 1 else ''} each",
        after_failure="it was the first to fail, the other workers were ended"
        if world_size > 1
        else "",
        log_dir=spec.log_dir,
        empties_logs=spec.log_overwrite and is_first,
        text_by_file=_texts(spec, roster, machine, processes),
        shows_table=spec.shows_table,
        grace_s=spec.grace_s,
        requeue_code=spec.requeue_code,
    )


def _shared(spec: LaunchSpec, roster: Roster, machine: Machine, num_threads: int) -> dict[str, str]:
    world_size = str(len(roster.members))
    variables = shared_variables(spec, roster.rendezvous, machine, num_threads) | {
        "PADDLE_NNODES": str(roster.num_hosts),
        "PADDLE_DISTRI_BACKEND": spec.backend,
        "PADDLE_AUTO_CLUSTER": "0",
        "PADDLE_TRAINERS_NUM": world_size,
        "PADDLE_GLOBAL_SIZE": world_size,
        "PADDLE_LOCAL_SIZE": str(len(roster.here)),
        "PADDLE_WORLD_DEVICE_IDS": ",".join(member.cards for member in roster.members),
    }
    endpoints = ",".join(roster.endpoints(RANK))
    variables.pop("PADDLE_TRAINER_ENDPOINTS", None)
    if len(endpoints) <= _LONGEST_LIST:
        variables["PADDLE_TRAINER_ENDPOINTS"] = endpoints
    if machine.pod_name:
        variables["POD_NAME"] = machine.pod_name
    return variables


def _process(spec: LaunchSpec, member: Member, shared: Mapping[str, str]) -> ProcessSpec:
    rank, local_rank = str(member.rank), str(member.local_rank)
    variables = {
        **shared,
        "PADDLE_TRAINER_ID": rank,
        "PADDLE_GLOBAL_RANK": rank,
        "PADDLE_RANK_IN_NODE": local_rank,
        "PADDLE_LOCAL_RANK": local_rank,
        "PADDLE_CURRENT_ENDPOINT": member.endpoint,
        "PADDLE_LOCAL_DEVICE_IDS": member.cards,
    }
    if member.cards:
        variables["FLAGS_selected_gpus"] = member.cards
        variables["FLAGS_selected_accelerators"] = member.cards
    return ProcessSpec(
        member=member,
        argv=spec.command,
        environment=variables,
        log_name=f"workerlog.{local_rank}",
    )


def _texts(
    spec: LaunchSpec, roster: Roster, machine: Machine, processes: Sequence[ProcessSpec]
) -> dict[str, str]:
    """The files that a generation of Paddle puts beside the logs."""
    endpoints = roster.endpoints(RANK)
    if spec.generation is Generation.V2_0:
        return {"endpoints.log": "\n".join(["PADDLE_TRAINER_ENDPOINTS: ", *endpoints])}
    if spec.generation is Generation.V1_8:
        return {}
    ranks = [f"rank {rank}: {endpoint}" for rank, endpoint in enumerate(endpoints)]
    job = [f"PADDLE_MASTER={roster.rendezvous.endpoint}", *ranks, ""]
    return {
        f"{spec.job_id}.{machine.pod_name}.log": "\n".join(job),
        **{
            f"envlog.{p.member.local_rank}": "\n".join([*public(p.environment), ""])
            for p in processes
        },
    }


def public(variables: Mapping[str, str]) -> list[str]:
    """The lines about an environment that may be written to a log: Paddle's own variables, no
    secret among them.
    """
    return [
        f"{name}={value}"
        for name, value in sorted(variables.items())
        if name.startswith(("PADDLE_", "FLAGS_"))
    ]
