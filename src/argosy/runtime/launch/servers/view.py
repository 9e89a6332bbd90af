"""The servers of a job as seen from its launcher: a live table on a terminal, otherwise a line now
and then.

A thread asks the servers; the job does not wait for it and does not end by it. pyarrow is loaded in
the thread.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, TextIO

from argosy.runtime.ps.server import view

_LIVE_S = 1.0
_LINES_S = 5.0
_ANSWER_S = 1.0


class Display:
    """Shows the servers at ``endpoints`` on ``out`` from ``start`` to ``close``, and passes on what
    others want to print meanwhile.
    """

    def __init__(
        self,
        endpoints: Sequence[str],
        token: str,
        out: TextIO,
        tls_root: str | None,
        lines_s: float = _LINES_S,
    ) -> None:
        self._endpoints = endpoints
        self._token = token
        self._tls_root = tls_root
        self._out = out
        self._live: Any = _make_live(out) if out.isatty() else None
        self._period_s = lines_s if self._live is None else _LIVE_S
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="argosy-ps-view", daemon=True)

    def start(self) -> None:
        if self._live is not None:
            self._live.start()
        self._thread.start()

    def close(self) -> None:
        """End the view; what it last showed stays on the terminal."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(2 * _ANSWER_S * len(self._endpoints))
        if self._live is not None:
            self._live.stop()

    def __enter__(self) -> Display:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def over(self, stream: IO[bytes]) -> IO[bytes]:
        """``stream``, or what prints above the live table if both are on the terminal."""
        if self._live is None or not stream.isatty():
            return stream
        return _Above(self._live.console)  # type: ignore[return-value]

    def print(self, text: str) -> None:
        """Print a message of the launcher."""
        if self._live is None:
            print(text, file=self._out)
        else:
            self._live.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _watch(self) -> None:
        from argosy.runtime.ps.server.status import Observer

        root = None if self._tls_root is None else Path(self._tls_root).read_bytes()
        before, last_key, last = None, None, None
        with Observer(self._endpoints, self._token, _ANSWER_S, root) as observer:
            while not self._stop.wait(self._period_s):
                now = observer.sample()
                shown = view.view(now, before)
                before = now
                if self._live is not None:
                    if shown.tables or last is None:  # when servers end, what they said last stays
                        last = _rich_table(shown)
                    self._live.update(last, refresh=True)
                elif shown.tables and view.key_of(shown) != last_key and not self._stop.is_set():
                    last_key = view.key_of(shown)
                    print(f"ps: {view.one_line(shown)}", file=self._out, flush=True)


class _Above:
    """A stream that prints above a live table."""

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


def _rich_table(shown: view.View) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(view.one_line(shown)), title_justify="left")
    for column in view.HEAD:
        table.add_column(column, justify="right" if view.is_number(column) else "left")
    for line in view.cells(shown):
        table.add_row(*(Text(cell) for cell in line))
    return table
