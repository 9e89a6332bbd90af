"""The command line of the launchers of every Paddle generation as one table, and the reading of it.
Pure.

Flags that mean the same in different generations share a name (``--selected_gpus``, ``--gpus``,
``--devices``). The script's path ends the flags; what follows it belongs to the script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from argosy.foundation.errors import ConfigError, nearest
from argosy.foundation.preemption import CODE_VARIABLE, REQUEUE_CODE

_TRUE = ("1", "true", "t", "yes", "y", "on")
_FALSE = ("0", "false", "f", "no", "n", "off")


def seconds(text: str) -> float:
    """Read a number of seconds, 0 or more."""
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError(text)
    return value


def boolean(text: str) -> bool:
    """Read 'true', '0', 'yes', ..."""
    if text.lower() not in _TRUE + _FALSE:
        raise ValueError(text)
    return text.lower() in _TRUE


@dataclass(frozen=True)
class Flag:
    """One option: all its spellings, the variable that overrides it, and what its text means."""

    name: str
    aliases: tuple[str, ...] = ()
    kind: Callable[[str], Any] = str
    default: Any = None
    variable: str = ""
    help: str = ""  # without it --help does not show the flag

    @property
    def spellings(self) -> tuple[str, ...]:
        return tuple(f"--{name}" for name in (self.name, *self.aliases))

    def read(self, text: str, source: str) -> Any:
        """The value that ``text`` stands for; ``source`` is the flag or variable that an error
        names.
        """
        try:
            return self.kind(text)
        except ValueError:
            wanted = _WANTED.get(self.kind, "true or false")
            raise ConfigError(f"launch: {source} must be {wanted}, but is {text!r}") from None


_WANTED: dict[Any, str] = {int: "an integer", seconds: "a number of seconds"}

FLAGS = (
    Flag("nproc_per_node", (), int, None, "PADDLE_NPROC_PER_NODE",
        "processes on this host (default: one per GPU, else 1)"),
    Flag("devices", ("gpus", "xpus", "npus", "selected_gpus", "selected_devices"), str, None,
        "PADDLE_DEVICES", "GPUs, one process each: 0,1"),
    Flag("log_dir", (), str, None, "PADDLE_LOG_DIR", "folder for workerlog.N (default: log)"),
    Flag("log_overwrite", (), boolean, False, "PADDLE_LOG_OVERWRITE",
        "truncate logs instead of appending"),
    Flag("log_level", (), str, "INFO", "PADDLE_LOG_LEVEL",
        "WARNING and above hide the table of workers"),
    Flag("print_config", (), boolean, True, "", "show the table of workers at the start"),
    Flag("page", (), boolean, False, "",
        "serve a page that shows the job while it runs, on 127.0.0.1"),
    Flag("tensorboard", (), boolean, False, "",
        "write the run for TensorBoard too: loss, pace, where time goes"),
    Flag("keep_runs", (), int, 20, "ARGOSY_KEEP_RUNS",
        "how many runs are kept in the log folder, the newest; 0: all (default: 20)"),
    Flag("num_threads", (), int, None, "",
        "threads per process (default: OMP_NUM_THREADS, else cores / processes)"),
    Flag("backend", (), str, "", "",
        "auto, shm, gloo, nccl, mpi, ucc, hierarchical (default: PADDLE_DISTRI_BACKEND, else "
        "auto)"),
    Flag("max_restart", (), int, None, "PADDLE_MAX_RESTART",
        "how often a failed job is started again (default: 0; elastic jobs: 3)"),
    Flag("grace", (), seconds, 10.0, "ARGOSY_GRACE",
        "seconds between the wish that processes end, or save and leave, and SIGKILL (default: "
        "10)"),
    Flag("requeue_code", (), int, REQUEUE_CODE, CODE_VARIABLE,
        f"exit code of a job that has saved because a scheduler wants its place (default: "
        f"{REQUEUE_CODE})"),
    Flag("job_id", (), str, "default", "PADDLE_JOB_ID", "name of the job, in log names"),
    Flag("start_port", ("started_port",), int, None, "PADDLE_START_PORT",
        "first port of the workers' endpoints"),
    Flag("nnodes", ("nodes",), str, "1", "PADDLE_NNODES", "number of hosts, or min:max"),
    Flag("master", (), str, "", "PADDLE_MASTER", "host:port where the hosts meet"),
    Flag("rank", (), int, -1, "PADDLE_RANK", "this host's number (default: in order of arrival)"),
    Flag("host", ("node_ip",), str, "", "POD_IP", "this host's address"),
    Flag("ips", ("cluster_node_ips",), str, "", "PADDLE_IPS",
        "addresses of all hosts, instead of --master"),
    Flag("token_file", (), str, "", "ARGOSY_TOKEN_FILE",
        "file with the job's secret, the same on each host (mode 0600; default: ARGOSY_TOKEN)"),
    Flag("sort_ip", (), boolean, False, "PADDLE_SORT_IP", "number the hosts by address"),
    Flag("elastic_timeout", (), int, 30, "PADDLE_ELASTIC_TIMEOUT",
        "seconds to wait for more hosts than the least"),
    Flag("elastic_level", (), int, -1, "PADDLE_ELASTIC_LEVEL"),
    Flag("run_mode", (), str, "collective", "PADDLE_RUN_MODE"),
    Flag("legacy", (), boolean, False),
    Flag("use_paddlecloud", (), boolean, False),
    Flag("with_gloo", (), str, "0", "PADDLE_WITH_GLOO"),
    *(Flag(name, (), boolean, False) for name in ("enable_gpu_log", "auto_cluster_config",
    "force")),
    *(Flag(name) for name in ("http_port", "auto_parallel_config", "auto_tuner_json",
    "elastic_server", "np", "scale")),
    Flag("gloo_port", variable="PADDLE_GLOO_PORT"),
    # a scheduler
    Flag("scheduler", help="hand the job to a cluster: slurm"),
    Flag("dry_run", (), boolean, False, "", "show the scheduler's script instead of submitting it"),
    Flag("time", help="with --scheduler slurm, as are --partition, --account, --qos, --constraint,"
        " --gres,\n      --mem, --cpus_per_task: an option of sbatch"),
    *(Flag(name) for name in ("partition", "account", "qos", "constraint", "gres", "mem",
    "cpus_per_task")),
    Flag("sbatch", help="further options of sbatch, as one word: '--mail-type=END --exclude=n3'"),
    # the parameter server
    Flag("server_num", variable="PADDLE_SERVER_NUM", help="parameter servers on this host"),
    Flag("worker_num", help="workers on this host that train with them (also: --trainer_num)"),
    Flag("servers", variable="PADDLE_SERVERS_ENDPOINTS",
        help="ip:port of every parameter server, instead of --server_num"),
    Flag("workers", help="ip:port of every worker, instead of --worker_num; ports may be left out"),
    Flag("tls", (), boolean, None, "",
        "encrypt what servers and workers say; certificates are made for the job (default: if "
        "they are on several hosts)"),
    Flag("tls_cert", help="the servers' certificate (PEM), instead of one that is made"),
    Flag("tls_key", help="its private key"),
    Flag("tls_root", help="certificates that workers trust"),
    Flag("trainer_num", variable="PADDLE_TRAINER_NUM"),
    Flag("trainers", variable="PADDLE_TRAINERS_ENDPOINTS"),
    *(Flag(name) for name in ("endpoints", "coordinator_num", "coordinators")),
    *(Flag(name) for name in ("heter_worker_num", "heter_workers", "heter_devices")),
)  # fmt: skip

SERVER_FLAGS = (
    "server_num",
    "trainer_num",
    "servers",
    "trainers",
    "worker_num",
    "workers",
    "endpoints",
)
# options that sbatch has too
PASSED_ON = ("time", "partition", "account", "qos", "constraint", "gres", "mem", "cpus_per_task")
SCHEDULER_FLAGS = ("dry_run", *PASSED_ON, "sbatch")
HETER_FLAGS = (
    "coordinator_num",
    "coordinators",
    "heter_worker_num",
    "heter_workers",
    "heter_devices",
)

_FLAG_BY_SPELLING = {spelling: flag for flag in FLAGS for spelling in flag.spellings}


@dataclass(frozen=True)
class CommandLine:
    """What was written: values by flag name, which spellings were used, and the script with its
    arguments.
    """

    script: str
    script_args: tuple[str, ...]
    value_by_name: Mapping[str, Any] = field(default_factory=dict)
    spellings: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Option:
    """One option as it was written: its value, and where its words lie in the command line."""

    flag: Flag
    spelling: str
    text: str
    words: slice


def _options(
    argv: Sequence[str], flag_by_spelling: Mapping[str, Flag] = _FLAG_BY_SPELLING
) -> Iterator[_Option]:
    """The options in front of the script."""
    at = 0
    while at < len(argv) and argv[at].startswith("-"):
        first = at
        spelling, has_value, text = argv[at].partition("=")
        at += 1
        flag = flag_by_spelling.get(spelling)
        if flag is None:
            raise ConfigError(
                f"launch: there is no option {spelling!r}.{nearest(spelling, flag_by_spelling)}"
            )
        if not has_value:
            follows = argv[at] if at < len(argv) else None
            if flag.kind is boolean and (follows is None or follows.lower() not in _TRUE + _FALSE):
                text = "true"
            elif follows is None:
                raise ConfigError(f"launch: the option {spelling} needs a value")
            else:
                text = follows
                at += 1
        yield _Option(flag, spelling, text, slice(first, at))


def read(argv: Sequence[str]) -> CommandLine:
    """Read ``[flags] script [arguments]``. A flag's value follows ``=`` or a blank; a boolean one
    may stand alone.
    """
    values: dict[str, Any] = {}
    spellings: set[str] = set()
    at = 0
    for option in _options(argv):
        values[option.flag.name] = option.flag.read(option.text, option.spelling)
        spellings.add(option.spelling.removeprefix("--"))
        at = option.words.stop
    if at == len(argv):
        raise ConfigError(
            "launch: no training script was given; expected `python -m paddle.distributed.launch "
            "[options] script.py [arguments]`"
        )
    return CommandLine(argv[at], tuple(argv[at + 1 :]), values, frozenset(spellings))


def without(argv: Sequence[str], names: Sequence[str]) -> list[str]:
    """The command line without these flags."""
    left = list(argv)
    for option in reversed(list(_options(argv))):
        if option.flag.name in names:
            del left[option.words]
    return left


def taken(argv: Sequence[str], own: Sequence[Flag]) -> tuple[dict[str, Any], list[str]]:
    """Read the options ``own`` of a command that has them beside the launcher's, or in place of one
    of the same name; their values, and the command line of the launcher.
    """
    mine = {spelling: flag for flag in own for spelling in flag.spellings}
    values, left = {flag.name: flag.default for flag in own}, list(argv)
    for option in reversed(list(_options(argv, _FLAG_BY_SPELLING | mine))):
        if option.spelling in mine:
            values[option.flag.name] = option.flag.read(option.text, option.spelling)
            del left[option.words]
    return values, left


def resolve(line: CommandLine, environ: Mapping[str, str]) -> dict[str, Any]:
    """A value for every flag: its variable's, else the command line's, else the default. That order
    is Paddle's.
    """
    values = {}
    for flag in FLAGS:
        text = environ.get(flag.variable, "") if flag.variable else ""
        values[flag.name] = (
            flag.read(text, f"the environment variable {flag.variable}")
            if text
            else line.value_by_name.get(flag.name, flag.default)
        )
    return values


def listed(text: str) -> tuple[str, ...]:
    """The parts of a list with commas, or semicolons as older launchers write them."""
    return tuple(part.strip() for part in text.replace(";", ",").split(",") if part.strip())


def at_least_one(flag: str, value: int | None) -> int | None:
    """``value``, if it is a number of processes or threads that can be; ConfigError if not."""
    if value is not None and value < 1:
        raise ConfigError(f"launch: {flag} must be at least 1, but is {value}")
    return value


def help_text() -> str:
    """What ``--help`` prints."""
    lines = [
        "usage: python -m paddle.distributed.launch [options] script.py [arguments of the script]",
        "",
        "options:",
    ]
    for flag in FLAGS:
        if flag.help:
            lines.append(f"  {', '.join(flag.spellings[:3])}\n      {flag.help}")
    return "\n".join(lines)
