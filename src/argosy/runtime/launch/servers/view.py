"""The servers of a job as seen from its launcher: a live table on a terminal, otherwise a line now
and then.

A thread asks the servers; the job does not wait for it and does not end by it. pyarrow is loaded in
the thread.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from argosy.runtime.launch.terminal import Terminal
from argosy.runtime.ps.server import view

_LIVE_S = 1.0
_LINES_S = 5.0
_ANSWER_S = 1.0


class Display:
    """Shows the servers at ``endpoints`` on ``terminal`` from ``start`` to ``close``."""

    def __init__(
        self,
        endpoints: Sequence[str],
        token: str,
        terminal: Terminal,
        tls_root: str | None,
        lines_s: float = _LINES_S,
    ) -> None:
        self._endpoints = endpoints
        self._token = token
        self._tls_root = tls_root
        self._terminal = terminal
        self._period_s = _LIVE_S if terminal.is_live else lines_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="argosy-ps-view", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """End the view; what it last showed stays on the terminal."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(2 * _ANSWER_S * len(self._endpoints))

    def __enter__(self) -> Display:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _watch(self) -> None:
        from argosy.runtime.ps.server.status import Observer

        root = None if self._tls_root is None else Path(self._tls_root).read_bytes()
        before, last_key, last = None, None, None
        with Observer(self._endpoints, self._token, _ANSWER_S, root) as observer:
            while not self._stop.wait(self._period_s):
                now = observer.sample()
                shown = view.view(now, before)
                before = now
                if self._terminal.is_live:
                    if shown.tables or last is None:  # when servers end, what they said last stays
                        last = _rich_table(shown)
                    self._terminal.show("servers", last)
                elif shown.tables and view.key_of(shown) != last_key and not self._stop.is_set():
                    last_key = view.key_of(shown)
                    self._terminal.print(f"ps: {view.one_line(shown)}")


def _rich_table(shown: view.View) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(view.one_line(shown)), title_justify="left")
    for column in view.HEAD:
        table.add_column(column, justify="right" if view.is_number(column) else "left")
    for line in view.cells(shown):
        table.add_row(*(Text(cell) for cell in line))
    return table
