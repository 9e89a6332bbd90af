"""What servers say of their tables, as text for people. Pure.

A sample is the answers of all servers to ``status`` at one time; rates are the difference of two
samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from argosy.foundation.quantities import count_text, size_text

Status = Sequence[Mapping[str, Any]]  # what one server says: a mapping for each table

HEAD = (
    "table",
    "kind",
    "mode",
    "dim",
    "rows",
    "bytes",
    "pulls/s",
    "rows/s",
    "pushes/s",
    "rows/s",
    "staleness",
)
_NUMBER_COLUMNS = frozenset(HEAD) - {"table", "kind", "mode"}


@dataclass(frozen=True)
class Sample:
    """The answers of all servers by endpoint, None where a server did not answer."""

    time_s: float
    by_server: Mapping[str, Status | None] = field(default_factory=dict)

    @property
    def num_answers(self) -> int:
        return sum(status is not None for status in self.by_server.values())


@dataclass(frozen=True)
class TableView:
    """One table over all servers; rates are per second."""

    name: str
    kind: str
    mode: str
    dim: int
    rows: int
    num_bytes: int
    staleness: int
    pulls: int
    pushes: int
    pull_rate: float = 0.0
    push_rate: float = 0.0
    row_pull_rate: float = 0.0
    row_push_rate: float = 0.0
    growth: float = 0.0  # rows


@dataclass(frozen=True)
class View:
    """All servers and tables, the heaviest table first."""

    num_servers: int
    num_answers: int
    tables: tuple[TableView, ...]

    @property
    def rows(self) -> int:
        return sum(t.rows for t in self.tables if t.kind == "sparse")

    @property
    def num_bytes(self) -> int:
        return sum(t.num_bytes for t in self.tables)

    @property
    def staleness(self) -> int:
        return max((t.staleness for t in self.tables), default=0)


def view(now: Sample, before: Sample | None = None) -> View:
    """What ``now`` shows; with ``before`` also how fast things go."""
    totals = _totals(now)
    earlier = _totals(before) if before is not None else {}
    seconds = now.time_s - before.time_s if before is not None else 0.0
    tables = [_table_view(name, t, earlier.get(name), seconds) for name, t in totals.items()]
    tables.sort(key=lambda t: (-t.num_bytes, t.name))
    return View(len(now.by_server), now.num_answers, tuple(tables))


_SUMS = ("rows", "bytes", "pulls", "pushes", "rows_pulled", "rows_pushed")


def _totals(sample: Sample) -> dict[str, dict[str, Any]]:
    """Each table's numbers, added up over the servers."""
    found: dict[str, dict[str, Any]] = {}
    for status in sample.by_server.values():
        for part in status or ():
            total = found.get(part["table"])
            if total is None:
                found[part["table"]] = dict(part)
                continue
            for key in _SUMS:
                total[key] += part[key]
            total["staleness"] = max(total["staleness"], part["staleness"])
    return found


def _table_view(
    name: str, now: Mapping[str, Any], before: Mapping[str, Any] | None, seconds: float
) -> TableView:
    def rate(key: str) -> float:
        if before is None or seconds <= 0.0:
            return 0.0
        # a server that was started again counts from 0
        return max(0.0, (now[key] - before[key]) / seconds)

    return TableView(
        name, now["kind"], now["mode"], now["dim"], now["rows"], now["bytes"], now["staleness"],
        now["pulls"], now["pushes"],
        rate("pulls"), rate("pushes"), rate("rows_pulled"), rate("rows_pushed"),
        rate("rows"),
    )  # fmt: skip


# -- text
# --------------------------------------------------------------------------------------------------


def cells(shown: View) -> list[tuple[str, ...]]:
    """The lines of a table under ``HEAD``."""
    return [
        (
            t.name, t.kind, t.mode, str(t.dim), count_text(t.rows), size_text(t.num_bytes),
            count_text(t.pull_rate), count_text(t.row_pull_rate),
            count_text(t.push_rate), count_text(t.row_push_rate), str(t.staleness),
        )
        for t in shown.tables
    ]  # fmt: skip


def is_number(column: str) -> bool:
    """Whether a column of ``HEAD`` is set to the right."""
    return column in _NUMBER_COLUMNS


def one_line(shown: View) -> str:
    """Everything in a line for a log."""
    pulls, pushes = sum(t.pull_rate for t in shown.tables), sum(t.push_rate for t in shown.tables)
    return (
        f"{shown.num_answers} of {shown.num_servers} servers, {len(shown.tables)} tables, "
        f"{count_text(shown.rows)} rows, {size_text(shown.num_bytes)}, "
        f"{count_text(pulls)} pulls/s, {count_text(pushes)} pushes/s, staleness {shown.staleness}"
    )


def key_of(shown: View) -> tuple[Any, ...]:
    """What must change for a line to be worth printing again."""
    return (shown.num_answers, tuple((t.name, t.rows, t.pulls, t.pushes) for t in shown.tables))


def text_table(head: Sequence[str], lines: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Columns as wide as their longest cell, two blanks apart."""
    widths = [max(len(row[i]) for row in (head, *lines)) for i in range(len(head))]
    shown = []
    for row in (head, *lines):
        filled = [
            cell.rjust(width) if is_right else cell.ljust(width)
            for cell, width, is_right in zip(row, widths, right, strict=True)
        ]
        shown.append("  ".join(filled).rstrip())
    return "\n".join(shown)


def row_text(row: Mapping[str, Any]) -> str:
    """One row of a table: a line for each of its parts."""
    lines = []
    for name, value in row.items():
        if isinstance(value, (list, tuple)):
            value = "[" + ", ".join(f"{number:.6g}" for number in value) + "]"
        lines.append(f"{name}: {value}")
    return "\n".join(lines)
