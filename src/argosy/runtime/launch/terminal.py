"""The terminal of a launcher: messages, the log that it follows, and live parts that stay below
them. Where it is no terminal, messages alone.

Parts may be shown by any thread; rich locks what it draws.
"""

from __future__ import annotations

import sys
from typing import IO, Any, TextIO


class Terminal:
    """``out`` is where messages go; live parts stand there in the order in which they were first
    shown.
    """

    def __init__(self, out: TextIO | None = None, *, is_live: bool = True) -> None:
        self._out = sys.stderr if out is None else out
        self._live: Any = _make_live(self._out) if is_live and self._out.isatty() else None
        self._parts: dict[str, Any] = {}

    @property
    def is_live(self) -> bool:
        """Whether parts are drawn."""
        return self._live is not None

    def print(self, text: str) -> None:
        """Print a message of the launcher."""
        if self._live is None:
            print(text, file=self._out, flush=True)
        else:
            self._live.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def show(self, name: str, part: Any) -> None:
        """Draw ``part``, something for rich, in place of the one of that name."""
        if self._live is None:
            return
        from rich.console import Group

        if not self._parts:
            self._live.start()
        self._parts = {**self._parts, name: part}
        self._live.update(Group(*self._parts.values()), refresh=True)

    def over(self, stream: IO[bytes]) -> IO[bytes]:
        """``stream``, or what prints above the live parts if both are on the terminal."""
        if self._live is None or not stream.isatty():
            return stream
        return _Above(self._live.console)  # type: ignore[return-value]

    def close(self) -> None:
        """Draw no more; what was last shown stays."""
        if self._live is not None:
            self._live.stop()

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class _Above:
    """A stream that prints above what is live."""

    def __init__(self, console: Any) -> None:
        self._console = console

    def write(self, data: bytes) -> None:
        self._console.print(
            data.decode(errors="replace"), end="", markup=False, highlight=False, soft_wrap=True
        )

    def flush(self) -> None:
        """Nothing is held back."""


def _make_live(out: TextIO) -> Any:
    from rich.console import Console
    from rich.live import Live

    return Live(
        console=Console(file=out), auto_refresh=False, redirect_stdout=False, redirect_stderr=False
    )
