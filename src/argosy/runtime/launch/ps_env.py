"""The environment of each role of a parameter-server job. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from argosy.foundation.endpoints import parse
from argosy.runtime.launch.ps_tls import TlsFiles
from argosy.runtime.launch.rank_env import inherited_by_children

SERVER, WORKER = "server", "worker"
# the file in a worker's folder in which it says why it will not go on (runtime/ps/tape.py)
REFUSED = "refused"


@dataclass(frozen=True, kw_only=True)
class PsJob:
    """What all roles of a job share."""

    servers: Sequence[str]  # ip:port of every server
    workers: Sequence[str]  # ip:port of every worker
    master: str  # where workers and servers meet for barriers and the like
    token: str
    folder: str  # where servers keep their tables
    job_id: str = "default"
    log_dir: str | None = None
    num_threads: int = 1
    is_num_threads_asked: bool = False
    with_gloo: str = "1"
    tls: TlsFiles | None = None
    patience_s: int = 0  # how long a synchronous step waits for a worker that is started again


def progress_folder(job: PsJob, number: int) -> str:
    """Where a worker keeps what it needs to go on after it was started again."""
    return f"{job.folder}/worker-{number}"


def role_env(job: PsJob, role: str, number: int, inherited: Mapping[str, str]) -> dict[str, str]:
    """All variables of server or worker ``number``: those inherited, and the job's."""
    env = inherited_by_children(inherited, job.num_threads, job.is_num_threads_asked)
    endpoint = parse((job.servers if role == SERVER else job.workers)[number])
    word = "PSERVER" if role == SERVER else "TRAINER"
    env.update(
        TRAINING_ROLE=word,
        PADDLE_ROLE=word,
        PADDLE_PORT=str(endpoint.port),
        POD_IP=endpoint.host,
        PADDLE_CURRENT_ENDPOINT=str(endpoint),
        PADDLE_PSERVERS_IP_PORT_LIST=",".join(job.servers),
        PADDLE_TRAINER_ENDPOINTS=",".join(job.workers),
        PADDLE_TRAINERS_NUM=str(len(job.workers)),
        PADDLE_MASTER=job.master,
        PADDLE_JOB_ID=job.job_id,
        PADDLE_WITH_GLOO=job.with_gloo,
        ARGOSY_TOKEN=job.token,
        ARGOSY_STORE_SERVED="1",
    )
    env.pop("PADDLE_TRAINER_ID", None)
    if role == WORKER:
        env.update(PADDLE_TRAINER_ID=str(number), FLAGS_selected_gpus="0")
        env.pop("ARGOSY_PS_PROGRESS", None)
        if job.patience_s:
            env["ARGOSY_PS_PROGRESS"] = progress_folder(job, number)
    else:
        env.update(ARGOSY_PS_FOLDER=f"{job.folder}/{number}", PADDLE_PSERVER_ID=str(number))
        env.setdefault("ARGOSY_PS_PATIENCE", str(job.patience_s))
    if job.tls is not None:
        env["ARGOSY_TLS_ROOT"] = job.tls.root
        if role == SERVER:
            env.update(ARGOSY_TLS_CERT=job.tls.cert, ARGOSY_TLS_KEY=job.tls.key)
    if job.log_dir is not None:
        env["PADDLE_LOG_DIR"] = job.log_dir
    return env
