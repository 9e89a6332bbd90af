"""``paddle.distributed.fleet.launch_utils``: the trainers of a job on hosts with or without cards,
as ``fleetrun`` of 2.0 to 2.2 described, started and watched them.

What it shares with the older ``paddle.distributed.utils.launch_utils`` is defined there.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from argosy.device import device_count, is_compiled_with_cuda, is_compiled_with_xpu
from argosy.distributed.utils import launch_utils as local
from argosy.distributed.utils.launch_utils import (
    JobServer,
    TrainerProc,
    add_arguments,
    find_free_ports,
    get_gpus,
    get_host_name_ip,
    pull_worker_log,
    watch_local_trainers,
)
from argosy.foundation import env
from argosy.foundation.errors import BadArgument, ConfigError, UsageError

__all__ = [
    "Cluster", "DeviceMode", "DistributeMode", "JobServer", "Pod", "Trainer", "TrainerProc",
    "add_arguments", "block_windows_and_macos", "check_backend", "direct_start",
    "find_free_ports", "get_backend_by_compile_flag", "get_cluster", "get_device_mode",
    "get_device_proc_info", "get_gpus", "get_host_name_ip", "get_logger", "get_ports", "logger",
    "pretty_print_envs", "pull_worker_log", "start_local_trainers", "terminate_local_procs",
    "watch_local_trainers",
]  # fmt: skip

logger = logging.getLogger("root")

_BACKENDS = ("nccl", "gloo", "bkcl", "auto", "heter", "xccl")


class NoSuchDevice(ConfigError, RuntimeError):
    """The backend is one for devices that this host does not have."""


class DistributeMode:
    """What kind of job ``fleetrun`` starts."""

    COLLECTIVE = 0
    PS = 1
    PS_HETER = 2


class DeviceMode:
    """What the trainers compute on."""

    CPU = 0
    GPU = 1
    KUNLUN = 2
    XPU = 2
    UNKNOWN = 3


class Cluster(local.Cluster):
    """All hosts of a job."""

    def world_device_ids(self) -> list[list[str]]:
        """The cards of every trainer, in the order of their ranks."""
        return [
            [str(card) for card in trainer.accelerators]
            for pod in self.pods
            for trainer in pod.trainers
        ]


@dataclass
class Trainer:
    """One process that trains: its cards, endpoint, rank and, in a pipeline, stage."""

    accelerators: list[Any] = field(default_factory=list)
    endpoint: str | None = None
    rank: int | None = None
    stage: Any = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"accelerator:{self.accelerators} endpoint:{self.endpoint} rank:{self.rank}"


@dataclass
class Pod:
    """The processes of one host, of every role."""

    rank: int | None = None
    id: Any = None
    addr: str | None = None
    port: int | None = None
    trainers: list[Any] = field(default_factory=list)
    servers: list[Any] = field(default_factory=list)
    workers: list[Any] = field(default_factory=list)
    coordinators: list[Any] = field(default_factory=list, compare=False)
    heter_workers: list[Any] = field(default_factory=list, compare=False)
    accelerators: list[Any] = field(default_factory=list, compare=False)
    device_mode: int | None = field(default=None, compare=False)

    def __str__(self) -> str:
        roles = ("trainers", "servers", "workers", "heter_workers", "coordinators")
        members = " ".join(f"{role}:{[str(one) for one in getattr(self, role)]}" for role in roles)
        return (
            f"rank:{self.rank} id:{self.id} addr:{self.addr} port:{self.port} "
            f"visible_accelerator:{self.accelerators} {members}"
        )

    def get_visible_accelerators(self) -> str:
        """The cards of this host, separated by commas."""
        if not self.accelerators:
            raise BadArgument(f"this pod {self} can't see any accelerators")
        return ",".join(str(card) for card in self.accelerators)


def get_logger(log_level: int | str = logging.INFO, name: str = "root") -> logging.Logger:
    """The logger ``name``, at ``log_level``."""
    return local.get_logger(log_level, name)


def get_cluster(
    node_ips: Sequence[str],
    node_ip: str,
    trainer_endpoints: list[list[str]],
    device_mode: int,
    devices_per_proc: Sequence[Any],
) -> tuple[Cluster, Pod]:
    """A cluster with one trainer for each entry of ``devices_per_proc`` on each host, and this
    host's pod. An entry is a card or a list of cards; on the CPU it only counts.
    """
    local.check_endpoints(trainer_endpoints, len(devices_per_proc), "accelerators")
    cluster = Cluster()
    for node_rank, ip in enumerate(node_ips):
        pod = Pod(rank=node_rank, addr=ip, device_mode=device_mode)
        for number, devices in enumerate(devices_per_proc):
            cards = list(devices) if isinstance(devices, (list, tuple)) else [devices]
            trainer = Trainer(
                accelerators=cards if device_mode in (DeviceMode.GPU, DeviceMode.XPU) else [],
                endpoint=trainer_endpoints[node_rank][number],
                rank=node_rank * len(devices_per_proc) + number,
            )
            pod.trainers.append(trainer)
            if device_mode == DeviceMode.GPU:
                pod.accelerators.extend(cards)
        cluster.pods.append(pod)
    return cluster, cluster.pods[list(node_ips).index(node_ip)]


# -- backends and devices
# --------------------------------------------------------------------------------------------------


def check_backend(backend: str) -> None:
    """Refuse a name that is no backend of Paddle's, and one for cards that this build cannot
    use.
    """
    if backend not in _BACKENDS:
        raise UsageError(
            "paddle.distributed initialize error, backend argument can only be one of "
            f"{', '.join(repr(name) for name in _BACKENDS)} but got {backend}"
        )
    if backend == "nccl" and not is_compiled_with_cuda():
        raise UsageError(
            "paddle.distributed initialize error, your paddle is not compiled with cuda but you "
            "assign 'nccl' as backend."
        )
    if backend == "bkcl" and not is_compiled_with_xpu():
        raise UsageError(
            "paddle.distributed initialize error, your paddle is not compiled with xpu but you "
            "assign 'bkcl' as backend."
        )


def block_windows_and_macos(backend: str) -> None:
    """Refuse gloo where Paddle has none."""
    if backend == "gloo" and sys.platform in ("darwin", "win32"):
        raise UsageError(
            f"You are going to using gloo on {sys.platform}, but currently is not supported"
        )


def get_backend_by_compile_flag() -> str:
    """The backend for the best device that this build can use."""
    if is_compiled_with_cuda():
        return "nccl"
    return "bkcl" if is_compiled_with_xpu() else "gloo"


def get_device_mode(backend: str) -> int:
    """What trainers with this backend compute on."""
    if backend in ("nccl", "heter") and is_compiled_with_cuda() and device_count() > 0:
        print("launch train in GPU mode!")
        return DeviceMode.GPU
    if backend == "gloo":
        print("launch train in CPU mode")
        return DeviceMode.CPU
    raise NoSuchDevice(f"Don't supported devices: this host has none for backend {backend!r}")


def get_device_proc_info(args: Any) -> tuple[int, list[Any]]:
    """The device mode for ``args.backend``, and what each process of this host gets: cards, or on
    the CPU its number.
    """
    mode = get_device_mode(args.backend)
    count = args.nproc_per_node
    if mode == DeviceMode.CPU:
        if count is None and hasattr(args, "paddle_cpuonly"):
            count = args.nproc_per_node = os.cpu_count()
        return mode, list(range(1 if count is None else int(count)))
    cards = get_gpus(args.gpus)
    if count is None:
        return mode, cards
    if len(cards) % int(count):
        raise BadArgument(f"gpus' number:{len(cards)} mod args.nproc_per_node:{count} must == 0")
    each = len(cards) // int(count)
    return mode, [cards[first : first + each] for first in range(0, len(cards), each)]


def get_ports(num: int, offset: int) -> Any:
    """``num`` ports: free ones, or those from FLAGS_START_PORT + ``offset`` on."""
    if not env.get("FLAGS_START_PORT"):
        return list(find_free_ports(num) or ())
    first = env.integer("FLAGS_START_PORT", 0) + offset
    return range(first, first + num)


# -- processes
# --------------------------------------------------------------------------------------------------


def pretty_print_envs(envs: dict[str, Any], header: Sequence[str] | None = None) -> str:
    """Variables as a table."""
    name_width = max([40, *(len(name) for name in envs)])
    value_width = 45
    border = "    +" + "=" * (name_width + value_width + 2) + "+"

    def row(name: Any, value: Any) -> str:
        return f"    |{name!s:>{name_width}}  {value!s:^{value_width}}|"

    def short(value: Any) -> Any:
        is_long = isinstance(value, str) and len(value) >= value_width
        return f"... {value[-41:]}" if is_long else value

    first = header or ("fleetrun Distributed Envs", "Value")
    rows = [row(name, short(value)) for name, value in envs.items()]
    lines = [border, row(*first), border.replace("=", "-"), *rows, border]
    return "\n" + "\n".join(lines) + "\n"


def start_local_trainers(
    cluster: Cluster,
    pod: Pod,
    training_script: str,
    training_script_args: list[str],
    log_dir: str | None = None,
    envs: dict[str, str] | None = None,
) -> list[TrainerProc]:
    """Start a process for each trainer of ``pod``, in a session of its own, with the variables
    that describe its place added to ``envs`` (this process's, without it).
    """
    command = [sys.executable, "-u", training_script, *training_script_args]
    inherited = local.without_proxies(env.everything() if envs is None else dict(envs))
    if log_dir is not None:
        os.makedirs(log_dir, exist_ok=True)
        with open(os.path.join(log_dir, "endpoints.log"), "w") as table:
            table.write("PADDLE_TRAINER_ENDPOINTS: \n" + "\n".join(cluster.trainers_endpoints()))
    started = []
    for number, trainer in enumerate(pod.trainers):
        own = _trainer_variables(cluster, pod, number)
        if number == 0:
            logger.info(
                "Local start %d processes. First process distributed environment info (Only For "
                "Debug): %s",
                len(pod.trainers),
                pretty_print_envs(own, ("Distributed Envs", "Value")),
            )
        log = local.open_log(log_dir, f"workerlog.{number}")
        started.append(
            local.start_trainer(
                command, inherited | own, log, trainer.rank, number, start_new_session=True
            )
        )
    return started


def _trainer_variables(cluster: Cluster, pod: Pod, number: int) -> dict[str, str]:
    trainer = pod.trainers[number]
    cards = ",".join(str(card) for card in trainer.accelerators)
    variables = {
        "PADDLE_TRAINER_ID": str(trainer.rank),
        "PADDLE_CURRENT_ENDPOINT": str(trainer.endpoint),
        "PADDLE_TRAINERS_NUM": str(cluster.trainers_nranks()),
        "PADDLE_TRAINER_ENDPOINTS": ",".join(cluster.trainers_endpoints()),
        "PADDLE_RANK_IN_NODE": str(number),
        "PADDLE_LOCAL_DEVICE_IDS": cards,
        "PADDLE_WORLD_DEVICE_IDS": ",".join(":".join(ids) for ids in cluster.world_device_ids()),
    }
    if cards and pod.device_mode == DeviceMode.GPU:
        variables["FLAGS_selected_gpus"] = cards
    if cards:
        variables["FLAGS_selected_accelerators"] = cards
    return variables


def terminate_local_procs(procs: Sequence[TrainerProc]) -> None:
    """End the trainers that still run, each with what it has started."""
    local.end_processes(procs, _end_session)


def _end_session(process: subprocess.Popen[bytes]) -> None:
    group = os.getpgid(process.pid)
    if group == process.pid:
        os.killpg(group, signal.SIGTERM)
    else:  # somebody else started it, in a group that has others in it
        process.terminate()


def direct_start(args: Any) -> None:
    """Run the script of ``args`` in one process and wait for its end."""
    subprocess.run(
        [sys.executable, "-u", args.training_script, *args.training_script_args], check=False
    )
