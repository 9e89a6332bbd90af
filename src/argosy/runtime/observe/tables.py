"""Tables of parameter servers: how large they are, how fast they grow and are used. Pure; what
servers say is asked for by the launcher.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from argosy.foundation.quantities import count_text, size_text
from argosy.runtime.observe.digest import thinned

HEAD = ("table", "kind", "dim", "rows", "rows/s", "bytes", "pulls/s", "pushes/s", "stale")


@dataclass(frozen=True, kw_only=True)
class TableState:
    """One table over all servers at one time. ``growth`` is in rows per second, ``pulls`` and
    ``pushes`` count from the start of the servers, ``staleness`` is how many pushes workers are
    apart.
    """

    name: str
    kind: str
    dim: int
    rows: int
    num_bytes: int
    growth: float
    pulls: int
    pushes: int
    pull_rate: float
    push_rate: float
    staleness: int

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> TableState:
        return cls(**{field.name: found[field.name] for field in fields(cls)})

    def cells(self) -> tuple[str, ...]:
        """Under HEAD."""
        rates = (self.pull_rate, self.push_rate)
        return (
            self.name, self.kind, str(self.dim), count_text(self.rows), count_text(self.growth),
            size_text(self.num_bytes), *map(count_text, rates), str(self.staleness),
        )  # fmt: skip


def rich_table(tables: Sequence[TableState]) -> Any:
    """For a terminal, the heaviest first."""
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for at, column in enumerate(HEAD):
        shown.add_column(column, justify="left" if at < 2 else "right")
    for table in sorted(tables, key=lambda t: (-t.num_bytes, t.name)):
        shown.add_row(*(Text(cell) for cell in table.cells()))
    return shown


def line(tables: Sequence[TableState]) -> str:
    """All tables in a line."""
    rows, growth = sum(t.rows for t in tables), sum(t.growth for t in tables)
    pulls, pushes = sum(t.pull_rate for t in tables), sum(t.push_rate for t in tables)
    return (
        f"{len(tables)} tables, {count_text(rows)} rows (+{count_text(growth)}/s), "
        f"{size_text(sum(t.num_bytes for t in tables))}, {count_text(pulls)} pulls/s, "
        f"{count_text(pushes)} pushes/s"
    )


def series(samples: Sequence[Mapping[str, Any]], most_points: int) -> list[dict[str, Any]]:
    """Each table over time, from ``samples``: ``at_s`` and the states of all tables; the heaviest
    first.
    """
    found: dict[str, dict[str, Any]] = {}
    for sample in (samples[i] for i in thinned(len(samples), most_points)):
        for state in map(TableState.from_json, sample["tables"]):
            table = found.setdefault(
                state.name,
                {"label": state.name, "kind": state.kind, "dim": state.dim, "at_s": [], "rows": [],
                 "num_bytes": [], "pulls_per_s": [], "pushes_per_s": []},
            )  # fmt: skip
            for name, value in (
                ("at_s", sample["at_s"]),
                ("rows", state.rows),
                ("num_bytes", state.num_bytes),
                ("pulls_per_s", round(state.pull_rate, 2)),
                ("pushes_per_s", round(state.push_rate, 2)),
            ):
                table[name].append(value)
    return sorted(found.values(), key=lambda table: (-table["num_bytes"][-1], table["label"]))
