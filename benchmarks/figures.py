"""What a benchmark found: each figure with the bar that it must reach. It is printed as it comes
and, under ``run.py``, kept for the page of benchmarks.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

# names the file that ``run.py`` reads: a line of JSON for each figure
KEPT_IN = "ARGOSY_FIGURES"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """``value`` in words of ``unit`` ("times gloo", "of torch", "us"), at least or at most a bar;
    ``beside`` says what it was made of: both sides in their own units, or a limit of the machine.
    """

    what: str
    value: float
    unit: str
    least: float | None = None
    most: float | None = None
    beside: str = ""

    @property
    def is_met(self) -> bool:
        over = self.least is None or self.value >= self.least
        return over and (self.most is None or self.value <= self.most)

    @property
    def bar(self) -> str:
        if self.least is not None:
            return f"at least {shown(self.least)}"
        return "" if self.most is None else f"at most {shown(self.most)}"


def shown(value: float) -> str:
    """Three figures that count, and no power of ten."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.{1 if abs(value) >= 10 else 2}f}"


class Figures:
    """The figures of one run. ``missed`` counts bars that were not reached: exit with it."""

    def __init__(self) -> None:
        self.missed = 0

    def add(
        self,
        what: str,
        value: float,
        unit: str,
        *,
        least: float | None = None,
        most: float | None = None,
        beside: str = "",
    ) -> None:
        figure = Figure(what=what, value=value, unit=unit, least=least, most=most, beside=beside)
        self.missed += not figure.is_met
        bar = f" ({figure.bar})" if figure.bar else ""
        line = f"{what:44} {shown(value):>9} {unit}{bar}{f'   {beside}' if beside else ''}"
        print(line + ("" if figure.is_met else "   MISSED"), flush=True)
        kept = os.environ.get(KEPT_IN)
        if kept:
            with Path(kept).open("a") as file:
                file.write(json.dumps(dataclasses.asdict(figure)) + "\n")

    def exit(self) -> None:
        sys.exit(1 if self.missed else 0)
