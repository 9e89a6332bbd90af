"""The report of a run: one HTML file that opens without a network.

``data_of`` sums up what the run folder has, plainly; ``page`` puts it into ``page.html``, where a
script draws it. The page of a job that runs asks for new data at ``feed``.
"""

from __future__ import annotations

import importlib.resources
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from argosy.foundation.account import NAMES
from argosy.foundation.files import replacing
from argosy.runtime.observe.run_folder import read_events, read_facts, read_raw
from argosy.runtime.observe.summary import COMPUTE, PARTS

_BINS, _STEPS_OF_BIN = 400, 8  # at most; so many steps in one, or rates are those of chance
_SLOWEST = 12
NAME = "report.html"


def write(folder: Path) -> Path:
    """Write the report of a run into its folder, from steps.raw or steps.parquet."""
    path = folder / NAME
    with replacing(path) as file:
        file.write(page(data_of(folder)).encode())
    return path


def data_of(folder: Path) -> dict[str, Any]:
    """What the page shows of a run, as values for JSON."""
    facts = read_facts(folder)
    rows = read_raw(folder)
    labels = [str(each["label"]) for each in facts["processes"]]
    began_s = facts["clock_s"]
    return {
        "facts": {
            name: facts.get(name) for name in ("began", "command", "host", "commit", "versions")
        },
        "is_running": bool(facts.get("running")),
        "processes": [
            {"label": label, **_process(rows[rows["process"] == number], began_s)}
            for number, label in enumerate(labels)
        ],
        "slowest": _slowest(rows, labels, began_s),
        "events": [
            {"at_s": event["at_s"] - facts["time_s"], "kind": event["kind"], "text": event["text"]}
            for event in read_events(folder)
        ],
    }


def _process(rows: npt.NDArray[Any], began_s: float) -> dict[str, Any]:
    """How long each part took in all, and how pace and loss went over time."""
    spent = {name: float(rows[name].sum()) / 1e9 for name in NAMES}
    wall_s = float(rows["wall"].sum()) / 1e9
    return {
        "num_steps": len(rows),
        "wall_s": wall_s,
        "spent_s": {COMPUTE: wall_s - sum(spent.values()), **spent},
        **_series(rows, began_s),
    }


def _series(rows: npt.NDArray[Any], began_s: float) -> dict[str, Any]:
    """Steps per second and mean loss in equal spans of time; null where there is none."""
    if not len(rows):
        return {"at_s": [], "steps_per_s": [], "loss": []}
    ends = (rows["began"] + rows["wall"]) / 1e9 - began_s
    first = float(rows["began"][0]) / 1e9 - began_s
    bins = max(1, min(_BINS, len(rows) // _STEPS_OF_BIN))
    span = max(float(ends[-1]) - first, 1e-9) / bins
    number = np.minimum(((ends - first) / span).astype(np.int64), bins - 1)
    count = np.bincount(number)
    told = ~np.isnan(rows["loss"])
    num_told = np.bincount(number[told], minlength=len(count))
    total = np.bincount(number[told], rows["loss"][told], minlength=len(count))
    with np.errstate(invalid="ignore", divide="ignore"):
        loss = total / num_told
    return {
        "at_s": [round(first + (i + 1) * span, 4) for i in range(len(count))],
        "steps_per_s": [round(float(c) / span, 4) for c in count],
        "loss": [float(value) if math.isfinite(value) else None for value in loss],
    }


def _slowest(rows: npt.NDArray[Any], labels: Sequence[str], began_s: float) -> list[dict[str, Any]]:
    """The steps that took longest, and what took most of each."""
    found = []
    for row in rows[np.argsort(-rows["wall"], kind="stable")[:_SLOWEST]]:
        spent = {name: int(row[name]) for name in NAMES}
        spent[COMPUTE] = int(row["wall"]) - sum(spent.values())
        most = max(PARTS, key=lambda name: spent[name])
        who = f" for rank {row['latest']}" if most == "waiting" and row["latest"] >= 0 else ""
        found.append(
            {
                "process": labels[row["process"]],
                "step": int(row["number"]),
                "at_s": round(float(row["began"]) / 1e9 - began_s, 4),
                "wall_s": float(row["wall"]) / 1e9,
                "mostly": f"{most}{who}",
                "share": spent[most] / max(1, int(row["wall"])),
            }
        )
    return found


def page(data: Mapping[str, Any], feed: str = "") -> str:
    """The page with ``data`` in it. ``feed`` is where it asks for newer data; empty: nowhere."""
    template = importlib.resources.files(__package__).joinpath("page.html").read_text("utf-8")
    # no text of the data can end the element that holds it
    text = json.dumps({**data, "feed": feed}, allow_nan=False).replace("<", "\\u003c")
    return template.replace("{{DATA}}", text)
