"""The bytes of a file after a pipe command: ``cat file | command``."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from types import TracebackType
from typing import IO

from argosy.runtime.data.slots import BadData

_CHUNK_BYTES = 1 << 20
_KEPT_LINES = 20
_PLAIN = ("", "cat")
_SIGPIPE_CODE = 128 + signal.SIGPIPE

# The last stage decides, but a source that fails must not look like a short file. That the last stage reads no further is no failure.
_PIPELINE = '{source} | ( {command}\n); codes=("${{PIPESTATUS[@]}}"); [ "${{codes[1]}}" = 0 ] || exit "${{codes[1]}}"; [ "${{codes[0]}}" = {sigpipe} ] || exit "${{codes[0]}}"'


class Pipe:
    """Reads one file through a command; a context manager that leaves no process behind.

    A file whose name ends in ``.gz`` is unpacked, and with a ``download_command`` the source is what that prints for the file's name. Without any of these and with the
    command ``cat`` no process is started. What the command writes to its standard error is passed on, and its last lines are part of the error if it fails.
    """

    def __init__(self, path: str, command: str = "cat", download_command: str = "cat") -> None:
        self.path = path
        self._command = command.strip()
        self._download = download_command.strip()
        self._process: subprocess.Popen[bytes] | None = None
        self._stream: IO[bytes] | None = None
        self._said: deque[str] = deque(maxlen=_KEPT_LINES)
        self._listener: threading.Thread | None = None

    @property
    def source(self) -> str:
        """Where lines come from, for errors."""
        return self.path if self._command in _PLAIN else f"{self.path} through the pipe command {self._command!r}"

    def __enter__(self) -> Pipe:
        if self._download in _PLAIN and not os.path.isfile(self.path):
            raise BadData(f"{self.path}: there is no such file")
        source = self._source_command()
        if source is None and self._command in _PLAIN:
            self._stream = open(self.path, "rb", buffering=0)
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
        text = command if source is None else _PIPELINE.format(source=source, command=command, sigpipe=_SIGPIPE_CODE)
        with open(self.path, "rb") if source is None else contextlib.nullcontext(subprocess.DEVNULL) as stdin:
            self._process = subprocess.Popen(
                ["bash", "-c", text],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                process_group=0,  # so that all of its stages can be ended together
            )
        self._stream = self._process.stdout
        self._listener = threading.Thread(target=self._listen, name="argosy-data-stderr", daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        with self._process.stderr as stream:
            for line in iter(stream.readline, b""):
                text = line.decode(errors="replace")
                self._said.append(text.rstrip("\n"))
                sys.stderr.write(text)

    def chunks(self) -> Iterator[bytes]:
        """Whole lines, about a megabyte at a time; an error after the last if the command failed."""
        assert self._stream is not None
        rest = b""
        parts: list[bytes] = []
        size = 0
        while data := self._stream.read(_CHUNK_BYTES):
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
        if self._process is None:
            return
        code = self._process.wait()
        assert self._listener is not None
        self._listener.join()
        if code:
            how = f"ended with exit code {code}" if code > 0 else f"was ended by {signal.Signals(-code).name}"
            said = "".join(f"\n  | {line}" for line in self._said) or "\n  It wrote nothing to its standard error."
            raise BadData(f"{self.path}: the pipe command {self._command!r} {how}.{said}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stream is not None:
            self._stream.close()
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # also what the command left running
        self._process.wait()
        assert self._listener is not None
        self._listener.join()
