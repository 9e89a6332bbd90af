"""``paddle.hapi.progressbar``: the line, or the bar, that tells how far an epoch is.

Scripts parse these lines, so they are Paddle's to the letter. Only a bar on a terminal, which
nobody parses, is drawn by rich.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterable
from typing import Any, TextIO

import numpy as np

__all__: list[str] = []

Values = Iterable[tuple[str, Any]]

_NUMBERS = (float, np.float32, np.float64)


class ProgressBar:
    """Tell the progress of ``num`` steps, or of unknowably many.

    ``verbose`` 0 is silent, 1 draws a bar, 2 and 3 print a line per call. Times are counted from
    ``start()``, which the constructor calls unless told otherwise.

    Example:
        >>> bar = paddle.hapi.progressbar.ProgressBar(num=20, verbose=2)
        >>> bar.update(3, [("loss", 0.25)])  # doctest: +ELLIPSIS
        step  3/20 - loss: 0.2500 - ...s/step
    """

    def __init__(
        self,
        num: int | None = None,
        width: int = 30,
        verbose: int = 1,
        start: bool = True,
        file: TextIO | None = None,
        name: str = "step",
    ) -> None:
        if isinstance(num, int) and num <= 0:
            raise TypeError(f"ProgressBar: num should be None or an integer > 0, but is {num}")
        self._num = num
        self._width = min(width, _room())
        self._verbose = verbose
        self._total_width = 0
        self._file = file
        self._drawn: Any = None
        self.name = name
        if start:
            self._start = time.time()

    @property
    def file(self) -> TextIO:
        """Where it prints: standard output, as it is now, unless another file was given."""
        return sys.stdout if self._file is None else self._file

    def start(self) -> None:
        """Count time from now on."""
        self.file.flush()
        self._start = time.time()

    def update(self, current_num: int, values: Values = ()) -> None:
        """Tell that ``current_num`` steps are done, with the values of some quantities."""
        if not self._verbose:
            return
        step_s = (time.time() - self._start) / current_num if current_num else 0
        told = _told(values)
        pace = f" - {_pace(step_s)}/{self.name}"
        if self._verbose > 1:
            self._print(f"{self._count(current_num)}{told}{pace}\n")
        elif self.file.isatty():
            self._draw(current_num, told + pace)
        else:
            self._print_bar(current_num, told, step_s, pace)

    def _print(self, text: str) -> None:
        self.file.write(text)
        self.file.flush()

    def _count(self, done: int) -> str:
        if self._num is None:
            return f"{self.name} {done:3d}"
        return f"{self.name} {done:{len(str(self._num))}d}/{self._num}"

    def _print_bar(self, done: int, told: str, step_s: float, pace: str) -> None:
        """The bar as text, over the one before it."""
        before = self._total_width
        bar, rest = self._count(done), told
        is_last = self._num is None or done >= self._num
        if self._num is not None:
            filled = int(self._width * (done / self._num))
            tip = "=" if is_last else ">"
            bar += " [" + ("=" * (filled - 1) + tip if filled > 0 else "")
            bar += "." * (self._width - filled) + "]"
            if not is_last:
                rest += f" - ETA: {_clock(step_s * (self._num - done))}"
        line = bar + rest + pace
        self._total_width = len(line)
        padding = " " * (before - len(line))
        self._print("\b" * before + "\r" + line + padding + ("\n" if is_last else ""))

    def _draw(self, done: int, told: str) -> None:
        if self._drawn is None:
            self._drawn = _new_bar(self.file, self.name, self._num)
        self._drawn.update(self._drawn.task_ids[0], completed=done, told=told)
        self._drawn.refresh()
        if self._num is None or done >= self._num:
            self._drawn.stop()
            self._drawn = None


def _room() -> int:
    """How wide a bar may be in this terminal."""
    width = shutil.get_terminal_size().columns or 80
    return min(int(width * 0.6), width - 50)


def _new_bar(file: TextIO, name: str, num: int | None) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    bar = Progress(
        TextColumn("{task.description}"),
        MofNCompleteColumn(),
        BarColumn(),
        Remaining(),
        TextColumn("{task.fields[told]}", markup=False),
        console=Console(file=file),
        auto_refresh=False,
    )
    bar.add_task(name, total=num, told="")
    bar.start()
    return bar


def _told(values: Values) -> str:
    return "".join(
        f" - {name}:" + "".join(f" {_number(v)}" for v in _members(name, value))
        for name, value in values
    )


def _members(name: str, value: Any) -> list[Any]:
    members = value if isinstance(value, list) else [value]
    if name == "loss" and members and isinstance(members[0], np.uint16):
        return [_from_bfloat16(v) for v in members]
    return members


def _from_bfloat16(bits: np.uint16) -> float:
    """The number whose upper half these bits are: arrays hold bfloat16 that way."""
    return float(np.uint32(int(bits) << 16).view(np.float32))


def _number(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size == 1 and value.dtype.kind == "f":
        value = value.item()
    if not isinstance(value, _NUMBERS):
        return str(value)
    number = float(value)
    return f"{number:.4f}" if abs(number) > 1e-3 else f"{number:.4e}"


def _pace(step_s: float) -> str:
    if step_s >= 1 or step_s == 0:
        return f"{step_s:.0f}s"
    return f"{step_s * 1e3:.0f}ms" if step_s >= 1e-3 else f"{step_s * 1e6:.0f}us"


def _clock(left_s: float) -> str:
    if left_s > 3600:
        return f"{int(left_s // 3600)}:{int(left_s % 3600 // 60):02d}:{int(left_s % 60):02d}"
    return f"{int(left_s // 60)}:{int(left_s % 60):02d}" if left_s > 60 else f"{int(left_s)}s"
