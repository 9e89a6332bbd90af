"""Jobs of Volcano with its plugins ``env`` and ``svc``: one task per host. Pure.

VC_<TASK>_HOSTS lists the pods of a task, and HOSTNAME tells which of them this one is.
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
    index = number(environment, "VC_TASK_INDEX")
    lists = {
        name: environment[name].split(",")
        for name in sorted(environment)
        if name.startswith("VC_") and name.endswith("_HOSTS") and environment[name]
    }
    if index is None or not lists:
        return None
    own = environment.get("HOSTNAME", "").partition(".")[0]
    # all tasks are one job; its first host is that of the first list
    hosts = [host for listed in lists.values() for host in listed]
    names = [host.partition(".")[0] for host in hosts]
    if own in names:
        this_host: int | None = names.index(own)
    else:
        this_host = index if len(lists) == 1 else None
    job = hosts[0].partition(".")[2] or "volcano"
    return Placement(
        launcher="a job of Volcano",
        variables=named(environment, "VC_TASK_INDEX", *lists, "HOSTNAME", *MASTER_VARIABLES),
        num_hosts=len(hosts),
        this_host=this_host,
        master=master_of(environment, hosts[0], job),
        job_id=job,
        is_order_ours=len(lists) > 1,
    )
