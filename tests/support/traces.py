"""Whether a trace is one that Perfetto shows as it was meant."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

_PHASES = {"X", "M", "s", "f", "i"}


def checked(path: Path, arrows: str = "bucket") -> dict[str, Any]:
    """The trace in ``path``; AssertionError if it is not valid: every field that its phase needs is
    there, spans of a thread lie in each other or beside each other, every arrow of the category
    ``arrows`` has both ends, in this order, each at a span.
    """
    trace = json.loads(path.read_bytes())
    events = trace["traceEvents"]
    spans: dict[tuple[int, int], list[tuple[float, float, str]]] = defaultdict(list)
    ends: dict[int, dict[str, dict[str, Any]]] = defaultdict(dict)
    named = set()
    for event in events:
        assert event["ph"] in _PHASES, event
        assert isinstance(event["pid"], int), event
        assert isinstance(event["tid"], int), event
        if event["ph"] == "M":
            named.add((event["name"], event["pid"]))
            continue
        assert isinstance(event["ts"], float), event
        assert ("process_name", event["pid"]) in named, event
        if event["ph"] == "X":
            assert event["dur"] >= 0, event
            track = spans[event["pid"], event["tid"]]
            track.append((event["ts"], event["ts"] + event["dur"], event["name"]))
        elif event["cat"] == arrows:
            assert event["ph"] not in ends[event["id"]], event
            ends[event["id"]][event["ph"]] = event
    for track in spans.values():
        _nests(track)
    for pair in ends.values():
        assert set(pair) == {"s", "f"}, pair
        assert pair["s"]["ts"] <= pair["f"]["ts"], pair
        assert pair["f"]["bp"] == "e"
        for end in pair.values():
            track = spans[end["pid"], end["tid"]]
            assert any(began <= end["ts"] <= ended for began, ended, _ in track), end
    return trace


def _nests(track: list[tuple[float, float, str]]) -> None:
    open_until: list[float] = []
    assert [began for began, _, _ in track] == sorted(began for began, _, _ in track)
    for began, ended, name in track:
        while open_until and open_until[-1] <= began + 1e-3:  # files have nanoseconds
            open_until.pop()
        assert not open_until or ended <= open_until[-1] + 1e-3, (began, ended, name, open_until)
        open_until.append(ended)


def spans_of(trace: dict[str, Any], pid: int, category: str) -> list[dict[str, Any]]:
    """The spans of a process, of one category, in order."""
    return [
        event
        for event in trace["traceEvents"]
        if event["ph"] == "X" and event["pid"] == pid and event["cat"] == category
    ]
