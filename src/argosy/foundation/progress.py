"""How far long work is, on standard error: a bar on a terminal, elsewhere a line every ten seconds,
nothing for what takes less than two. A thread shows it while the work goes on, so a single long
call is shown too; where the work is small it is not started.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, TextIO, cast

from argosy.foundation.quantities import count_text, size_text

Told = Callable[[int], None]
_FIRST_S, _LINES_S, _BAR_S = 2.0, 10.0, 0.2
_END_S = 5.0
_BIG = 64 << 20  # bytes; fewer do not take seconds
BYTES = "B"


@contextmanager
def progress(
    what: str,
    total: int | None = None,
    unit: str = BYTES,
    *,
    out: TextIO | None = None,
    first_s: float = _FIRST_S,
    lines_s: float = _LINES_S,
) -> Iterator[Told]:
    """Show ``what`` is being done while the block runs. What is yielded is told how much more is
    done, of ``total`` if that is known, by any thread.
    """
    shown = _Shown(what, total, unit, sys.stderr if out is None else out, (first_s, lines_s))
    if unit == BYTES and total is not None and total < _BIG:
        yield shown.add
        return
    thread = threading.Thread(target=shown.run, name="argosy-progress", daemon=True)
    thread.start()
    try:
        yield shown.add
        shown.is_done = True
    finally:
        shown.stop.set()
        thread.join(_END_S)  # it may be held up by who reads its lines; the work is not


def counted(file: IO[bytes], told: Told) -> IO[bytes]:
    """``file``, whose bytes are told as they are read or written."""
    return cast(IO[bytes], _Counted(file, told))


class _Counted:
    def __init__(self, file: IO[bytes], told: Told) -> None:
        self._file, self._told = file, told

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._told(len(data))
        return data

    def write(self, data: Any) -> int:
        count = self._file.write(data)
        self._told(count)
        return count

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class _Shown:
    """What the thread shows."""

    def __init__(
        self, what: str, total: int | None, unit: str, out: TextIO, times_s: tuple[float, float]
    ) -> None:
        self._what, self._total, self._unit = what, total, unit
        self._out = out
        self._first_s, self._lines_s = times_s
        self._began_s = time.monotonic()
        self._adding = threading.Lock()
        self._done = 0  # guarded by _adding
        self.stop = threading.Event()
        self.is_done = False

    def add(self, count: int) -> None:
        with self._adding:
            self._done += count

    def run(self) -> None:
        if self.stop.wait(self._first_s):
            return
        if self._out.isatty():
            self._draw()
        else:
            self._print()

    def _print(self) -> None:
        while True:
            print(f"argosy: {self._line()}", file=self._out, flush=True)
            if self.stop.wait(self._lines_s):
                break
        if self.is_done:
            took_s = time.monotonic() - self._began_s
            print(f"argosy: {self._what}: done in {took_s:.0f} s", file=self._out, flush=True)

    def _line(self) -> str:
        spent_s, done = time.monotonic() - self._began_s, self._done
        text = f"{self._what}: {_amount(done, self._unit)}"
        if self._total:
            share = min(1.0, done / self._total)
            text += f" of {_amount(self._total, self._unit)} ({share:.0%})"
            if 0 < share < 1:
                return f"{text}, {spent_s / share - spent_s:.0f} s left"
        return f"{text}, {spent_s:.0f} s so far"

    def _draw(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}", markup=False), BarColumn(),
            TextColumn("{task.fields[amount]}"), TimeRemainingColumn())  # fmt: skip
        console = Console(file=self._out)
        with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
            task = bar.add_task(self._what, total=self._total, amount="")
            while not self.stop.wait(_BAR_S):
                text = _amount(self._done, self._unit)
                bar.update(task, completed=self._done, amount=text, refresh=True)


def _amount(count: float, unit: str) -> str:
    return size_text(count) if unit == BYTES else f"{count_text(count)} {unit}"
