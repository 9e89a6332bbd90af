"""What a job is doing, as a panel for a terminal or as a line. Pure; rich is imported only for a
panel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from argosy.foundation.account import UNTOLD
from argosy.runtime.observe.summary import COMPUTE, PARTS, Pace, efficiency, limit_text, limiter
from argosy.runtime.observe.tables import TableState, rich_table
from argosy.runtime.observe.tables import line as tables_line

_BAR = 32
_LINES = 24  # of processes
_STYLES = {
    COMPUTE: "green",
    "communication": "yellow",
    "waiting": "red",
    "data": "magenta",
    "pull": "blue",
    "push": "cyan",
    "checkpoint": "white",
}


def line(paces: Sequence[Pace], now_ns: int) -> str:
    """The job in a line: steps, pace, loss, what slows it."""
    count = max((p.num_steps if p.told == UNTOLD else p.told for p in paces), default=0)
    parts = [f"step {count}", _rate(paces)]
    loss = _loss(paces)
    if not math.isnan(loss):
        parts.append(f"loss {loss:.6g}")
    said = limiter(paces, now_ns)
    return ", ".join(part for part in parts if part) + (f"; {said}" if said else "")


def cells(shares: dict[str, float], width: int = _BAR) -> dict[str, int]:
    """How many cells of a bar each part gets: all of them are given out, by the largest
    remainders.
    """
    exact = {name: shares.get(name, 0.0) * width for name in PARTS}
    found = {name: int(value) for name, value in exact.items()}
    left = width - sum(found.values()) if any(exact.values()) else 0
    for name in sorted(PARTS, key=lambda n: found[n] - exact[n])[:left]:
        found[name] += 1
    return found


def panel(
    paces: Sequence[Pace], now_ns: int, tables: Sequence[TableState] = (), servers: str = ""
) -> Any:
    """The same with a bar for each process, and the tables of servers under what is said of these,
    for rich. Many processes are shown by the slowest and the most awaited ones.
    """
    from rich.console import Group
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 1))
    for pace in _worth_a_line(paces):
        bar = Text()
        for name, count in cells(dict(pace.shares)).items():
            bar.append("█" * count, style=_STYLES[name])
        told = Text(f"{pace.steps_per_s:,.1f}/s" if pace.shares else "", style="dim")
        table.add_row(Text(pace.label), bar, told, Text(_parts(pace), style="dim"))
    legend = Text()
    for name in PARTS:
        if any(p.shares.get(name, 0.0) >= 0.005 for p in paces):
            legend.append("█ ", style=_STYLES[name]).append(f"{name}  ", style="dim")
    said = limiter(paces, now_ns)
    rows: list[Any] = [table, legend] if legend.plain else [table]
    if said:
        rows.append(Text(said, style="bold"))
    if tables:
        rows += [Text(servers or tables_line(tables), style="dim"), rich_table(tables)]
    rates = [p.steps_per_s for p in paces if p.shares]
    limit = limit_text(efficiency(paces), min(rates, default=0.0))
    title = line(paces, now_ns).partition(";")[0]
    return Panel(Group(*rows), title=Text(title), subtitle=Text(limit))


def _worth_a_line(paces: Sequence[Pace]) -> list[Pace]:
    """All processes, or those of many that say most, in their order."""
    if len(paces) <= _LINES:
        return list(paces)
    awaited: dict[int, float] = {}
    for pace in paces:
        for rank, share in pace.awaited.items():
            awaited[rank] = awaited.get(rank, 0.0) + share

    def weight(pace: Pace) -> tuple[bool, float, float]:
        waits = sum(share for name, share in pace.shares.items() if name != COMPUTE)
        return (pace.wait is not None, awaited.get(pace.rank, 0.0), waits)

    chosen = sorted(paces, key=weight, reverse=True)[:_LINES]
    return [pace for pace in paces if pace in chosen]


def _rate(paces: Sequence[Pace]) -> str:
    """Of the slowest that steps: ranks step together, workers of servers do not."""
    rates = [p.steps_per_s for p in paces if p.shares]
    return f"{min(rates):,.1f} steps/s" if rates else ""


def _loss(paces: Sequence[Pace]) -> float:
    return next((p.loss for p in paces if not math.isnan(p.loss)), math.nan)


def _parts(pace: Pace) -> str:
    """The parts but for computing, largest first, that are worth a word."""
    named = sorted(PARTS[1:], key=lambda name: -pace.shares.get(name, 0.0))
    return ", ".join(
        f"{name} {pace.shares[name]:.0%}" for name in named if pace.shares.get(name, 0.0) >= 0.01
    )
