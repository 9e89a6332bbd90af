"""Jobs of LSF: ``jsrun`` starts one task per rank, ``blaunch`` one per slot. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from argosy.foundation.errors import ConfigError
from argosy.runtime.launch.environments.placement import (
    MASTER_VARIABLES,
    Placement,
    master_of,
    named,
    number,
)

_JOB = ("LSB_JOBID", "LSB_MCPU_HOSTS", *MASTER_VARIABLES)


def detect(environment: Mapping[str, str]) -> Placement | None:
    return _jsrun(environment) or _blaunch(environment)


def _jsrun(environment: Mapping[str, str]) -> Placement | None:
    rank = number(environment, "JSM_NAMESPACE_RANK")
    world_size = number(environment, "JSM_NAMESPACE_SIZE")
    if rank is None or world_size is None:
        return None
    here = number(environment, "JSM_NAMESPACE_LOCAL_SIZE")
    # the first host of such an allocation only submits; ranks run on the others
    hosts = [host for host, _ in _hosts(environment)]
    job_id = environment.get("LSB_JOBID", "")
    return Placement(
        launcher="jsrun of LSF",
        variables=named(
            environment,
            "JSM_NAMESPACE_RANK",
            "JSM_NAMESPACE_SIZE",
            "JSM_NAMESPACE_LOCAL_RANK",
            "JSM_NAMESPACE_LOCAL_SIZE",
            *_JOB,
        ),
        num_hosts=1 if here == world_size else None,
        this_host=0 if here == world_size else None,
        processes_per_host=here,
        rank=rank,
        local_rank=number(environment, "JSM_NAMESPACE_LOCAL_RANK"),
        world_size=world_size,
        master=master_of(environment, hosts[1] if len(hosts) > 1 else "", job_id),
        job_id=job_id,
    )


def _blaunch(environment: Mapping[str, str]) -> Placement | None:
    """Tasks are counted from 1, in the order of the slots."""
    task = number(environment, "LSF_PM_TASKID")
    hosts = _hosts(environment)
    if not task or not hosts:
        return None
    slots = [host for host, count in hosts for _ in range(count)]
    if task > len(slots):
        return None
    own = slots[task - 1]
    job_id = environment.get("LSB_JOBID", "")
    return Placement(
        launcher="blaunch of LSF",
        variables=named(environment, "LSF_PM_TASKID", *_JOB),
        num_hosts=len(hosts),
        this_host=[host for host, _ in hosts].index(own),
        processes_per_host=slots.count(own),
        rank=task - 1,
        local_rank=task - 1 - slots.index(own),
        world_size=len(slots),
        master=master_of(environment, hosts[0][0], job_id),
        job_id=job_id,
    )


def _hosts(environment: Mapping[str, str]) -> list[tuple[str, int]]:
    """The hosts of LSB_MCPU_HOSTS with their numbers of slots: ``a 2 b 4``."""
    words = environment.get("LSB_MCPU_HOSTS", "").split()
    if len(words) % 2 or not all(word.isdigit() for word in words[1::2]):
        raise ConfigError(
            f"LSB_MCPU_HOSTS: expected 'host slots host slots ...', but it is {' '.join(words)!r}"
        )
    return [(host, int(count)) for host, count in zip(words[::2], words[1::2], strict=True)]
