"""One run of the user's command in a folder of its own: started again after each fault, as a user
or a cluster would, until it has come to its end.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from argosy.foundation import env
from argosy.foundation.errors import ArgosyError
from argosy.foundation.witness import VARIABLE
from argosy.runtime.launch.process import die_with_parent
from argosy.runtime.prove import records
from argosy.runtime.prove.faults import FaultFolder, Fired
from argosy.runtime.prove.plan import LAUNCHER

PLACEHOLDER = "{folder}"
_MODULE = "argosy.distributed.launch"
_LOOK_S = 0.05
_ORPHANS_S = 20.0
_END_S = 15.0
_TAIL = 15


class NotProved(ArgosyError, RuntimeError):
    """The job could not be judged: it does not start, has no steps, or does not come back."""


@dataclass(frozen=True)
class Told:
    """What a run tells while it is under way."""

    num_steps: int
    fired: Sequence[Fired]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Of a run, in seconds of the monotonic clock: when the last fault may come and when it must be
    over; and for how long nothing may happen.
    """

    quiet_at_s: float = math.inf
    end_at_s: float = math.inf
    patience_s: float = math.inf


class Run:
    """``argv`` is a command line of the launcher. ``tell`` is called now and then."""

    def __init__(self, argv: Sequence[str], folder: Path, tell: Callable[[Told], None]) -> None:
        self._files = folder / "files"
        self._files.mkdir(parents=True)
        self._argv = [word.replace(PLACEHOLDER, str(self._files)) for word in argv]
        self.folder = folder
        self.faults = FaultFolder(folder)
        self._tell = tell
        self._counter = records.Counter(folder)
        self.log = folder / "launcher.log"
        self.last_start_s = 0.0

    def go(self, limits: Limits) -> float:
        """Run to the end and return how long it took. NotProved if the job fails by itself, or does
        not keep to ``limits``.
        """
        began_s = time.monotonic()
        num_fired = 0
        while True:
            code = self._start(limits)
            self._wait_for_orphans()
            if code == 0:
                return time.monotonic() - began_s
            fired = self.faults.fired()
            if len(fired) == num_fired:
                raise NotProved(self._failure(code, fired))
            num_fired = len(fired)

    def _start(self, limits: Limits) -> int:
        """Start the launcher, wait for its end and return its exit code."""
        self.last_start_s = time.monotonic()
        parent = os.getpid()
        variables = {VARIABLE: str(self.folder), "PADDLE_LOG_DIR": str(self.folder / "log")}
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", _MODULE, *self._argv],
                env={**env.everything(), **variables},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                process_group=0,  # Ctrl-C is for us, and we end it
                preexec_fn=lambda: die_with_parent(parent),
            )
        self.faults.note_process(LAUNCHER, process.pid)
        try:
            return self._wait(process, limits)
        finally:
            self._end(process)

    def _wait(self, process: subprocess.Popen[bytes], limits: Limits) -> int:
        last, changed_s = Told(-1, ()), time.monotonic()
        while True:
            try:
                return process.wait(_LOOK_S)
            except subprocess.TimeoutExpired:
                pass
            now, now_s = Told(self._counter.count(), self.faults.fired()), time.monotonic()
            if now != last:
                last, changed_s = now, now_s
                self._tell(now)
            if now_s > limits.quiet_at_s and not self.faults.is_quiet:
                self.faults.be_quiet()
            if now_s - changed_s > limits.patience_s:
                raise NotProved(
                    f"the job has stood still for {limits.patience_s:.0f} s after "
                    f"{_after(now.fired)}; the logs are in {self.folder}"
                )
            if now_s > limits.end_at_s:
                raise NotProved(
                    f"undisturbed, the job was not done when the time was over (--time), after "
                    f"{now.num_steps} steps of all its processes"
                )

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """End the launcher if it still runs, and with it what it has started."""
        for number in (signal.SIGINT, signal.SIGKILL):
            if process.poll() is not None:
                return
            process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_END_S)

    def _wait_for_orphans(self) -> None:
        """Processes whose launcher has gone must go by themselves."""
        end_s = time.monotonic() + _ORPHANS_S
        while self.faults.processes():
            if time.monotonic() > end_s:
                left = self.faults.processes()
                for pid in left.values():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                names = ", ".join(f"{label} (pid {pid})" for label, pid in left.items())
                raise NotProved(
                    f"{names} ran on for {_ORPHANS_S:.0f} s after the launcher had ended, and was "
                    "killed"
                )
            time.sleep(_LOOK_S)

    def _failure(self, code: int, fired: Sequence[Fired]) -> str:
        said = self.log.read_text(errors="replace").splitlines()[-_TAIL:]
        if not fired:
            head = f"the job does not run: undisturbed it ends with exit code {code}"
        else:
            head = (
                f"after {_after(fired)} the job does not come back: it ends with exit code {code}"
            )
        return "\n".join([f"{head}. The last lines of {self.log}:", *(f"  {s}" for s in said)])


def _after(fired: Sequence[Fired]) -> str:
    return f"fault {fired[-1].number}" if fired else "its start"
