"""The pace of a job in the text formats that Prometheus reads: OpenMetrics 1.0, and the older one
for those who do not ask for it. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from argosy.runtime.observe.summary import PARTS, Pace
from argosy.runtime.observe.tables import TableState

_OPEN = "application/openmetrics-text"


# of a table: the name of the figure, its kind, what it is, the field
_TABLE_FIGURES = (
    ("argosy_table_rows", "gauge", "Rows of a table of all servers.", "rows"),
    ("argosy_table_bytes", "gauge", "Bytes of a table of all servers.", "num_bytes"),
    ("argosy_table_pulls", "counter", "Pulls from a table.", "pulls"),
    ("argosy_table_pushes", "counter", "Pushes to a table.", "pushes"),
)


def answer(paces: Sequence[Pace], tables: Sequence[TableState], accept: str) -> tuple[str, str]:
    """The type of the text, and the text, for a request with this header ``Accept``."""
    if _OPEN in accept:
        return f"{_OPEN}; version=1.0.0; charset=utf-8", _text(paces, tables, "") + "# EOF\n"
    return "text/plain; version=0.0.4; charset=utf-8", _text(paces, tables, "_total")


def _text(paces: Sequence[Pace], tables: Sequence[TableState], counter: str) -> str:
    """All processes and tables at one instant. ``counter`` ends the names of counters where they
    are described: the older format calls them as their values are called.
    """
    families: list[tuple[str, str, str, Iterator[tuple[str, str, float]]]] = [
        (f"argosy_steps{counter}", "counter", "Steps since the process began.",
            (("argosy_steps_total", _names(p), p.num_steps) for p in paces)),
        ("argosy_steps_per_second", "gauge", "Steps per second, over the last seconds.",
            (("argosy_steps_per_second", _names(p), p.steps_per_s) for p in paces)),
        ("argosy_time_share", "gauge", "Share of the last seconds by what they went into.",
            (("argosy_time_share", _names(p, part=part), p.shares[part])
            for p in paces for part in PARTS if p.shares)),
        ("argosy_loss", "gauge", "What the script has told of its last step.",
            (("argosy_loss", _names(p), p.loss) for p in paces if not math.isnan(p.loss))),
        *(_table_family(tables, counter, *figure) for figure in _TABLE_FIGURES if tables),
    ]  # fmt: skip
    lines = []
    for name, kind, about, values in families:
        lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
        lines += [f"{sample}{names} {_number(value)}" for sample, names, value in values]
    return "\n".join(lines) + "\n"


def _table_family(
    tables: Sequence[TableState], counter: str, name: str, kind: str, about: str, field: str
) -> tuple[str, str, str, Iterator[tuple[str, str, float]]]:
    is_counter = kind == "counter"
    sample = f"{name}_total" if is_counter else name
    values = ((sample, _braced({"table": t.name}), getattr(t, field)) for t in tables)
    return f"{name}{counter if is_counter else ''}", kind, about, values


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    return f"{value:.9g}" if math.isfinite(value) else "+Inf" if value > 0 else "-Inf"


def _names(pace: Pace, **more: str) -> str:
    return _braced({"process": pace.label, **more})


def _braced(shown: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in shown.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
