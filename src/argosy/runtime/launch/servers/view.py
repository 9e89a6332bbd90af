"""The servers of a job as seen from its launcher: what they say of their tables becomes part of its
panel, and without a terminal a line now and then.

A thread asks the servers; the job does not wait for it and does not end by it. pyarrow is loaded in
the thread.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from argosy.runtime.launch.observation import Observation
from argosy.runtime.observe.tables import TableState
from argosy.runtime.ps.server import view

_LIVE_S = 1.0
_LINES_S = 5.0
_ANSWER_S = 1.0


class Display:
    """Tells ``seen`` of the servers at ``endpoints`` from ``start`` to ``close``; it prints lines
    if it is to, and there is no panel.
    """

    def __init__(
        self,
        endpoints: Sequence[str],
        token: str,
        seen: Observation,
        tls_root: str | None,
        lines_s: float = _LINES_S,
        *,
        prints: bool = True,
    ) -> None:
        self._endpoints = endpoints
        self._token = token
        self._tls_root = tls_root
        self._seen = seen
        self._prints = prints and not seen.terminal.is_live
        self._period_s = _LIVE_S if seen.terminal.is_live else lines_s
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
        before, last_key = None, None
        with Observer(self._endpoints, self._token, _ANSWER_S, root) as observer:
            while not self._stop.wait(self._period_s):
                now = observer.sample()
                shown = view.view(now, before)
                before = now
                states = [_state(table) for table in shown.tables]
                self._seen.tell_tables(states, view.one_line(shown))
                if not shown.tables or not self._prints or self._stop.is_set():
                    continue
                if view.key_of(shown) != last_key:
                    last_key = view.key_of(shown)
                    self._seen.terminal.print(f"ps: {view.one_line(shown)}")


def _state(table: view.TableView) -> TableState:
    return TableState(
        name=table.name,
        kind=table.kind,
        dim=table.dim,
        rows=table.rows,
        num_bytes=table.num_bytes,
        growth=table.growth,
        pulls=table.pulls,
        pushes=table.pushes,
        pull_rate=table.pull_rate,
        push_rate=table.push_rate,
        staleness=table.staleness,
    )
