"""Programs that are not ours, ``hadoop`` for example: run in a session of their own and ended in
time.

A program gets no terminal to ask questions on. When its time is over it is ended with everything it
has started, SIGTERM first and SIGKILL after a moment; a child of it that keeps its output open
holds nobody up. There is no thread: who waits for output empties both pipes. Only the end of
standard error is kept, so that a flood of it costs no memory.
"""

from __future__ import annotations

import codecs
import contextlib
import math
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn

from argosy.foundation.deadline import Deadline
from argosy.foundation.errors import ChildFailed, ProgramTimeout

_READ_BYTES = 1 << 16
_KEPT_BYTES = 1 << 16  # of standard error
_SHOWN_LINES, _SHOWN_CHARS = 20, 500
_GRACE_S = 2.0  # between SIGTERM and SIGKILL
_REAP_S = 10.0  # for the kernel to carry out a SIGKILL
# for the output of a program that has ended, while a child of it keeps the pipe open
_LINGER_S = 0.5
_ORPHAN_S = 10.0  # the same where the output is a stream of data
_LOOKS = 10  # at the processes' counters, in each period of silence
_LONGEST_NAP_S = 60.0
LIMIT_BYTES = 1 << 28


@dataclass(frozen=True)
class Finished:
    """How a program ended: its exit code, negative for a signal, what it printed, and the end of
    its standard error.
    """

    code: int
    stdout: str
    stderr: str

    @property
    def last_words(self) -> str:
        """The last lines of its standard error, for the end of a message."""
        lines = self.stderr.splitlines()[-_SHOWN_LINES:]
        shown = (
            line if len(line) <= _SHOWN_CHARS else f"... {line[-_SHOWN_CHARS:]}" for line in lines
        )
        return (
            "".join(f"\n  | {line}" for line in shown)
            or "\n  It wrote nothing to its standard error."
        )


class Program:
    """One program at work. A context manager; at the end of the block nothing of its process group
    runs any more.

    ``what`` names it in errors. With ``passes_on`` its standard error goes on to ours as it comes.
    Only ``kill`` may be called by another thread.
    """

    def __init__(
        self,
        command: Sequence[str],
        what: str,
        stdin: int | IO[bytes] = subprocess.DEVNULL,
        passes_on: bool = False,
    ) -> None:
        self.what = what
        self._passes_on = passes_on
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._errors = bytearray()
        self._parts: list[bytes] = []  # of standard output, not yet asked for
        self._has_ended = False
        self._lock = threading.Lock()
        # guarded by _lock; until then the number of the group is the group's
        self._is_reaped = False
        self._pidfd = -1
        self._selector = selectors.DefaultSelector()
        try:
            self._process = subprocess.Popen(
                command,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except BaseException:
            self._selector.close()
            raise
        try:
            self._watch()
        except BaseException:
            self.close()
            raise

    def _watch(self) -> None:
        self._pidfd = os.pidfd_open(self._process.pid)
        self._selector.register(self._pidfd, selectors.EVENT_READ)
        for stream, take in (
            (self._process.stdout, self._parts.append),
            (self._process.stderr, self._hear),
        ):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ, take)

    # -- one step
    # ----------------------------------------------------------------------------------------------

    def _step(self, timeout_s: float) -> bool:
        """Take what comes within ``timeout_s``; False if nothing did."""
        ready = self._selector.select(timeout_s)
        for key, _ in ready:
            if key.fd == self._pidfd:
                self._has_ended = True
                self._selector.unregister(self._pidfd)
                continue
            with contextlib.suppress(BlockingIOError):  # a child of it reads the pipe too
                data = os.read(key.fd, _READ_BYTES)
                if data:
                    key.data(data)
                else:
                    self._selector.unregister(key.fileobj)
        return bool(ready)

    def _hear(self, data: bytes) -> None:
        self._errors += data
        del self._errors[:-_KEPT_BYTES]
        if self._passes_on:
            sys.stderr.write(self._decoder.decode(data))

    def _is_open(self, stream: IO[bytes] | None) -> bool:
        return any(key.fileobj is stream for key in self._selector.get_map().values())

    def _taken(self) -> bytes:
        data = b"".join(self._parts)
        self._parts.clear()
        return data

    # -- waiting
    # ----------------------------------------------------------------------------------------------

    def read(self, idle_s: float) -> bytes:
        """Wait for bytes of its standard output; none at the end.

        ProgramTimeout when the program and its children have neither read nor written anything for
        ``idle_s`` seconds. The clock runs in this call only: a slow reader is nobody's fault.
        """
        self._pump(lambda: bool(self._parts) or not self._is_open(self._process.stdout), idle_s)
        return self._taken()

    def finish(self, idle_s: float) -> int:
        """Wait for its end, and return its exit code, negative for a signal."""
        self._pump(lambda: self._has_ended, idle_s)
        while self._is_open(self._process.stderr) and self._step(0.0):  # its last words
            self._parts.clear()
        return self._reap()

    def _pump(self, is_enough: Callable[[], bool], idle_s: float) -> None:
        silence = _Silence(self._process.pid)
        while not is_enough():
            allowed_s = min(idle_s, _ORPHAN_S) if self._has_ended else idle_s
            if silence.is_longer_than(allowed_s, self._step(_nap_s(allowed_s))):
                whose = (
                    "has ended, but a process that it started keeps its output open and "
                    if self._has_ended
                    else ""
                )
                self._give_up(ProgramTimeout, f"{whose}{_silent_for(allowed_s)}")

    def outcome(
        self,
        deadline: Deadline | None = None,
        idle_s: float = math.inf,
        limit_bytes: int = LIMIT_BYTES,
    ) -> Finished:
        """Wait for its end and collect what it prints.

        ProgramTimeout at the deadline, or when it and its children have neither read nor written
        anything for ``idle_s`` seconds; ChildFailed when it prints more than ``limit_bytes``.
        """
        deadline = deadline or Deadline.never()
        silence = _Silence(self._process.pid)
        out = bytearray()
        while (
            not self._has_ended
            or self._is_open(self._process.stdout)
            or self._is_open(self._process.stderr)
        ):
            came = self._step(
                _LINGER_S if self._has_ended else min(deadline.remaining_s(), _nap_s(idle_s))
            )
            out += self._taken()
            if len(out) > limit_bytes:
                self._give_up(ChildFailed, f"has printed more than {limit_bytes} bytes")
            if self._has_ended and (deadline.expired or not came):
                break  # the rest is held open by what it has left running
            if deadline.expired:
                self._give_up(ProgramTimeout, f"has not ended within {deadline.seconds:g} s")
            if silence.is_longer_than(idle_s, came):
                self._give_up(ProgramTimeout, _silent_for(idle_s))
        return Finished(
            self._reap(), out.decode(errors="replace"), self._errors.decode(errors="replace")
        )

    # -- the end
    # ----------------------------------------------------------------------------------------------

    @property
    def last_words(self) -> str:
        """The last lines of its standard error, for the end of a message."""
        return Finished(0, "", self._errors.decode(errors="replace")).last_words

    def _give_up(self, kind: type[ChildFailed], why: str) -> NoReturn:
        self._signal(signal.SIGTERM)
        grace = Deadline.after(_GRACE_S)
        while not self._has_ended and not grace.expired:
            self._step(grace.remaining_s())
            self._parts.clear()
        self.close()
        raise kind(f"{self.what} {why}, so it was ended.{self.last_words}")

    def _signal(self, number: int) -> None:
        with self._lock, contextlib.suppress(ProcessLookupError):
            if not self._is_reaped:
                os.killpg(self._process.pid, number)

    def kill(self) -> None:
        """End it and its children at once; who waits in ``read`` or ``finish`` finds the end."""
        self._signal(signal.SIGKILL)

    def _reap(self) -> int:
        """Kill what is left of the group and give its number back; returns the exit code of the
        program.
        """
        self.kill()
        with self._lock:
            self._is_reaped = True
            return self._process.wait(_REAP_S)

    def close(self) -> None:
        """Kill whatever runs, and let go of it."""
        # it hangs in the kernel, where nobody can end it
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._reap()
        self._selector.close()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def run(command: Sequence[str], what: str, seconds: float) -> Finished:
    """Run a program to its end; ProgramTimeout, with the end of its standard error, if it takes
    longer than ``seconds``.
    """
    with Program(command, what) as program:
        return program.outcome(Deadline.after(seconds))


class _Silence:
    """How long a process group has moved no byte, as far as one can see: to us, or by the kernel's
    counters.
    """

    def __init__(self, group: int) -> None:
        self._group = group
        self._since_s = time.monotonic()
        self._seen: tuple[tuple[str, str], ...] | None = None

    def is_longer_than(self, allowed_s: float, came: bool) -> bool:
        """Whether it has lasted for ``allowed_s``; ``came`` says that something has come just
        now.
        """
        moved = self._seen if came or allowed_s == math.inf else _bytes_moved(self._group)
        if came or moved != self._seen:
            self._since_s, self._seen = time.monotonic(), moved
        return time.monotonic() - self._since_s >= allowed_s


def _nap_s(allowed_s: float) -> float:
    return min(allowed_s / _LOOKS, _LONGEST_NAP_S)


def _silent_for(allowed_s: float) -> str:
    return f"has neither read nor written anything for {allowed_s:g} s"


def _bytes_moved(group: int) -> tuple[tuple[str, str], ...]:
    """For each process of the group, what the kernel has counted of its reading and writing."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        # it has ended, or may not be looked at
        with contextlib.suppress(OSError, ValueError, IndexError):
            if int((folder / "stat").read_text().rpartition(")")[2].split()[2]) == group:
                found.append((folder.name, (folder / "io").read_text()))
    return tuple(sorted(found))
