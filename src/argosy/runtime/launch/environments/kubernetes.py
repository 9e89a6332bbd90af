"""Indexed Jobs of Kubernetes, by themselves or in a JobSet: one task per host. Pure.

A pod knows its index; how many there are is the user's to say, in PADDLE_NNODES. Without it the
pods of an Indexed Job are taken for what they mostly are, independent of each other.
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
    index = number(environment, "JOB_COMPLETION_INDEX")
    count = environment.get("PADDLE_NNODES", "")
    if index is None or not count.isdigit():
        return None
    job, first = _first_pod(environment, index)
    return Placement(
        launcher="an Indexed Job of Kubernetes",
        variables=named(
            environment,
            "JOB_COMPLETION_INDEX",
            "PADDLE_NNODES",
            "PADDLE_NPROC_PER_NODE",
            "HOSTNAME",
            "JOBSET_NAME",
            *MASTER_VARIABLES,
        ),
        num_hosts=int(count),
        this_host=index,
        processes_per_host=number(environment, "PADDLE_NPROC_PER_NODE"),
        master=master_of(environment, first, job),
        job_id=job,
    )


def _first_pod(environment: Mapping[str, str], index: int) -> tuple[str, str]:
    """The name of the job, and where its first pod is found. A JobSet gives its pods a domain,
    which has the JobSet's name unless the manifest says otherwise.
    """
    name, dash, own = environment.get("HOSTNAME", "").rpartition("-")
    if not dash or own != str(index):
        return "", ""
    domain = environment.get("JOBSET_NAME", "")
    return name, f"{name}-0.{domain}" if domain else ""
