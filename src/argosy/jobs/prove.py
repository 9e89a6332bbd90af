"""``argosy prove [options] train.py``: whether a job that is killed ends as if nothing had
happened, bit for bit.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import torch
from rich.console import Console
from rich.status import Status

from argosy.foundation import env
from argosy.foundation.errors import ArgosyError, ConfigError
from argosy.runtime.launch import flags, spec
from argosy.runtime.launch.flags import Flag
from argosy.runtime.prove import report
from argosy.runtime.prove.proof import Prover, Stage, Verdict
from argosy.runtime.prove.run import PLACEHOLDER, NotProved

_OWN = (
    Flag("seed", (), int, 0, "", "of the plan of faults (default: 0)"),
    Flag("faults", (), int, None, "", "how many (default: 5, with --time as many as come)"),
    Flag("time", (), flags.seconds, None, "", "seconds for all of it"),
)
_NOT_JUDGED = 2
_WIDTH = 110  # of the table where there is no terminal


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code for the shell."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] in (["-h"], ["--help"]):
        print(_help())
        return 0
    width = None if sys.stdout.isatty() else _WIDTH
    console = Console(highlight=False, soft_wrap=True, width=width)
    try:
        own, command = flags.taken(arguments, _OWN)
        _check(own, command)
    except ArgosyError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return _NOT_JUDGED
    folder = Path(tempfile.mkdtemp(prefix="argosy-prove-"))
    is_kept = False
    try:
        with _interrupted_by(signal.SIGTERM, signal.SIGHUP), _Progress(console) as progress:
            prover = Prover(command, folder, progress.show)
            proof = prover.prove(own["seed"], own["faults"], own["time"])
        console.print(report.table(proof))
        console.print(report.verdict(proof, own["seed"]), style="bold")
        is_kept = proof.verdict is not Verdict.PASS
        return int(proof.verdict)
    except NotProved as error:
        console.print(f"NOT PROVED: {error}", markup=False)
        is_kept = True
        return _NOT_JUDGED
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    finally:
        if is_kept:
            console.print(f"logs, records and what the job has kept: {folder}", markup=False)
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _check(own: dict[str, object], command: Sequence[str]) -> None:
    """ConfigError for a job that cannot be proved here."""
    for name in ("faults", "time"):
        value = own[name]
        if isinstance(value, (int, float)) and value <= 0:
            raise ConfigError(f"prove: --{name} must be more than 0, but is {value}")
    wanted = spec.parse(command, env.everything(), torch.cuda.device_count())
    if wanted.scheduling is not None or wanted.max_nodes > 1 or wanted.ips or wanted.master:
        raise ConfigError(
            "prove: a job is proved on one host, where its launcher can be killed and started "
            "again: leave out --scheduler, --nnodes, --master and --ips"
        )
    if wanted.script.endswith(".py") and not Path(wanted.script).exists():
        raise ConfigError(f"prove: there is no script {wanted.script!r} in {Path.cwd()}")


@contextlib.contextmanager
def _interrupted_by(*numbers: int) -> Iterator[None]:
    """Have these signals do what Ctrl-C does, so that nothing is left behind."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Progress:
    """How it goes: a line that changes on a terminal, elsewhere a line for each fault and run."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._say = partial(console.print, markup=False)
        self._status: Status | None = None
        self._name = ""
        self._num_said = 0

    def show(self, now: Stage) -> None:
        if now.name != self._name:
            self._name, self._num_said = now.name, 0
            if self._status is None:
                self._say(f"prove: {now.name} ...")
        for sentence in report.faults_of(now, self._num_said):
            self._say(sentence)
        self._num_said = len(now.told.fired)
        if self._status is not None:
            self._status.update(report.stage(now))

    def __enter__(self) -> _Progress:
        if self._console.is_terminal:
            self._status = self._console.status("prove: undisturbed")
            self._status.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._status is not None:
            with contextlib.suppress(Exception):
                self._status.stop()


def _help() -> str:
    lines = [
        "usage: argosy prove [--seed N] [--faults N] [--time S] [options of fleetrun] script.py "
        "[arguments]",
        "",
        "The job is run undisturbed, then again while its processes and its launcher are killed;",
        "parameters, losses and batches of each step must be the same, bit for bit. Checkpoints",
        f"of fleet.auto_checkpoint go to a folder of each run's own; {PLACEHOLDER} in an argument",
        "of the script is one for other files that it keeps.",
        "",
        *(f"  --{flag.name}\n      {flag.help}" for flag in _OWN),
        "",
        "exit codes: 0 passed, 1 failed, 2 could not be judged, 3 the job itself is not the same "
        "twice",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
