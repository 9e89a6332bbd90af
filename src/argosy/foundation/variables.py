"""The environment variables that argosy reads or sets, as data.

``python -m argosy.foundation.variables`` prints docs/environment.md.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Variable:
    """One or several variables of one meaning; ``set_by`` is you, the launcher or both."""

    names: tuple[str, ...]
    set_by: str
    default: str
    meaning: str


def _row(names: str, set_by: str, default: str, meaning: str) -> Variable:
    return Variable(tuple(names.split()), set_by, default, meaning)


SECTIONS: dict[str, tuple[Variable, ...]] = {
    "Who a process is": (
        _row("PADDLE_TRAINER_ID", "launcher", "0",
            "rank; for the launcher it is the number of this host and wins over `PADDLE_RANK`"),
        _row("PADDLE_GLOBAL_RANK", "launcher", "", "the same rank, for scripts that read it"),
        _row("PADDLE_TRAINERS_NUM", "launcher", "1",
            "world size; in a parameter-server job the number of workers"),
        _row("PADDLE_GLOBAL_SIZE", "launcher", "", "the same number, for scripts that read it"),
        _row("PADDLE_RANK_IN_NODE PADDLE_LOCAL_RANK", "launcher", "", "rank on this host"),
        _row("PADDLE_LOCAL_SIZE", "launcher", "", "number of processes on this host"),
        _row("PADDLE_CURRENT_ENDPOINT", "launcher", "", "`host:port` of this process"),
        _row("PADDLE_TRAINER_ENDPOINTS", "launcher", "",
            "`host:port` of every rank or worker, separated by commas; left out above 120 KB"),
        _row("TRAINING_ROLE PADDLE_ROLE", "launcher", "",
            "`PSERVER` or `TRAINER` in a parameter-server job"),
        _row("PADDLE_TRAINING_ROLE", "you", "TRAINER",
            "role in a collective job; anything but `TRAINER` is an error"),
        _row("PADDLE_PSERVERS_IP_PORT_LIST", "launcher", "", "`host:port` of every server"),
        _row("PADDLE_PSERVER_ID", "launcher", "", "number of this server"),
        _row("PADDLE_PORT", "launcher", "", "port of this server or worker"),
        _row("PADDLE_LOCAL_DEVICE_IDS PADDLE_WORLD_DEVICE_IDS", "launcher", "",
            "cards of this rank, cards of all ranks"),
        _row("FLAGS_selected_gpus FLAGS_selected_accelerators", "both", "0",
            "cards of this process"),
        _row("POD_NAME", "launcher", "", "name of this host in the job"),
    ),
    "Where ranks find each other": (
        _row("MASTER_ADDR MASTER_PORT", "you", "",
            "address of the job's store; both together win over `PADDLE_MASTER`"),
        _row("PADDLE_MASTER", "both", "",
            "`host:port` of the job's store; for the launcher, of the rendezvous of the hosts "
            "(`--master`)"),
        _row("ARGOSY_STORE_SERVED", "launcher", "0",
            "1: a launcher serves the store; else rank 0 does"),
        _row("ARGOSY_LAUNCHER", "you", "",
            "the launcher whose variables are believed, if several contradict each other; "
            "`none`: nobody's (docs/launch.md)"),
        _row("ARGOSY_MEETING", "argosy", "",
            "how ranks that another launcher started tell each other where their store is"),
        _row("ARGOSY_TOKEN", "both", "", "secret of the job, at least 16 characters"),
        _row("ARGOSY_TOKEN_FILE", "you", "", "file with the secret, mode 0600 (`--token_file`)"),
        _row("XDG_CACHE_HOME", "you", "~/.cache",
            "`argosy/token` in it is the secret of processes that were started by hand on one "
            "host"),
        _row("PADDLE_DISTRI_BACKEND", "both", "auto",
            "transport of the groups: `auto`, `shm`, `gloo`, `nccl`, `mpi`, `ucc`, "
            "`hierarchical`; read if `--backend` is not given"),
        _row("PADDLE_PG_TIMEOUT", "you", "1800000",
            "milliseconds after which a collective ends with CollectiveTimeout"),
    ),
    "The launcher": (
        _row("PADDLE_NPROC_PER_NODE", "you", "one per GPU, else 1",
            "processes on this host (`--nproc_per_node`)"),
        _row("PADDLE_DEVICES", "you", "all", "cards, one process each (`--devices`)"),
        _row("PADDLE_NNODES", "both", "1", "number of hosts, or `min:max` (`--nnodes`)"),
        _row("PADDLE_RANK", "you", "-1", "number of this host (`--rank`)"),
        _row("PADDLE_IPS", "you", "", "addresses of all hosts (`--ips`)"),
        _row("POD_IP", "both", "",
            "address of this host (`--host`); in a parameter-server job of this process"),
        _row("PADDLE_TRAINERS", "you", "",
            "addresses of all hosts, read with `--use_paddlecloud`"),
        _row("PADDLE_SORT_IP", "you", "false", "number the hosts by address (`--sort_ip`)"),
        _row("PADDLE_START_PORT", "you", "", "first port of the endpoints (`--start_port`)"),
        _row("PADDLE_JOB_ID", "both", "default", "name of the job, in log names (`--job_id`)"),
        _row("PADDLE_LOG_DIR", "both", "log", "folder of the logs (`--log_dir`)"),
        _row("PADDLE_LOG_OVERWRITE", "you", "false", "empty logs first (`--log_overwrite`)"),
        _row("ARGOSY_KEEP_RUNS", "you", "20",
            "how many runs are kept in the log folder; 0: all (`--keep_runs`)"),
        _row("PADDLE_LOG_LEVEL", "you", "INFO",
            "WARNING and above hide the table of processes (`--log_level`)"),
        _row("PADDLE_MAX_RESTART", "you", "0, elastic jobs 3",
            "how often a failed job is started again (`--max_restart`)"),
        _row("PADDLE_ELASTIC_TIMEOUT", "you", "30",
            "seconds to wait for more hosts than the least (`--elastic_timeout`)"),
        _row("PADDLE_ELASTIC_LEVEL", "you", "-1", "above 0: 3 restarts (`--elastic_level`)"),
        _row("PADDLE_ELASTIC_SERVER PADDLE_ELASTIC_JOB_ID PADDLE_ELASTIC_NP", "you", "",
            "for `fleet.elastic`: `host:port` of etcd, name of the job, `MIN` or `MIN:MAX` hosts"),
        _row("PADDLE_ELASTIC_ETCD_SERVICE_HOST PADDLE_ELASTIC_ETCD_SERVICE_PORT", "you", "",
            "the same server, as Kubernetes names it"),
        _row("PADDLE_ELASTIC_FAULT_TOLERANC_LEVEL", "you", "1",
            "for `fleet.elastic`: 1 waits for as many hosts as before, 2 goes on with others"),
        _row("PADDLE_ELASTIC_TTL", "you", "60",
            "for `fleet.elastic`: seconds that a host stays in etcd without a sign"),
        _row("FLAGS_START_PORT", "you", "free ports",
            "first port of the trainers that `fleet.launch_utils` starts"),
        _row("DISTRIBUTED_TRAINER_ENDPOINTS", "both", "",
            "`host:port` of every trainer, from a cluster manager or from `fleet.elastic`"),
        _row("TRAINER_PORTS_NUM", "you", "", "how many of them each host has"),
        _row("PADDLE_GLOO_RENDEZVOUS PADDLE_GLOO_FS_PATH", "launcher", "",
            "set by `fleet.launch.launch_collective`, for scripts that read them"),
        _row("ARGOSY_GRACE", "you", "10",
            "seconds between the wish that processes end, or save and leave, and SIGKILL "
            "(`--grace`)"),
        _row("KUBEFLOW_TRAINER_SERVER_URL KUBEFLOW_TRAINER_SERVER_TOKEN "
            "KUBEFLOW_TRAINER_SERVER_CA_CERT", "launcher", "",
            "set by Kubeflow's Trainer v2: where loops of `auto_checkpoint` post how far they are, "
            "and the files with the token and the certificate for it"),
        _row("ARGOSY_REQUEUE_CODE", "both", "75",
            "exit code of a job that has saved because a scheduler wants its place "
            "(`--requeue_code`)"),
        _row("ARGOSY_LAUNCHER_PIPE", "launcher", "",
            "the pipe by which a process tells its launcher that it can save, and that it has"),
        _row("ARGOSY_ACCOUNT ARGOSY_STACKS", "launcher", "",
            "memory and files that a process inherits from its launcher, by which it is seen: "
            "where the time of its steps goes, where its threads are"),
        _row("ARGOSY_RUN", "launcher", "", "folder of the run, where a process leaves traces that "
            "`argosy trace` has asked for"),
        _row("ARGOSY_TRACE", "you", "",
            "folder for traces: every process records from its start to its end, and the launcher "
            "makes one file of them (docs/observe.md)"),
        _row("PADDLE_RUN_MODE", "you", "collective", "`collective`, `ps` or `rpc` (`--run_mode`)"),
        _row("PADDLE_MASTER_ENDPOINT", "you", "the launcher's store",
            "`host:port` at which rank 0 of `paddle.distributed.rpc` serves its store"),
        _row("PADDLE_WORKER_ENDPOINT", "you", "a free port",
            "`host:port` at which this worker of `paddle.distributed.rpc` takes calls"),
        _row("PADDLE_SERVER_NUM PADDLE_TRAINER_NUM", "you", "",
            "servers and workers on this host (`--server_num`, `--trainer_num`)"),
        _row("PADDLE_SERVERS_ENDPOINTS PADDLE_TRAINERS_ENDPOINTS", "you", "",
            "`host:port` of every server and worker (`--servers`, `--trainers`)"),
        _row("PADDLE_WITH_GLOO", "both", "", "handed on, without effect (`--with_gloo`)"),
        _row("PADDLE_GLOO_PORT", "you", "", "taken, without effect (`--gloo_port`)"),
        _row("PADDLE_AUTO_CLUSTER", "launcher", "", "always 0"),
    ),
    "Parameter servers": (
        _row("ARGOSY_PS_FOLDER", "launcher", "a temporary folder",
            "where a server keeps its tables; a restarted server finds them there"),
        _row("ARGOSY_PS_PROGRESS", "launcher", "",
            "where a worker keeps what it needs to continue after a restart"),
        _row("ARGOSY_PS_PATIENCE", "both", "0; workers 60",
            "seconds: on a server, for a worker that is started again; on a worker, for a server "
            "that does not answer"),
        _row("ARGOSY_PS_STALENESS", "you", "the strategy's `max_staleness`",
            "how many pushes a worker may be ahead; below 0: no bound"),
        _row("FLAGS_LAUNCH_BARRIER", "you", "1",
             "0: `init_worker` waits for no server, the first step does"),
        _row("ARGOSY_TLS_ROOT ARGOSY_TLS_CERT ARGOSY_TLS_KEY", "both", "",
            "PEM files: the certificates that workers trust, a server's certificate, its key"),
    ),
    "Devices and threads": (
        _row("CUDA_VISIBLE_DEVICES", "you", "all", "cards; `--devices` counts within them"),
        _row("OMP_NUM_THREADS MKL_NUM_THREADS", "both", "cores / processes",
            "threads of one process"),
        _row("CPU_NUM", "you", "1", "CPU places of `static.cpu_places()` and ParallelExecutor"),
        _row("CXX", "you", "g++ or clang++", "compiler with which programs are fused, and for "
            "`argosy build`"),
        _row("ARGOSY_NATIVE", "you", "1",
            "0: what `argosy build` has compiled is not used (docs/torch_backend.md)"),
        _row("DDP_DISABLE_COMM_MEM", "both", "torch's own",
            "0: torch's DDP asks the backend for the memory of its buckets; set where `argosy "
            "build` has been run and there is no accelerator"),
        _row("FLAGS_nccl_nrings", "you", "1", "`ParallelEnv().nrings`; without effect"),
        _row("FLAGS_*", "you", "",
            "Paddle's flags, see `paddle.get_flags`; those of 1.x communicators are read by "
            "`fluid.incubate.fleet`"),
    ),
    "Files and tests": (
        _row("ARGOSY_RUN_FOLDER", "launcher", "",
            "folder of the run in Ray's storage, set by `argosy.ray.FleetTrainer`"),
        _row("PADDLE_HOME", "you", "~/.cache/paddle", "cache of `paddle.dataset`"),
        _row("ARGOSY_PIPE_IDLE_S", "you", "600",
            "seconds that the pipe command of a dataset may be silent"),
        _row("ARGOSY_PROOF", "launcher", "",
            "folder of a run of `argosy prove`, in which processes write down what their steps "
            "saw and left"),
        _row("ARGOSY_FAULT", "tests", "",
            "`name:n` kills the process at the n-th visit of that fault point"),
        _row("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "launcher", "",
            "1 in the launcher itself, for torch.distributed.elastic"),
    ),
}  # fmt: skip

_HEAD = """\
# Environment variables

Made by `python -m argosy.foundation.variables > docs/environment.md`. The table is
`src/argosy/foundation/variables.py`; `foundation/env.py` is the only file that reads the
environment. As in Paddle 2.3 and later, a variable that is set wins over the launcher's flag.

"launcher" means that the launcher sets the variable in the processes that it starts. A script that
was started by hand may set such a variable itself.
"""


def names() -> set[str]:
    """All variables of the table."""
    return {name for rows in SECTIONS.values() for row in rows for name in row.names}


def page() -> str:
    """The text of docs/environment.md."""
    parts = [_HEAD]
    for title, rows in SECTIONS.items():
        lines = [f"## {title}\n", "| variable | set by | default | meaning |", "|---|---|---|---|"]
        lines += [_line(row) for row in rows]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _line(row: Variable) -> str:
    shown = ", ".join(f"`{name}`" for name in row.names)
    return f"| {shown} | {row.set_by} | {row.default} | {row.meaning} |"


if __name__ == "__main__":
    print(page(), end="")
