"""The environment of each process of a job. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_NOT_FOR_CHILDREN = (
    "http_proxy",
    "https_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "MASTER_ADDR",
    "MASTER_PORT",
)
_LONGEST_LIST = 120 * 1024  # of a variable; the kernel refuses one of 128 KiB
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, kw_only=True)
class Job:
    """What all processes of a job share, as one host sees it."""

    endpoints: Sequence[str]  # ip:port of every rank
    master: str
    token: str
    num_nodes: int = 1
    nproc: int = 1  # processes on this host
    first_rank: int = 0  # the global rank of this host's first process
    job_id: str = "default"
    pod_name: str = ""
    backend: str = "auto"
    log_dir: str | None = None
    is_store_served: bool = True
    num_threads: int = 1
    is_num_threads_asked: bool = False  # then it wins over an inherited OMP_NUM_THREADS
    devices: Sequence[str] = ()  # cards of every rank of the job; empty without cards
    with_gloo: str = "0"

    @property
    def world_size(self) -> int:
        return len(self.endpoints)


def inherited_by_children(
    inherited: Mapping[str, str], num_threads: int, is_num_threads_asked: bool
) -> dict[str, str]:
    """What a child takes over from the launcher's environment, with its number of threads."""
    env = {name: value for name, value in inherited.items() if name not in _NOT_FOR_CHILDREN}
    for name in _THREADS:
        if is_num_threads_asked or name not in env:
            env[name] = str(num_threads)
    return env


def worker_env(job: Job, local_rank: int, inherited: Mapping[str, str]) -> dict[str, str]:
    """All variables of worker ``local_rank`` on this host: those inherited, and the job's."""
    env = inherited_by_children(inherited, job.num_threads, job.is_num_threads_asked)
    env.update(_place(job, local_rank))
    env.update(
        PADDLE_MASTER=job.master,
        PADDLE_NNODES=str(job.num_nodes),
        PADDLE_JOB_ID=job.job_id,
        PADDLE_DISTRI_BACKEND=job.backend,
        PADDLE_WITH_GLOO=job.with_gloo,
        PADDLE_AUTO_CLUSTER="0",
        ARGOSY_TOKEN=job.token,
        ARGOSY_STORE_SERVED="1" if job.is_store_served else "0",
    )
    endpoints = ",".join(job.endpoints)
    if len(endpoints) <= _LONGEST_LIST:
        env["PADDLE_TRAINER_ENDPOINTS"] = endpoints
    else:
        env.pop("PADDLE_TRAINER_ENDPOINTS", None)
    if job.pod_name:
        env["POD_NAME"] = job.pod_name
    if job.log_dir is not None:
        env["PADDLE_LOG_DIR"] = job.log_dir
    return env


def _place(job: Job, local_rank: int) -> dict[str, str]:
    """The variables that tell this worker from the others."""
    rank = job.first_rank + local_rank
    cards = job.devices[rank] if job.devices else ""
    variables = {
        "PADDLE_TRAINER_ID": str(rank),
        "PADDLE_TRAINERS_NUM": str(job.world_size),
        "PADDLE_CURRENT_ENDPOINT": job.endpoints[rank],
        "PADDLE_RANK_IN_NODE": str(local_rank),
        "PADDLE_LOCAL_RANK": str(local_rank),
        "PADDLE_GLOBAL_RANK": str(rank),
        "PADDLE_LOCAL_SIZE": str(job.nproc),
        "PADDLE_GLOBAL_SIZE": str(job.world_size),
        "PADDLE_LOCAL_DEVICE_IDS": cards,
        "PADDLE_WORLD_DEVICE_IDS": ",".join(job.devices or [""] * job.world_size),
    }
    if cards:
        variables |= {"FLAGS_selected_gpus": cards, "FLAGS_selected_accelerators": cards}
    return variables


def public(env: Mapping[str, str]) -> list[str]:
    """The lines about a job's environment that may be written to a log: Paddle's own variables, no
    secret among them.
    """
    return [
        f"{name}={value}"
        for name, value in sorted(env.items())
        if name.startswith(("PADDLE_", "FLAGS_"))
    ]
