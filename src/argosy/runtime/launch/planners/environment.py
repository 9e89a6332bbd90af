"""The variables that the processes of every kind of job are given. Pure."""

from __future__ import annotations

import os.path

from argosy.foundation.preemption import CODE_VARIABLE
from argosy.runtime.comm.meeting import MEETING
from argosy.runtime.launch.hosts import Rendezvous
from argosy.runtime.launch.machine import Machine
from argosy.runtime.launch.spec import LaunchSpec

NOT_FOR_CHILDREN = (
    "http_proxy",
    "https_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "MASTER_ADDR",
    "MASTER_PORT",
    MEETING,
)
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


def threads_each(asked: int | None, machine: Machine, num_processes: int) -> int:
    """Threads of each of this host's processes: as asked, else as inherited, else its share of the
    cores.
    """
    inherited = machine.environment.get("OMP_NUM_THREADS", "")
    if asked is not None:
        return asked
    return int(inherited) if inherited.isdigit() else max(1, machine.num_cores // num_processes)


def shared_variables(
    spec: LaunchSpec, rendezvous: Rendezvous, machine: Machine, num_threads: int
) -> dict[str, str]:
    """What all processes of this host have in common: what they inherit, and the job's."""
    variables = {
        name: value for name, value in machine.environment.items() if name not in NOT_FOR_CHILDREN
    }
    for name in _THREADS:
        if spec.num_threads is not None or name not in variables:
            variables[name] = str(num_threads)
    variables |= {
        "PADDLE_MASTER": rendezvous.endpoint,
        "PADDLE_JOB_ID": spec.job_id,
        "PADDLE_WITH_GLOO": spec.with_gloo,
        "ARGOSY_TOKEN": rendezvous.token,
        "ARGOSY_STORE_SERVED": "1",
        CODE_VARIABLE: str(spec.requeue_code),
    }
    if spec.log_dir is not None:
        variables["PADDLE_LOG_DIR"] = os.path.join(machine.folder, spec.log_dir)
    return variables
