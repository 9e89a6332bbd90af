"""The pace of a job in the text format that Prometheus reads (OpenMetrics 1.0). Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from argosy.runtime.observe.summary import PARTS, Pace
from argosy.runtime.observe.tables import TableState

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"


_TABLE_FIGURES = (
    ("argosy_table_rows", "gauge", "rows"),
    ("argosy_table_bytes", "gauge", "num_bytes"),
    ("argosy_table_pulls", "counter", "pulls"),
    ("argosy_table_pushes", "counter", "pushes"),
)


def openmetrics(paces: Sequence[Pace], tables: Sequence[TableState] = ()) -> str:
    """All processes and tables at one instant."""
    lines = ["# TYPE argosy_steps counter", "# HELP argosy_steps Steps since the process began."]
    lines += [f"argosy_steps_total{_names(p)} {p.num_steps}" for p in paces]
    lines += ["# TYPE argosy_steps_per_second gauge"]
    lines += [f"argosy_steps_per_second{_names(p)} {p.steps_per_s:.6g}" for p in paces]
    lines += [
        "# TYPE argosy_time_share gauge",
        "# HELP argosy_time_share Share of the last seconds by what they went into.",
    ]
    lines += [
        f"argosy_time_share{_names(p, part=part)} {p.shares[part]:.6g}"
        for p in paces
        for part in PARTS
        if p.shares
    ]
    lines += ["# TYPE argosy_loss gauge"]
    lines += [f"argosy_loss{_names(p)} {p.loss:.9g}" for p in paces if not math.isnan(p.loss)]
    for name, kind, field in _TABLE_FIGURES if tables else ():
        lines.append(f"# TYPE {name} {kind}")
        total = "_total" if kind == "counter" else ""
        lines += [f"{name}{total}{_braced({'table': t.name})} {getattr(t, field)}" for t in tables]
    return "\n".join([*lines, "# EOF", ""])


def _names(pace: Pace, **more: str) -> str:
    return _braced({"process": pace.label, **more})


def _braced(shown: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in shown.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
