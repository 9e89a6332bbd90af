"""The environment of each process of a job. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_NOT_FOR_CHILDREN = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")


@dataclass(frozen=True, kw_only=True)
class Job:
    """What all processes of a job share."""

    endpoints: Sequence[str]  # ip:port of every rank
    master: str
    token: str
    num_nodes: int = 1
    nproc: int = 1  # processes on this host
    first_rank: int = 0  # the global rank of this host's first process
    job_id: str = "default"
    backend: str = "auto"
    log_dir: str | None = None
    is_store_served: bool = True
    num_threads: int = 1

    @property
    def world_size(self) -> int:
        return len(self.endpoints)


def worker_env(job: Job, local_rank: int, device: str | None, inherited: Mapping[str, str]) -> dict[str, str]:
    """All variables of worker ``local_rank`` on this host: those inherited, and the job's."""
    rank = job.first_rank + local_rank
    env = {name: value for name, value in inherited.items() if name not in _NOT_FOR_CHILDREN}
    # a thread count that the user has set is the user's choice
    env.setdefault("OMP_NUM_THREADS", str(job.num_threads))
    env.setdefault("MKL_NUM_THREADS", str(job.num_threads))
    env.update(
        PADDLE_TRAINER_ID=str(rank),
        PADDLE_TRAINERS_NUM=str(job.world_size),
        PADDLE_TRAINER_ENDPOINTS=",".join(job.endpoints),
        PADDLE_CURRENT_ENDPOINT=job.endpoints[rank],
        PADDLE_RANK_IN_NODE=str(local_rank),
        PADDLE_LOCAL_RANK=str(local_rank),
        PADDLE_GLOBAL_RANK=str(rank),
        PADDLE_LOCAL_SIZE=str(job.nproc),
        PADDLE_GLOBAL_SIZE=str(job.world_size),
        PADDLE_NNODES=str(job.num_nodes),
        PADDLE_MASTER=job.master,
        PADDLE_JOB_ID=job.job_id,
        PADDLE_DISTRI_BACKEND=job.backend,
        ARGOSY_TOKEN=job.token,
        ARGOSY_STORE_SERVED="1" if job.is_store_served else "0",
    )
    for stale in ("MASTER_ADDR", "MASTER_PORT"):
        env.pop(stale, None)
    if job.log_dir is not None:
        env["PADDLE_LOG_DIR"] = job.log_dir
    if device is not None:
        env["FLAGS_selected_gpus"] = device
    return env


def visible_positions(devices: Sequence[str], cuda_visible_devices: str | None) -> list[str]:
    """Cards as positions within CUDA_VISIBLE_DEVICES: with '4,5,6,7' visible, cards 4 and 5 are 0 and 1."""
    if not cuda_visible_devices:
        return list(devices)
    visible = [part.strip() for part in cuda_visible_devices.split(",")]
    return [str(visible.index(d)) if d in visible else d for d in devices]
