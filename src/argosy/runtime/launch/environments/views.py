"""A placement as those need it who act on it: a rank that joins, a launcher that starts ranks.
Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from argosy.foundation.errors import ConfigError
from argosy.runtime.comm.meeting import MEETING
from argosy.runtime.launch.environments import paddle, paddle_operator
from argosy.runtime.launch.environments.choice import CHOOSER, NONE, look
from argosy.runtime.launch.environments.placement import Placement


def is_of_paddle(environment: Mapping[str, str]) -> bool:
    """Whether a launcher of Paddle, or of ours, has told this very process its place."""
    return paddle.detect(environment) is not None and paddle_operator.detect(environment) is None


def as_rank(environment: Mapping[str, str]) -> Placement | None:
    """The place of a process that is one rank of a job of several; None for one that is alone, and
    where Paddle's own variables have said it all.
    """
    if is_of_paddle(environment):
        return None
    placement = look(environment)
    if placement is None or (placement.role and placement.world_size is not None):
        return None
    per_host = placement.processes_per_host or 1
    if not placement.is_several and (placement.rank is not None or per_host == 1):
        return None
    if placement.rank is not None:
        return placement
    is_for_launchers = placement.role or per_host > 1 or placement.most_hosts is not None
    if is_for_launchers or placement.this_host is None:
        raise ConfigError(
            f"{placement.launcher} describes a job in which each host runs a launcher, but this "
            f"process was started without one.\n  {placement.shown(environment)}\n"
            "  Start the script with `fleetrun train.py` (python -m paddle.distributed.launch), "
            f"or set {CHOOSER}={NONE} to run it by itself."
        )
    return replace(
        placement,
        rank=placement.this_host,
        local_rank=0,
        processes_per_host=1,
        world_size=placement.num_hosts,
    )


def variables_of(placement: Placement) -> dict[str, str]:
    """What Paddle's launcher would have told a rank at this place."""
    assert placement.rank is not None
    assert placement.world_size is not None
    told = {
        "PADDLE_TRAINER_ID": placement.rank,
        "PADDLE_GLOBAL_RANK": placement.rank,
        "PADDLE_TRAINERS_NUM": placement.world_size,
        "PADDLE_GLOBAL_SIZE": placement.world_size,
        "PADDLE_LOCAL_RANK": placement.local_rank,
        "PADDLE_RANK_IN_NODE": placement.local_rank,
        "PADDLE_LOCAL_SIZE": placement.processes_per_host,
        "PADDLE_NNODES": 1 if placement.is_one_host else placement.num_hosts,
    }
    variables = {name: str(value) for name, value in told.items() if value is not None}
    if placement.endpoint:
        variables["PADDLE_CURRENT_ENDPOINT"] = placement.endpoint
    return variables | _meeting(placement)


def _meeting(placement: Placement) -> dict[str, str]:
    if placement.agent:
        host = "here" if placement.is_one_host else "hosts"
        return {MEETING: f"agent {host} {placement.agent} {placement.attempt or 0}"}
    if not placement.is_one_host:
        return {MEETING: f"at {placement.master}", "PADDLE_MASTER": placement.master}
    if placement.job_id:
        job = "".join(c if c.isalnum() or c in "-_." else "-" for c in placement.job_id)
        return {MEETING: f"job {job}-{placement.attempt or 0}"}
    return {MEETING: f"below {placement.variables[0]}"}


def as_host(environment: Mapping[str, str]) -> Placement | None:
    """The place of a launcher: this host among the others; None where nobody has described one."""
    placement = look(environment)
    if placement is None or placement.rank is None:
        return placement
    if not placement.is_several:
        return None
    if placement.agent or not _same_as_hosts(placement):
        here = placement.processes_per_host or 1
        raise ConfigError(
            f"launch: {placement.launcher} has started this launcher {here} times on this host, "
            f"{placement.num_tasks} times in all, so it cannot tell which host it is to be.\n"
            f"  {placement.shown(environment)}\n"
            "  Let it start one launcher per host, or the script itself instead of launchers; or "
            "say --nnodes 1 if each is to be\n  a job by itself."
        )
    return replace(
        placement,
        num_hosts=placement.world_size,
        this_host=placement.rank,
        processes_per_host=None,
        rank=None,
        local_rank=None,
        world_size=None,
    )


def _same_as_hosts(placement: Placement) -> bool:
    """Whether each task is alone on its host."""
    if placement.is_one_host or (placement.processes_per_host or 1) > 1:
        return False
    return placement.num_hosts in (None, placement.world_size)
