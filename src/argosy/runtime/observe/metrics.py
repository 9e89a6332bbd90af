"""The pace of a job in the text format that Prometheus reads (OpenMetrics 1.0). Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from argosy.runtime.observe.summary import PARTS, Pace

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def openmetrics(paces: Sequence[Pace]) -> str:
    """All processes at one instant."""
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
    return "\n".join([*lines, "# EOF", ""])


def _names(pace: Pace, **more: str) -> str:
    shown = {"process": pace.label, **more}
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in shown.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
