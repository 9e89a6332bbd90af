"""What a command line asks for: from flags, environment and the cards of this host to one frozen
value. Pure.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from argosy.foundation.errors import ConfigError, NotSupported
from argosy.foundation.preemption import REQUEUE_CODE
from argosy.runtime.launch import flags, this_host
from argosy.runtime.launch.schedulers import scheduling
from argosy.runtime.launch.schedulers.scheduling import Scheduling
from argosy.runtime.launch.servers import spec as ps_spec
from argosy.runtime.launch.servers.spec import PsSpec

# of Paddle's launcher, where the hosts are listed and cannot tell each other their ports
_FIRST_PORT = 6070
_ELASTIC_RESTARTS = 3
_QUIET_LEVELS = ("WARNING", "WARN", "ERROR", "CRITICAL", "FATAL")

_FLAGS_OF_1_8 = frozenset(
    (
        "cluster_node_ips",
        "node_ip",
        "started_port",
        "use_paddlecloud",
        "print_config",
        "selected_gpus",
        "log_level",
        "log_dir",
    )
)
# log_level and log_dir exist in every generation, the others tell that the call was written for
# this one
_TELLS_1_8 = _FLAGS_OF_1_8 - {"log_level", "log_dir"}
_ETCD_FLAGS = ("elastic_server", "np", "scale", "force")


class Generation(enum.Enum):
    """Whose habits a job has: where output goes and which files lie in the log folder."""

    V1_8 = "1.8"  # workerlog.N; without --log_dir the workers write to the terminal
    V2_0 = "2.0"  # workerlog.N and endpoints.log
    V2_4 = "2.4"  # workerlog.N, envlog.N and <job>.<pod>.log


@dataclass(frozen=True, kw_only=True)
class LaunchSpec:
    """One host's share of a job."""

    script: str
    script_args: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()  # the command line as it was written
    nproc: int = 1
    # for each process its cards as positions among the visible ones; empty without cards
    devices: tuple[str, ...] = ()
    falls_back_to_cpu: bool = False  # cards were named, but torch sees none
    min_nodes: int = 1
    max_nodes: int = 1
    master: str = ""
    node_rank: int = -1
    host: str = ""
    token_file: str = ""
    ips: tuple[str, ...] = ()
    sorts_hosts: bool = False
    start_port: int | None = None
    elastic_timeout_s: int = 30
    job_id: str = "default"
    log_dir: str | None = "log"
    log_overwrite: bool = False
    max_restart: int = 0
    grace_s: float = 10.0
    requeue_code: int = REQUEUE_CODE
    backend: str = "auto"
    num_threads: int | None = None
    with_gloo: str = "0"
    generation: Generation = Generation.V2_4
    shows_table: bool = True
    serves_page: bool = False
    writes_scalars: bool = False  # for TensorBoard
    keep_runs: int = 20  # 0: all
    ps: PsSpec | None = None  # None: a collective job
    scheduling: Scheduling | None = None  # None: it is started here

    @property
    def command(self) -> tuple[str, ...]:
        """How a process is started: Python scripts unbuffered with this interpreter, anything else
        as it is.
        """
        if self.script.endswith(".py"):
            return (sys.executable, "-u", self.script, *self.script_args)
        return (self.script, *self.script_args)

    @property
    def meets_at_master(self) -> bool:
        """Whether the hosts have to find each other; otherwise there is one, or their addresses are
        listed.
        """
        return self.max_nodes > 1 and not self.is_listed

    @property
    def is_listed(self) -> bool:
        return len(self.ips) > 1


def parse(
    argv: Sequence[str], environ: Mapping[str, str], device_count: int, is_fleet: bool = False
) -> LaunchSpec:
    """Read a command line. ``device_count`` is the number of GPUs that torch sees here;
    ``is_fleet`` is for ``fleet.launch``, which has kept the habits of 2.0.
    """
    line = flags.read(argv)
    values = flags.resolve(line, environ)
    _refuse_unsupported(values)
    if values["use_paddlecloud"]:
        _read_cloud(values, environ)
    values |= this_host.of_surroundings(line.value_by_name, values, environ)
    generation = _generation(line.spellings, is_fleet or values["legacy"])
    asked = scheduling.read(values)
    values |= ps_spec.of_cluster(environ, values)
    nproc, devices = _place(
        values["devices"],
        values["nproc_per_node"],
        0 if asked else device_count,  # the nodes know their cards
        environ.get("CUDA_VISIBLE_DEVICES", ""),
    )
    ips = flags.listed(values["ips"])
    low, high = _nodes(values["nnodes"], ips, can_meet=bool(values["master"] or asked))
    if asked and values["server_num"] and not (values["worker_num"] or values["trainer_num"]):
        values["worker_num"] = str(high * nproc)
    is_listed = len(ips) > 1
    # what a scheduler gets to spread is counted as on one host
    ps = ps_spec.read(values, (1, 1) if is_listed or asked else (low, high))
    return LaunchSpec(
        script=line.script,
        script_args=line.script_args,
        argv=tuple(argv),
        nproc=nproc,
        devices=devices,
        falls_back_to_cpu=bool(values["devices"]) and device_count == 0,
        min_nodes=low,
        max_nodes=high,
        master=values["master"].removeprefix("http://"),
        node_rank=_node_rank(values["rank"], environ),
        host=values["host"],
        token_file=values["token_file"],
        ips=ips,
        sorts_hosts=values["sort_ip"],
        start_port=_FIRST_PORT
        if is_listed and values["start_port"] is None
        else values["start_port"],
        elastic_timeout_s=values["elastic_timeout"],
        job_id=values["job_id"],
        log_dir=values["log_dir"] or (None if generation is Generation.V1_8 else "log"),
        log_overwrite=values["log_overwrite"],
        max_restart=_restarts(
            values, is_elastic=low != high or values["elastic_level"] > 0, is_listed=is_listed
        ),
        grace_s=values["grace"],
        requeue_code=_exit_code(values["requeue_code"]),
        backend=values["backend"] or environ.get("PADDLE_DISTRI_BACKEND") or "auto",
        num_threads=flags.at_least_one("--num_threads", values["num_threads"]),
        with_gloo=values["with_gloo"],
        generation=generation,
        serves_page=values["page"],
        writes_scalars=values["tensorboard"],
        keep_runs=_count(values["keep_runs"], "--keep_runs"),
        shows_table=values["print_config"] and not _is_quiet(values["log_level"]),
        ps=ps,
        scheduling=asked,
    )


def _refuse_unsupported(values: Mapping[str, Any]) -> None:
    asked = [f"--{name}" for name in flags.HETER_FLAGS if values[name]]
    if values["run_mode"] not in ("collective", "ps", "rpc"):
        asked.append(f"--run_mode {values['run_mode']}")
    if asked:
        raise NotSupported(
            f"launch: {', '.join(asked)} asks for a heterogeneous or federated job; "
            "collective, parameter-server and rpc jobs can be started"
        )
    etcd = [f"--{name}" for name in _ETCD_FLAGS if values[name]]
    if values["master"].startswith("etcd://"):
        etcd.append(f"--master {values['master']}")
    if etcd:
        raise NotSupported(
            f"launch: {', '.join(etcd)} needs etcd; for an elastic job use --nnodes min:max "
            "--master host:port"
        )
    if values["auto_tuner_json"]:
        raise NotSupported(
            "launch: --auto_tuner_json: there is no automatic tuning of parallel strategies"
        )


def _read_cloud(values: dict[str, Any], environ: Mapping[str, str]) -> None:
    for name, variable in (("ips", "PADDLE_TRAINERS"), ("host", "POD_IP")):
        if not environ.get(variable):
            raise ConfigError(
                "launch: --use_paddlecloud reads the cluster from the environment, but "
                f"{variable} is not set"
            )
        values[name] = environ[variable]


def _generation(spellings: frozenset[str], has_habits_of_2_0: bool) -> Generation:
    if has_habits_of_2_0:
        return Generation.V2_0
    return (
        Generation.V1_8
        if spellings & _TELLS_1_8 and spellings <= _FLAGS_OF_1_8
        else Generation.V2_4
    )


def _place(
    named: str | None, asked: int | None, device_count: int, visible: str
) -> tuple[int, tuple[str, ...]]:
    """How many processes, and the cards of each. One process gets all cards; several get one
    each.
    """
    cards = (
        _positions(flags.listed(named), flags.listed(visible), device_count)
        if named
        else tuple(map(str, range(device_count)))
    )
    nproc = asked if asked is not None else len(cards) or 1
    flags.at_least_one("--nproc_per_node", nproc)
    if not cards:
        return nproc, ()
    if nproc == 1:
        return 1, (",".join(cards),)
    if nproc > len(cards):
        if device_count == 0:
            return nproc, ()
        raise ConfigError(
            f"launch: {nproc} processes (--nproc_per_node) need {nproc} GPUs, but {len(cards)} "
            f"can be used here: {', '.join(cards)}"
        )
    return nproc, cards[:nproc]


def _positions(named: Sequence[str], visible: Sequence[str], device_count: int) -> tuple[str, ...]:
    """Cards as positions within CUDA_VISIBLE_DEVICES: with '4,5,6,7' visible, cards 4 and 5 are 0
    and 1.
    """
    if not visible or device_count == 0:
        missing = [
            card
            for card in named
            if device_count and not (card.isdigit() and int(card) < device_count)
        ]
        if missing:
            raise ConfigError(
                f"launch: GPU {', '.join(missing)} was named, but torch sees only 0 to "
                f"{device_count - 1}"
            )
        return tuple(named)
    missing = [card for card in named if card not in visible]
    if missing:
        raise ConfigError(
            f"launch: GPU {', '.join(missing)} was named, but CUDA_VISIBLE_DEVICES is "
            f"{','.join(visible)}"
        )
    return tuple(str(visible.index(card)) for card in named)


def _nodes(text: str, ips: Sequence[str], can_meet: bool) -> tuple[int, int]:
    low, colon, high = str(text).partition(":")
    try:
        least, most = int(low), int(high if colon else low)
    except ValueError:
        raise ConfigError(
            f"launch: --nnodes must be a number of hosts or min:max, but is {text!r}"
        ) from None
    if not 1 <= least <= most:
        raise ConfigError(
            f"launch: --nnodes must be at least 1 and min at most max, but is {text!r}"
        )
    if len(set(ips)) != len(ips):
        raise ConfigError(f"launch: --ips names a host twice: {', '.join(ips)}")
    if len(ips) > 1:
        if (least, most) not in ((1, 1), (len(ips), len(ips))):
            raise ConfigError(f"launch: --nnodes is {text}, but --ips lists {len(ips)} hosts")
        return len(ips), len(ips)
    if most > 1 and not can_meet:
        raise ConfigError(
            f"launch: {text} hosts need --master host:port, the same on each, to find each other "
            "(or --ips with all addresses)"
        )
    return least, most


def _node_rank(asked: int, environ: Mapping[str, str]) -> int:
    """A cluster that sets PADDLE_TRAINER_ID on each host numbers the hosts by it, whatever the
    command line says.
    """
    text = environ.get("PADDLE_TRAINER_ID", "")
    return int(text) if text.isdigit() else asked


def _restarts(values: Mapping[str, Any], is_elastic: bool, is_listed: bool) -> int:
    asked: int | None = values["max_restart"]
    if asked is None:
        return _ELASTIC_RESTARTS if is_elastic and not is_listed else 0
    if asked < 0:
        raise ConfigError(f"launch: --max_restart must not be negative, but is {asked}")
    if asked and is_listed:
        raise NotSupported(
            "launch: --max_restart with --ips: hosts that do not meet cannot restart together; "
            "use --nnodes and --master"
        )
    return asked


def _exit_code(value: int) -> int:
    if not 0 < value < 256:
        raise ConfigError(f"launch: --requeue_code must be from 1 to 255, but is {value}")
    return value


def _count(value: int, source: str) -> int:
    if value < 0:
        raise ConfigError(f"launch: {source} must be 0 or more, but is {value}")
    return value


def _is_quiet(level: str) -> bool:
    return int(level) > 20 if level.isdigit() else level.upper() in _QUIET_LEVELS
