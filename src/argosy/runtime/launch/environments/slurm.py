"""Steps of Slurm: ``srun`` starts one task per rank, or one per host. Pure.

Only a step has SLURM_STEP_NUM_TASKS. The script of ``sbatch`` and the shell of ``salloc`` describe
an allocation; nobody has been started in it yet, so they are no job of several processes. Called in
a step, both hand on its variables beside those of the new allocation, to which they do not belong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from argosy.foundation.errors import ConfigError
from argosy.runtime.launch.environments.placement import (
    MASTER_VARIABLES,
    Placement,
    master_of,
    named,
    number,
)

_FIRST_RESERVED_STEP = 0xFFFFFF00  # batch, extern and interactive steps have numbers from here on
_RANGE = re.compile(r"(\d+)(?:-(\d+))?\Z")
_COUNT = re.compile(r"(\d+)(?:\(x(\d+)\))?\Z")


def detect(environment: Mapping[str, str]) -> Placement | None:
    rank, world_size = (
        number(environment, name) for name in ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS")
    )
    step = environment.get("SLURM_STEP_ID", "")
    if rank is None or world_size is None:
        return None
    if not step.isdigit() or int(step) >= _FIRST_RESERVED_STEP:
        return None
    allocated = environment.get("SLURM_JOB_NODELIST", "")
    hosts = list(hosts_of(environment.get("SLURM_STEP_NODELIST") or allocated))
    this_host = number(environment, "SLURM_NODEID")
    tasks_here = _tasks_here(environment, this_host)
    if allocated and not set(hosts) <= set(hosts_of(allocated)):
        return None
    if tasks_here is not None and tasks_here != _num_listed(environment, tasks_here):
        return None
    _check_count(environment, world_size)
    job = f"{environment.get('SLURM_JOB_ID', '')}.{step}"
    num_hosts = number(environment, "SLURM_STEP_NUM_NODES") or len(hosts) or None
    return Placement(
        launcher="srun of Slurm",
        variables=named(
            environment,
            "SLURM_PROCID",
            "SLURM_STEP_NUM_TASKS",
            "SLURM_LOCALID",
            "SLURM_NODEID",
            "SLURM_STEP_NUM_NODES",
            "SLURM_STEP_NODELIST",
            "SLURM_STEP_TASKS_PER_NODE",
            "SLURM_JOB_ID",
            "SLURM_STEP_ID",
            *MASTER_VARIABLES,
        ),
        num_hosts=num_hosts,
        this_host=this_host,
        processes_per_host=tasks_here,
        rank=rank,
        local_rank=number(environment, "SLURM_LOCALID"),
        world_size=world_size,
        master=master_of(environment, hosts[0] if hosts else "", job),
        attempt=environment.get("SLURM_RESTART_COUNT", ""),
        job_id=job,
    )


def _tasks_here(environment: Mapping[str, str], this_host: int | None) -> int | None:
    text = environment.get("SLURM_STEP_TASKS_PER_NODE", "")
    counts = list(counts_of(text)) if text else []
    return counts[this_host] if this_host is not None and this_host < len(counts) else None


def _num_listed(environment: Mapping[str, str], default: int) -> int:
    """How many tasks of this host SLURM_GTIDS lists."""
    listed = environment.get("SLURM_GTIDS", "")
    return len(listed.split(",")) if listed else default


def _check_count(environment: Mapping[str, str], world_size: int) -> None:
    count = number(environment, "SLURM_NTASKS")
    if 1 < world_size and count not in (None, world_size):
        raise ConfigError(
            f"Slurm tells of two numbers of tasks: SLURM_NTASKS={count} and "
            f"SLURM_STEP_NUM_TASKS={world_size}.\n"
            "  The second is left over if this was submitted in a step: set ARGOSY_LAUNCHER=none. "
            "Steps of heterogeneous jobs\n  are not supported."
        )


def hosts_of(text: str) -> Iterator[str]:
    """The hosts of a list such as ``login,n[1-3,07]``."""
    for word in _split(text):
        yield from _expand(word, text)


def counts_of(text: str) -> Iterator[int]:
    """The numbers of a list such as ``2(x3),1``."""
    for word in text.split(","):
        found = _COUNT.match(word)
        if found is None:
            raise ConfigError(
                f"SLURM_STEP_TASKS_PER_NODE: expected a list such as '2(x3),1', but it is {text!r}"
            )
        yield from [int(found[1])] * int(found[2] or 1)


def _split(text: str) -> Iterator[str]:
    """The parts between commas that are not in brackets."""
    word, depth = "", 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and not depth:
            yield word
            word = ""
        else:
            word += letter
    if word:
        yield word


def _expand(word: str, text: str) -> Iterator[str]:
    head, bracket, rest = word.partition("[")
    if not bracket:
        yield word
        return
    inside, closed, tail = rest.partition("]")
    for part in inside.split(","):
        found = _RANGE.match(part)
        if not closed or found is None:
            raise ConfigError(
                f"SLURM_STEP_NODELIST: expected hosts such as 'n[1-3,7]', but it is {text!r}"
            )
        first, last = found[1], found[2] or found[1]
        for i in range(int(first), int(last) + 1):
            yield from _expand(f"{head}{i:0{len(first)}}{tail}", text)
