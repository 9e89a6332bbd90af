"""What a command line asks for: from the flags of every generation of Paddle's launchers to one frozen value. Pure.

Several flags mean the same thing in different generations (``--selected_gpus``, ``--gpus``, ``--devices``). As in Paddle 2.3 and later,
variables such as PADDLE_NNODES override the command line. The script's path ends the flags; what follows it belongs to the script.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from argosy.foundation.errors import ConfigError, NotSupported, nearest

# destination -> the variable that overrides it
_OVERRIDES = {
    "host": "POD_IP", "master": "PADDLE_MASTER", "devices": "PADDLE_DEVICES", "nnodes": "PADDLE_NNODES", "run_mode": "PADDLE_RUN_MODE",
    "log_level": "PADDLE_LOG_LEVEL", "nproc_per_node": "PADDLE_NPROC_PER_NODE", "job_id": "PADDLE_JOB_ID", "rank": "PADDLE_RANK",
    "log_dir": "PADDLE_LOG_DIR", "max_restart": "PADDLE_MAX_RESTART", "elastic_level": "PADDLE_ELASTIC_LEVEL",
    "elastic_timeout": "PADDLE_ELASTIC_TIMEOUT", "start_port": "PADDLE_START_PORT", "ips": "PADDLE_IPS",
}  # fmt: skip

_SERVER_FLAGS = (
    "server_num", "worker_num", "trainer_num", "servers", "workers", "trainers", "endpoints", "heter_worker_num", "heter_workers",
    "heter_devices", "coordinator_num", "coordinators",
)  # fmt: skip
_TUNING_SWITCHES = ("use_paddlecloud", "legacy", "sort_ip", "enable_gpu_log", "force")
_TUNING_VALUES = (
    "print_config", "with_gloo", "http_port", "gloo_port", "auto_parallel_config", "auto_tuner_json", "auto_cluster_config",
    "elastic_server", "np", "scale",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class LaunchSpec:
    """One node's share of a job."""

    script: str
    script_args: tuple[str, ...]
    nproc: int
    devices: tuple[str, ...]  # one per process where cards were named, else empty
    nnodes: str = "1"
    master: str = ""
    node_rank: int = -1
    host: str = "127.0.0.1"
    ips: tuple[str, ...] = ("127.0.0.1",)
    start_port: int | None = None
    job_id: str = "default"
    log_dir: str | None = "log"
    log_overwrite: bool = False
    max_restart: int = 0
    backend: str = "auto"
    num_threads: int | None = None

    @property
    def is_multi_node(self) -> bool:
        return self.nnodes != "1" or len(self.ips) > 1


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"launch: {message}. See --help.")


def build_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="paddle.distributed.launch",
        description="Start a training script in several processes.",
        usage="%(prog)s [options] script.py [arguments of the script]",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--nproc_per_node", type=int, help="processes on this host; on CPU the only way to get more than one")
    add("--devices", "--gpus", "--xpus", "--npus", "--selected_gpus", "--selected_devices", dest="devices", help="cards, one process each")
    add("--nnodes", default="1", help="number of hosts, or min:max")
    add("--master", default="", help="host:port where the hosts meet")
    add("--rank", type=int, default=-1, help="this host's number")
    add("--host", "--node_ip", dest="host", help="this host's address")
    add("--ips", "--cluster_node_ips", dest="ips", help="addresses of all hosts")
    add("--start_port", "--started_port", dest="start_port", type=int, help="first port of the workers' endpoints")
    add("--job_id", default="default")
    add("--log_dir", default="log", help="folder for workerlog.N")
    add("--log_level", default="INFO")
    add("--log_overwrite", action=argparse.BooleanOptionalAction, default=False, help="truncate logs instead of appending")
    add("--max_restart", type=int, default=0, help="how often a failed job is started again")
    add("--elastic_level", type=int, default=-1)
    add("--elastic_timeout", type=int, default=30)
    add("--run_mode", default="collective", help="collective")
    add("--backend", default="", help="auto, shm, gloo, nccl, ...")
    add("--num_threads", type=int, help="threads per process (default: cores / processes)")
    for flag in _SERVER_FLAGS:
        add(f"--{flag}", help=argparse.SUPPRESS)
    for flag in _TUNING_SWITCHES:
        add(f"--{flag}", nargs="?", const=True, help=argparse.SUPPRESS)
    for flag in _TUNING_VALUES:
        add(f"--{flag}", help=argparse.SUPPRESS)
    return parser


def _split(parser: argparse.ArgumentParser, argv: Sequence[str]) -> tuple[list[str], str, list[str]]:
    """Separate the launcher's flags from the script and its arguments; an unknown flag names the nearest known one."""
    known = {option: action for action in parser._actions for option in action.option_strings}
    at = 0
    while at < len(argv):
        word = argv[at]
        if not word.startswith("-"):
            return list(argv[:at]), word, list(argv[at + 1 :])
        name, has_value, _ = word.partition("=")
        if name not in known:
            raise ConfigError(f"launch: there is no option {name!r}.{nearest(name, known)}")
        action = known[name]
        takes_value = action.nargs is None and not has_value
        at += 2 if takes_value else 1
    raise ConfigError("launch: no training script was given; expected `python -m paddle.distributed.launch [options] script.py [arguments]`")


def _devices(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip()) if text else ()


def parse(argv: Sequence[str], environ: Mapping[str, str], device_count: int) -> LaunchSpec:
    """Read a command line. ``device_count`` is the number of GPUs that torch sees here."""
    parser = build_parser()
    flags, script, script_args = _split(parser, argv)
    options = parser.parse_args(flags)
    for name, variable in _OVERRIDES.items():
        if environ.get(variable):
            setattr(options, name, _typed(parser, name, environ[variable], variable))
    _refuse_servers(options)
    devices = _devices(options.devices)
    nproc = options.nproc_per_node if options.nproc_per_node is not None else len(devices) or max(1, device_count)
    if nproc < 1:
        raise ConfigError(f"launch: --nproc_per_node must be at least 1, but is {nproc}")
    return LaunchSpec(
        script=script,
        script_args=tuple(script_args),
        nproc=nproc,
        devices=devices[:nproc] if len(devices) >= nproc else (),
        nnodes=str(options.nnodes),
        master=options.master,
        node_rank=options.rank,
        host=options.host or "127.0.0.1",
        ips=tuple((options.ips or "127.0.0.1").split(",")),
        start_port=options.start_port,
        job_id=options.job_id,
        log_dir=options.log_dir,
        log_overwrite=options.log_overwrite,
        max_restart=options.max_restart,
        backend=options.backend or environ.get("PADDLE_DISTRI_BACKEND", "auto"),
        num_threads=options.num_threads,
    )


def _typed(parser: argparse.ArgumentParser, name: str, text: str, variable: str) -> Any:
    kind = next(action.type for action in parser._actions if action.dest == name)
    try:
        return kind(text) if callable(kind) else text
    except ValueError:
        raise ConfigError(f"launch: the environment variable {variable} must be an integer, but is {text!r}") from None


def _refuse_servers(options: argparse.Namespace) -> None:
    asked = [f"--{flag}" for flag in _SERVER_FLAGS if getattr(options, flag) is not None]
    if options.run_mode != "collective":
        asked.append(f"--run_mode {options.run_mode}")
    if asked:
        raise NotSupported(f"launch: {', '.join(asked)} asks for a parameter server or rpc job; only collective jobs can be started")
