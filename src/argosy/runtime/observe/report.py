"""The report of a run: one HTML file that opens without a network.

``Report`` sums up what the run folder has, plainly, and reads only what is new each time; ``page``
puts it into ``page.html``, where a script draws it. The page of a job that runs asks for new data
at ``feed``.
"""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from argosy.foundation.errors import CheckpointError
from argosy.foundation.files import replacing
from argosy.runtime.observe import tables
from argosy.runtime.observe.digest import Digest, slowest_of
from argosy.runtime.observe.others import OthersDigest
from argosy.runtime.observe.run_folder import (
    EVENTS,
    OTHERS,
    TABLES,
    Lines,
    read_facts,
    read_steps,
)
from argosy.runtime.observe.summary import COMPUTE

_POINTS, _LEAST_POINTS, _ALL_POINTS = 400, 50, 40_000  # of a line, and of all lines
_EVENTS = 500  # the last ones
_SHOWN_FACTS = ("began", "command", "host", "commit", "changed", "versions", "plan")
NAME = "report.html"


def write(folder: Path) -> Path:
    """Write the report of a run that is not finished into its folder."""
    path = folder / NAME
    with replacing(path) as file:
        file.write(page(Report(folder).data()).encode())
    return path


class Report:
    """What the page shows of the run in ``folder``, over and over while it runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._digests: dict[str, Digest] = {}
        self._num_rows = 0
        self._lines = {name: Lines(folder, name) for name in (EVENTS, OTHERS, TABLES)}
        self._others: OthersDigest | None = None
        self._tables: list[dict[str, Any]] = []
        self._events: list[dict[str, Any]] = []

    def data(self) -> dict[str, Any]:
        """All of it, as values for JSON; CheckpointError if a file is damaged."""
        try:
            return self._data()
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CheckpointError(f"{self._folder}: a file of it is damaged ({error!r})") from error

    def _data(self) -> dict[str, Any]:
        facts = read_facts(self._folder)
        self._read(facts)
        assert self._others is not None
        digests = {**self._digests, **self._others.by_label}
        points = max(_LEAST_POINTS, min(_POINTS, _ALL_POINTS // max(1, len(digests))))
        processes = [{"label": name, **each.summary(points)} for name, each in digests.items()]
        return {
            "facts": {name: facts.get(name) for name in _SHOWN_FACTS},
            "is_running": bool(facts.get("running")),
            "processes": processes,
            "limit": limit(processes),
            "slowest": slowest_of(digests),
            "tables": tables.series(self._tables, points),
            "events": [
                {"at_s": one["at_s"] - facts["time_s"], "kind": one["kind"], "text": one["text"]}
                for one in self._events
            ],
        }

    def _read(self, facts: Mapping[str, Any]) -> None:
        """Add what has come since the last time."""
        self._others = self._others or OthersDigest(facts["clock_s"])
        self._others.add(self._lines[OTHERS].new())
        self._tables += self._lines[TABLES].new()
        self._events = [*self._events, *self._lines[EVENTS].new()][-_EVENTS:]
        labels = [str(each["label"]) for each in facts["processes"]]
        for label in labels:
            self._digests.setdefault(label, Digest(facts["clock_s"]))
        for rows in read_steps(self._folder, len(labels), self._num_rows):
            self._num_rows += len(rows)
            for number, label in enumerate(labels):
                self._digests[label].add(rows[rows["process"] == number])


def limit(processes: list[dict[str, Any]]) -> dict[str, float] | None:
    """How far the run was from the limit of the machine, the pace that computing alone would allow:
    the share of the time of all processes that was computing, and that pace. None if nobody
    stepped.
    """
    stepping = [each for each in processes if each["wall_s"] > 0]
    wall_s = sum(each["wall_s"] for each in stepping)
    compute_s = sum(each["spent_s"][COMPUTE] for each in stepping)
    if not wall_s or compute_s <= 0:
        return None
    pace = min(each["num_steps"] / each["wall_s"] for each in stepping)
    return {"share": compute_s / wall_s, "steps_per_s": pace * wall_s / compute_s}


def page(data: Mapping[str, Any], feed: str = "") -> str:
    """The page with ``data`` in it. ``feed`` is where it asks for newer data; empty: nowhere."""
    template = importlib.resources.files(__package__).joinpath("page.html").read_text("utf-8")
    # no text of the data can end the element that holds it
    text = json.dumps({**data, "feed": feed}, allow_nan=False).replace("<", "\\u003c")
    return template.replace("{{DATA}}", text)
