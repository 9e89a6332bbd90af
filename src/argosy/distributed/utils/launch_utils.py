"""``paddle.distributed.utils.launch_utils``: the trainers of a job as scripts describe, start and
watch them by themselves.

The launcher (``runtime/launch``) has its own, stricter way; here processes are what
``subprocess.Popen`` gives, and a script looks after them by calling ``watch_local_trainers``.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from argosy.device import device_count, is_compiled_with_cuda
from argosy.distributed.utils.log_utils import get_logger
from argosy.foundation import env
from argosy.foundation.errors import BadArgument, UsageError

__all__ = [
    "Cluster", "Hdfs", "JobServer", "Pod", "Trainer", "TrainerProc", "add_arguments",
    "find_free_ports", "get_cluster", "get_cluster_from_args", "get_gpus", "get_host_name_ip",
    "logger", "pull_worker_log", "start_local_trainers", "terminate_local_procs",
    "watch_local_trainers",
]  # fmt: skip

logger = get_logger("INFO", "root")

_GRACE_S = 10.0  # between SIGTERM and SIGKILL
_FIRST_PORT = 6070

# -- a job on paper
# --------------------------------------------------------------------------------------------------


@dataclass
class Hdfs:
    """Where a job keeps its files, if it does."""

    hdfs_ugi: str | None = None
    hdfs_name: str | None = None
    hdfs_path: str | None = None

    def is_valid(self) -> bool:
        """Whether all three are known."""
        return None not in (self.hdfs_ugi, self.hdfs_name, self.hdfs_path)

    def __str__(self) -> str:
        return f"hdfs_ugi:{self.hdfs_ugi} hdfs_name:{self.hdfs_name} hdfs_path{self.hdfs_path}"


@dataclass
class JobServer:
    """Who was asked for the job."""

    endpoint: str | None = None

    def __str__(self) -> str:
        return f"{self.endpoint}"


@dataclass
class Trainer:
    """One process that trains: its cards, endpoint and rank."""

    gpus: list[Any] = field(default_factory=list)
    endpoint: str | None = None
    rank: int | None = None

    def __str__(self) -> str:
        return f"gpu:{self.gpus} endpoint:{self.endpoint} rank:{self.rank}"

    def get_rank(self) -> int | None:
        """Its rank in the job."""
        return self.rank


@dataclass
class Pod:
    """The processes of one host."""

    rank: int | None = None
    id: Any = None
    addr: str | None = None
    port: int | None = None
    trainers: list[Any] = field(default_factory=list)
    gpus: list[Any] = field(default_factory=list, compare=False)

    def __str__(self) -> str:
        return (
            f"rank:{self.rank} id:{self.id} addr:{self.addr} port:{self.port} "
            f"visible_gpu:{self.gpus} trainers:{[str(t) for t in self.trainers]}"
        )

    def get_visible_gpus(self) -> str:
        """The cards of this host, separated by commas."""
        if not self.gpus:
            raise BadArgument(f"this pod {self} can't see any gpus")
        return ",".join(str(gpu) for gpu in self.gpus)


class Cluster:
    """All hosts of a job. Two are equal if their pods are, and the stage of the job."""

    def __init__(self, hdfs: Hdfs | None = None) -> None:
        self.job_server: JobServer | None = None
        self.pods: list[Any] = []
        self.hdfs = hdfs
        self.job_stage_flag: Any = None

    def __str__(self) -> str:
        return (
            f"job_server:{self.job_server} pods:{[str(pod) for pod in self.pods]} "
            f"job_stage_flag:{self.job_stage_flag} hdfs:{self.hdfs}"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cluster):
            return NotImplemented
        return self.pods == other.pods and self.job_stage_flag == other.job_stage_flag

    __hash__ = None  # type: ignore[assignment]  # it changes

    def update_pods(self, cluster: Cluster) -> None:
        """Take over the pods of another one."""
        self.pods = list(cluster.pods)

    def trainers_nranks(self) -> int:
        """How many trainers there are."""
        return len(self.trainers_endpoints())

    def pods_nranks(self) -> int:
        """How many hosts there are."""
        return len(self.pods)

    def trainers_endpoints(self) -> list[str]:
        """The endpoints of all trainers, in the order of their ranks."""
        return [trainer.endpoint for pod in self.pods for trainer in pod.trainers]

    def pods_endpoints(self) -> list[str]:
        """The endpoints of the hosts themselves."""
        for pod in self.pods:
            if pod.addr is None or pod.port is None:
                raise BadArgument(f"{pod.addr}:{pod.port} not a valid endpoint")
        return [f"{pod.addr}:{pod.port}" for pod in self.pods]

    def get_pod_by_id(self, pod_id: Any) -> Any:
        """The pod with this id, None if there is none."""
        return next((pod for pod in self.pods if str(pod.id) == str(pod_id)), None)


def get_cluster(
    node_ips: Sequence[str],
    node_ip: str,
    trainer_endpoints: list[list[str]],
    selected_gpus: Sequence[Any],
) -> tuple[Cluster, Pod]:
    """A cluster with one trainer for each card on each host, and this host's pod.

    ``trainer_endpoints`` has the endpoints of every host, at least one for each card.
    """
    check_endpoints(trainer_endpoints, len(selected_gpus), "selected_gpus")
    cluster = Cluster()
    for node_rank, ip in enumerate(node_ips):
        first = node_rank * len(selected_gpus)
        trainers = [
            Trainer([gpu], trainer_endpoints[node_rank][i], first + i)
            for i, gpu in enumerate(selected_gpus)
        ]
        cluster.pods.append(Pod(rank=node_rank, addr=ip, trainers=trainers))
    return cluster, cluster.pods[list(node_ips).index(node_ip)]


def check_endpoints(trainer_endpoints: Any, needed: int, devices: str) -> None:
    """Refuse endpoints that are not a list by host, or too few for ``needed`` trainers on each."""
    if type(trainer_endpoints) is not list:
        raise BadArgument("trainer_endpoints must be list")
    if any(len(endpoints) < needed for endpoints in trainer_endpoints):
        raise BadArgument(
            "current trainer_endpoints size should be greater equal than "
            f"{devices} size: {needed} trainers on each host need as many endpoints"
        )


def get_cluster_from_args(args: Any, selected_gpus: Sequence[Any]) -> tuple[Cluster, Pod]:
    """The cluster that ``args`` describes by ``cluster_node_ips``, ``node_ip``, ``started_port``
    and ``use_paddlecloud``.
    """
    node_ips = [ip.strip() for ip in args.cluster_node_ips.split(",")]
    count = len(selected_gpus)
    if not args.use_paddlecloud and len(node_ips) <= 1 and args.started_port is None:
        ports = list(find_free_ports(count) or ())
    else:
        first = _FIRST_PORT if args.started_port is None else int(args.started_port)
        ports = list(range(first, first + count))
    endpoints = [[f"{ip}:{port}" for port in ports] for ip in node_ips]
    return get_cluster(node_ips, args.node_ip, endpoints, selected_gpus)


def get_gpus(selected_gpus: str | None) -> list[Any]:
    """Cards by number among those this process sees; all of them for None."""
    return visible_cards(selected_gpus, "CUDA_VISIBLE_DEVICES", device_count)


def visible_cards(selected: str | None, variable: str, count: Callable[[], int]) -> list[Any]:
    """``selected`` as numbers relative to those that the environment variable leaves visible."""
    if selected is None:
        return [str(number) for number in range(count())]
    chosen = [card.strip() for card in selected.split(",")]
    if not env.get(variable):
        return chosen
    visible = env.get(variable).split(",")
    for card in chosen:
        if card not in visible:
            raise BadArgument(f"Can't find your selected cards {card} in {variable}[{visible}].")
    return [visible.index(card) for card in chosen]


# -- this host
# --------------------------------------------------------------------------------------------------


def get_host_name_ip() -> tuple[str, str] | None:
    """Name and address of this host; None if it has no address."""
    try:
        name = socket.gethostname()
        return name, socket.gethostbyname(name)
    except OSError:
        return None


def find_free_ports(num: int) -> set[int] | None:
    """``num`` ports that nobody listens on now."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(num)]
        for one in sockets:
            one.bind(("", 0))
        return {one.getsockname()[1] for one in sockets}


def add_arguments(
    argname: str, type: Any, default: Any, help: str, argparser: argparse.ArgumentParser,
    **kwargs: Any,
) -> None:  # fmt: skip
    """Add ``--argname`` to a parser; booleans are read from words such as ``true`` and ``0``."""
    argparser.add_argument(
        "--" + argname,
        default=default,
        type=_truth if type is bool else type,
        help=help + " Default: %(default)s.",
        **kwargs,
    )


def _truth(text: str) -> bool:
    words = {"y": 1, "yes": 1, "t": 1, "true": 1, "on": 1, "1": 1}
    words |= {"n": 0, "no": 0, "f": 0, "false": 0, "off": 0, "0": 0}
    if text.lower() not in words:
        raise UsageError(f"invalid truth value {text!r}")
    return bool(words[text.lower()])


# -- processes
# --------------------------------------------------------------------------------------------------


class TrainerProc:
    """A trainer that was started: its process, rank and log."""

    def __init__(self) -> None:
        self.proc: Any = None
        self.log_fn: IO[str] | None = None
        self.log_offset: int | None = None
        self.rank: int | None = None
        self.local_rank: int | None = None
        self.cmd: Any = None


def start_local_trainers(
    cluster: Cluster,
    pod: Pod,
    training_script: str,
    training_script_args: list[str],
    log_dir: str | None = None,
) -> list[TrainerProc]:
    """Start a process for each trainer of ``pod``, with the variables that describe its place."""
    command = [sys.executable, "-u", training_script, *training_script_args]
    inherited = without_proxies(env.everything())
    started = []
    for number, trainer in enumerate(pod.trainers):
        own = _trainer_variables(cluster, trainer)
        logger.info("start trainer proc:%s env:%s", command, own)
        log = open_log(log_dir, f"workerlog.{number}")
        started.append(start_trainer(command, inherited | own, log, trainer.rank, number))
    return started


def _trainer_variables(cluster: Cluster, trainer: Trainer) -> dict[str, str]:
    variables = {
        "PADDLE_TRAINER_ID": str(trainer.rank),
        "PADDLE_CURRENT_ENDPOINT": str(trainer.endpoint),
        "PADDLE_TRAINERS_NUM": str(cluster.trainers_nranks()),
        "PADDLE_TRAINER_ENDPOINTS": ",".join(cluster.trainers_endpoints()),
    }
    if is_compiled_with_cuda():
        return variables | {"FLAGS_selected_gpus": ",".join(str(gpu) for gpu in trainer.gpus)}
    return variables | {"PADDLE_DISTRI_BACKEND": "gloo"}


def without_proxies(variables: dict[str, str]) -> dict[str, str]:
    """``variables`` without those that would send the trainers' traffic through a proxy."""
    return {k: v for k, v in variables.items() if k not in ("http_proxy", "https_proxy")}


def open_log(log_dir: str | None, name: str) -> IO[str] | None:
    """The log ``name`` in ``log_dir``, to be written at its end; None without a folder."""
    if log_dir is None:
        return None
    os.makedirs(log_dir, exist_ok=True)
    return open(os.path.join(log_dir, name), "a")


def start_trainer(
    command: list[str],
    variables: dict[str, str],
    log: IO[str] | None,
    rank: int | None,
    local_rank: int,
    **options: Any,
) -> TrainerProc:
    """Run ``command``; what it prints goes to ``log``, if there is one."""
    started = TrainerProc()
    started.proc = subprocess.Popen(command, env=variables, stdout=log, stderr=log, **options)
    started.rank, started.local_rank, started.cmd = rank, local_rank, command
    started.log_fn = log
    started.log_offset = log.tell() if log is not None else None
    return started


def pull_worker_log(tp: TrainerProc) -> None:
    """Print what the trainer has written to its log since the last call."""
    if tp.log_fn is None:
        return
    with open(tp.log_fn.name, errors="replace") as log:
        log.seek(tp.log_offset or 0)
        for line in iter(log.readline, ""):
            try:
                sys.stdout.write(line)
            except UnicodeEncodeError:
                sys.stdout.write(
                    "UnicodeEncodeError occurs at this line. Please refer to the original log "
                    f'file "{tp.log_fn.name}"\n'
                )
        tp.log_offset = log.tell()


def watch_local_trainers(procs: Sequence[TrainerProc], nranks: Any) -> bool:
    """Whether a trainer still runs. If one has failed, end the others and exit with 1."""
    alive, failed = look_after(procs)
    if failed:
        logger.error(
            "ABORT!!! Out of all %s trainers, the trainer process with rank=%s was aborted. "
            "Please check its log.",
            nranks,
            failed,
        )
        terminate_local_procs(procs)
        sys.exit(1)
    return alive


def look_after(procs: Sequence[TrainerProc]) -> tuple[bool, list[int | None]]:
    """Whether a trainer runs, and the ranks of those that failed; prints the log of the first."""
    alive, failed = False, []
    for one in procs:
        if one.log_fn is not None and one.local_rank == 0:
            pull_worker_log(one)
        code = one.proc.poll()
        alive = alive or code is None
        if code:
            failed.append(one.rank)
    return alive, failed


def terminate_local_procs(procs: Sequence[TrainerProc]) -> None:
    """End the trainers that still run: SIGTERM, and SIGKILL after ten seconds."""
    end_processes(procs, lambda proc: proc.terminate())


def end_processes(procs: Sequence[TrainerProc], ask: Callable[[Any], None]) -> None:
    """Ask the processes that still run to end, kill those that do not, and close their logs."""
    for one in procs:
        if one.proc.poll() is None:
            ask(one.proc)
    latest = time.monotonic() + _GRACE_S
    for one in procs:
        try:
            one.proc.wait(timeout=max(latest - time.monotonic(), 0))
        except subprocess.TimeoutExpired:
            one.proc.kill()
            one.proc.wait(timeout=_GRACE_S)
        if one.log_fn is not None:
            one.log_fn.close()


def _print_arguments(args: argparse.Namespace) -> None:
    print("-----------  Configuration Arguments -----------")
    for name, value in sorted(vars(args).items()):
        print(f"{name}: {value}")
    print("------------------------------------------------")
