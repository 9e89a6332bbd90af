"""The bytes of a file after a pipe command: ``cat file | command``."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from types import TracebackType
from typing import IO

from argosy.foundation import env
from argosy.foundation.programs import Program
from argosy.runtime.data.slots import BadData

_CHUNK_BYTES = 1 << 20
_PLAIN = ("", "cat")
_SIGPIPE_CODE = 128 + signal.SIGPIPE
_NOT_FOUND = 127  # the shell's word for a command that does not exist
IDLE_VARIABLE, IDLE_S = "ARGOSY_PIPE_IDLE_S", 600.0

# The last stage decides, but a source that fails must not look like a short file. That the last
# stage reads no further is no failure.
_PIPELINE = (
    '{source} | ( {command}\n); codes=("${{PIPESTATUS[@]}}"); [ "${{codes[1]}}" = 0 ] || exit '
    '"${{codes[1]}}"; [ "${{codes[0]}}" = {sigpipe} ] || exit "${{codes[0]}}"'
)


class Pipe:
    """Reads one file through a command; a context manager that leaves no process behind.

    A file whose name ends in ``.gz`` is unpacked, and with a ``download_command`` the source is
    what that prints for the file's name. Without any of these and with the command ``cat`` no
    process is started. What the command writes to its standard error is passed on, and its last
    lines are part of the error if it fails. A command that neither reads nor writes for
    ``ARGOSY_PIPE_IDLE_S`` seconds (600) while its output is waited for is ended, with an error.
    Another thread may ``cancel``.
    """

    def __init__(self, path: str, command: str = "cat", download_command: str = "cat") -> None:
        self.path = path
        self._command = command.strip()
        self._download = download_command.strip()
        self._idle_s = env.seconds(IDLE_VARIABLE, IDLE_S)
        self._resources = ExitStack()
        self._file: IO[bytes] | None = None
        self._lock = threading.Lock()
        self._program: Program | None = None  # this and the next guarded by _lock
        self._is_cancelled = False

    @property
    def source(self) -> str:
        """Where lines come from, for errors."""
        return (
            self.path
            if self._command in _PLAIN
            else f"{self.path} through the pipe command {self._command!r}"
        )

    def __enter__(self) -> Pipe:
        if self._download in _PLAIN and not os.path.isfile(self.path):
            warnings.warn(f"{self.path}: there is no such file; it has no samples", stacklevel=2)
            self._file = self._resources.enter_context(open(os.devnull, "rb", buffering=0))
            return self
        source = self._source_command()
        if source is None and self._command in _PLAIN:
            self._file = self._resources.enter_context(open(self.path, "rb", buffering=0))
        else:
            self._start(source)
        return self

    def _source_command(self) -> str | None:
        """What prints the file; None if it can be read as it is."""
        if self._download not in _PLAIN:
            return f"{self._download} {shlex.quote(self.path)}"
        return f"gzip -dc -- {shlex.quote(self.path)}" if self.path.endswith(".gz") else None

    def _start(self, source: str | None) -> None:
        command = self._command or "cat"
        text = (
            command
            if source is None
            else _PIPELINE.format(source=source, command=command, sigpipe=_SIGPIPE_CODE)
        )
        what = f"{self.path}: the pipe command {self._command!r}"
        with ExitStack() as files, self._lock:
            stdin = (
                subprocess.DEVNULL
                if source is not None
                else files.enter_context(open(self.path, "rb"))
            )
            self._program = self._resources.enter_context(
                Program(["bash", "-c", text], what, stdin, passes_on=True)
            )
            if self._is_cancelled:
                self._program.kill()

    def cancel(self) -> None:
        """End the command; who waits for its output gets an error."""
        with self._lock:
            self._is_cancelled = True
            if self._program is not None:
                self._program.kill()

    def _read(self) -> bytes:
        if self._program is not None:
            return self._program.read(self._idle_s)
        assert self._file is not None
        return self._file.read(_CHUNK_BYTES)

    def chunks(self) -> Iterator[bytes]:
        """Whole lines, about a megabyte at a time; an error after the last if the command
        failed.
        """
        rest = b""
        parts: list[bytes] = []
        size = 0
        while data := self._read():
            parts.append(data)
            size += len(data)
            if size < _CHUNK_BYTES:  # pipes give 64 kB at a time
                continue
            text = rest + b"".join(parts)
            end = text.rfind(b"\n") + 1
            rest, parts, size = text[end:], [], 0
            if end:
                yield text[:end]
        text = rest + b"".join(parts)
        if text:
            yield text
        self._check_end()

    def _check_end(self) -> None:
        if self._program is None:
            return
        code = self._program.finish(self._idle_s)
        if code == _NOT_FOUND:
            warnings.warn(
                f"{self._program.what} is not there; the file has no "
                f"samples.{self._program.last_words}",
                stacklevel=2,
            )
        elif code:
            how = (
                f"ended with exit code {code}"
                if code > 0
                else f"was ended by {signal.Signals(-code).name}"
            )
            raise BadData(f"{self._program.what} {how}.{self._program.last_words}")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._resources.close()
