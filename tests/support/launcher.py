"""Launchers as processes of their own, without paying for ``import torch`` each time: they are
forked from a server that has it.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import secrets
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_context = multiprocessing.get_context("forkserver")
PRELOADED = ["argosy.distributed", "argosy.runtime.launch.cli", "argosy.runtime.launch.spawn"]
_context.set_forkserver_preload(PRELOADED)

MARK = "ARGOSY_TEST_MARK"  # a variable that all descendants of a launcher inherit
DEADLINE_S = 30.0


def until(condition: Callable[[], Any], what: str, seconds: float = DEADLINE_S) -> Any:
    """Wait for ``condition`` to hold and return its value."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s"
        time.sleep(0.01)


def _run(argv: Sequence[str], entry: str, folder: str, variables: dict[str, str]) -> None:
    for fd, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), fd)
    os.chdir(folder)
    for name in [
        name for name in os.environ if name.startswith(("PADDLE_", "FLAGS_", "OMP_", "MKL_"))
    ]:
        del os.environ[name]
    os.environ.update(variables)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    sys.argv = ["launch", *argv]
    module, _, function = entry.partition(":")
    getattr(__import__(module, fromlist=[function]), function)()


class Launcher:
    """A launcher at work in ``folder``, which has its output, its logs and its temporary files."""

    def __init__(
        self,
        folder: Path,
        *argv: str,
        entry: str = "argosy.distributed.launch.main:launch",
        **variables: str,
    ) -> None:
        self.folder = folder
        self.mark = secrets.token_hex(8)
        (folder / "tmp").mkdir(exist_ok=True)
        for name in ("stdout", "stderr"):  # readable from now on
            (folder / name).write_bytes(b"")
        variables |= {MARK: self.mark, "TMPDIR": str(folder / "tmp")}
        self.process = _context.Process(target=_run, args=(argv, entry, str(folder), variables))
        self.process.start()

    def wait(self, timeout_s: float = DEADLINE_S) -> int:
        """The exit code."""
        self.process.join(timeout_s)
        code = self.process.exitcode
        assert code is not None, f"the launcher still runs:\n{self.stderr}"
        return code

    def signal(self, number: int) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    @property
    def stdout(self) -> str:
        return (self.folder / "stdout").read_text()

    @property
    def stderr(self) -> str:
        return (self.folder / "stderr").read_text()

    def descendants(self) -> list[int]:
        """Processes that the launcher or one of its workers has started and that still run."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if f"{MARK}={self.mark}".encode() in (entry / "environ").read_bytes():
                        found.append(int(entry.name))
                except OSError:
                    continue
        return found

    def close(self) -> None:
        """End what a failed test left."""
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.process.close()
        for pid in self.descendants():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def script(folder: Path, text: str, name: str = "train.py") -> str:
    """Write a training script; ``rank`` and ``note(name)`` (an empty file that the test can wait
    for) are there.
    """
    head = (
        "import os, sys, time, signal, subprocess\n"
        "rank = int(os.environ.get('PADDLE_TRAINER_ID', -1))\n"
        "def note(name):\n    open(f'{name}.{rank}', 'w').close()\n"
    )
    (folder / name).write_text(head + text)
    return name


def wait_for_workers(folder, count, name="ready"):
    """Wait until ``count`` workers have written the file ``name`` of their rank."""
    until(
        lambda: all((folder / f"{name}.{rank}").exists() for rank in range(count)),
        f"{count} workers",
    )


def assert_nothing_left(launcher):
    """Neither processes nor temporary files of a launcher that has ended."""
    until(lambda: not launcher.descendants(), "the end of all processes")
    assert list((launcher.folder / "tmp").iterdir()) == []
