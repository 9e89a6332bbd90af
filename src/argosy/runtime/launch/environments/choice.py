"""Which launcher started this process: all that have left their variables are asked, and what they
say must fit together. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from argosy.foundation.errors import ConfigError, nearest
from argosy.runtime.launch.environments import (
    kubernetes,
    lsf,
    open_mpi,
    paddle,
    paddle_job,
    paddle_operator,
    pet,
    pmi,
    slurm,
    torchrun,
    volcano,
)
from argosy.runtime.launch.environments.placement import Placement

CHOOSER = "ARGOSY_LAUNCHER"
NONE = "none"

Detect = Callable[[Mapping[str, str]], Placement | None]

# Those that are started by others come before them: torchrun runs in tasks of Slurm, Slurm's in no
# task of torchrun.
DETECTS: dict[str, Detect] = {
    "paddle-operator": paddle_operator.detect,
    "paddle": paddle.detect,
    "torchrun": torchrun.detect,
    "openmpi": open_mpi.detect,
    "pmi": pmi.detect,
    "lsf": lsf.detect,
    "slurm": slurm.detect,
    "pet": pet.detect,
    "kubernetes": kubernetes.detect,
    "paddle-job": paddle_job.detect,
    "volcano": volcano.detect,
}
# where none of these is set, there is nothing to be found
SIGNS = (
    "PADDLE_TRAINERS",
    "PADDLE_TRAINERS_NUM",
    "PADDLE_TRAINER_ENDPOINTS",
    "RANK",
    "OMPI_COMM_WORLD_RANK",
    "PMI_RANK",
    "JSM_NAMESPACE_RANK",
    "LSF_PM_TASKID",
    "SLURM_STEP_NUM_TASKS",
    "PET_NNODES",
    "PADDLE_NNODES",
    "JOB_COMPLETION_INDEX",
    "VC_TASK_INDEX",
)
# who sets these has said who the process is, whatever it runs in
_EXPLICIT = ("paddle-operator", "paddle")


def find(environment: Mapping[str, str]) -> dict[str, Placement]:
    """What each launcher's variables say, innermost first."""
    found = {name: detect(environment) for name, detect in DETECTS.items()}
    return {name: placement for name, placement in found.items() if placement is not None}


def look(environment: Mapping[str, str]) -> Placement | None:
    """The place of this process; None where nobody has described one.

    Paddle's own variables win, then the innermost launcher, if those around it agree. ConfigError,
    with the variables, where they do not, or where several processes have no place to meet.
    ARGOSY_LAUNCHER names the only one to believe; 'none' is nobody.
    """
    placement = _choose(environment)
    if placement is None or not placement.is_several:
        return placement
    _check_number(placement, environment)
    if placement.is_one_host:
        return placement
    if not placement.master and not placement.agent:
        raise ConfigError(
            f"{placement.launcher} has started {placement.num_tasks} processes, but does not tell "
            f"where they can meet.\n  {placement.shown(environment)}\n"
            "  Set MASTER_ADDR (a name or address of the first host) and MASTER_PORT (a free port "
            "there), the same for all of\n"
            f"  them, or {CHOOSER}={NONE} if they are to run each by itself."
        )
    return placement


def _check_number(placement: Placement, environment: Mapping[str, str]) -> None:
    number, count = placement.rank, placement.world_size
    what, many = "process the rank", "ranks"
    if number is None:
        number, count = placement.this_host, placement.most_hosts or placement.num_hosts
        what, many = "host the number", "hosts"
    if number is not None and count is not None and number >= count:
        raise ConfigError(
            f"{placement.launcher} gives this {what} {number}, but there are {count} {many}, from "
            f"0 on.\n  {placement.shown(environment)}"
        )


def _choose(environment: Mapping[str, str]) -> Placement | None:
    believed = environment.get(CHOOSER, "")
    if believed == NONE:
        return None
    if believed:
        return _named(believed, environment)
    for name in _EXPLICIT:
        explicit = DETECTS[name](environment)
        if explicit is not None:
            return explicit
    found = find(environment)
    if not found:
        return None
    inner, *others = found.values()
    return _merged(inner, others, environment)


def _named(name: str, environment: Mapping[str, str]) -> Placement | None:
    if name not in DETECTS:
        raise ConfigError(
            f"{CHOOSER} must be one of {', '.join([*DETECTS, NONE])}, but is {name!r}."
            f"{nearest(name, DETECTS)}"
        )
    return DETECTS[name](environment)


def _merged(
    inner: Placement, others: Sequence[Placement], environment: Mapping[str, str]
) -> Placement:
    """``inner`` with what those around it know beyond it."""
    for outer in others:
        if not _fits(inner, outer):
            raise ConfigError(
                "two launchers have described this process, and they contradict each other:\n"
                f"  {_line(inner, environment)}\n  {_line(outer, environment)}\n"
                f"  Unset the variables that are left over, or name the one to believe with "
                f"{CHOOSER} ({', '.join(DETECTS)};\n  {NONE}: this process runs by itself)."
            )
        if outer.is_several and not inner.master and not inner.agent:
            inner = replace(inner, master=outer.master)
    return inner


def _fits(inner: Placement, outer: Placement) -> bool:
    """Whether ``inner`` runs in the tasks of ``outer``: they are the same tasks, or those of
    ``outer`` are the hosts of ``inner``.
    """
    if not outer.is_several:
        return True
    if inner.is_in_tasks:
        return _has(outer, inner.num_hosts)
    number = None if outer.is_order_ours else _number(outer)
    if outer.num_tasks == inner.num_tasks and _same(number, _number(inner)):
        # two launchers in two tasks have as many processes as there are tasks, on other hosts
        this_host = None if outer.is_order_ours else outer.this_host
        return _same(outer.num_hosts, inner.num_hosts) and _same(this_host, inner.this_host)
    is_host = _has(outer, inner.num_hosts) and _same(inner.this_host, number)
    has_more = inner.num_tasks > outer.num_tasks
    return is_host and (has_more or outer.most_hosts is not None or inner.world_size is None)


def _has(outer: Placement, num_hosts: int | None) -> bool:
    """Whether so many hosts can be the tasks of ``outer``."""
    if num_hosts is None or outer.most_hosts is None:
        return _same(num_hosts, outer.num_tasks)
    return outer.num_tasks <= num_hosts <= outer.most_hosts


def _number(placement: Placement) -> int | None:
    return placement.this_host if placement.rank is None else placement.rank


def _same(one: int | None, other: int | None) -> bool:
    return one is None or other is None or one == other


def _line(placement: Placement, environment: Mapping[str, str]) -> str:
    what = "processes" if placement.world_size is not None else "hosts"
    number = _number(placement)
    which = "" if number is None else f"number {number} of "
    return (
        f"{placement.launcher} ({which}{placement.num_tasks} {what}): "
        f"{placement.shown(environment)}"
    )
