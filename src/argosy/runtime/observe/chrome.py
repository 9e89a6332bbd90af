"""Traces as files for Perfetto and chrome://tracing: one form for a process, for a job, and for
``paddle.profiler``. Pure, but for reading and writing.

::

    traceEvents   ph X: a span; M: names of processes and threads; s, f: an arrow between spans.
                  pid is the rank, or SERVERS and the number of a server; tid the thread; ts and dur
                  are microseconds of the monotonic clock
    otherData     argosy: 1; processes: who took part, with what each has lost, by its clock;
                  clocks: how that of each host lies to that of the first; missing: who did not

A file of several processes is made of their files, by ``join``. Arrows lead from the publication of
a bucket of gradients to its reduction, on every rank: they are drawn anew when files are joined.
"""

from __future__ import annotations

import json
import math
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from argosy.foundation.errors import CheckpointError
from argosy.foundation.files import replacing
from argosy.foundation.trace import KEY, PUBLISHED, REDUCED, STEPS, Event

Trace = dict[str, Any]

SERVERS = 1_000_000
DEVICES, MOST_DEVICES = 2_000_000, 1000  # the devices of each process have numbers of their own
VERSION = 1
_MOST_BYTES = 1 << 29
_ARROW = "bucket"
_INSIDE_US = 0.001  # an arrow that leads to the end of a span would lead past it
_ALL_ARROWS = 8  # up to so many ranks from each to each; beyond, from the last that published


@dataclass(frozen=True, kw_only=True)
class Process:
    """Who has recorded. ``clock`` names the clock of its times, which processes of a host share;
    ``offset_us`` is what it is behind that of the job, unknown if None, within ``error_us``;
    ``moved_us`` what of that is in the times of the events already.
    """

    label: str
    os_pid: int
    host: str
    clock: str
    num_lost: int = 0
    offset_us: float | None = None
    error_us: float = 0.0
    moved_us: float = 0.0

    @property
    def pid(self) -> int:
        role, _, number = self.label.partition(" ")
        return int(number or 0) + (SERVERS if role == "server" else 0)


def of_process(
    process: Process,
    events: Iterable[Event],
    name_by_thread: Mapping[int, str],
    others: Iterable[dict[str, Any]] = (),
) -> Trace:
    """The trace of one process; ``others`` are events of a profiler, in the form of the file."""
    spans = [_span(process.pid, event) for event in events]
    names = [
        _name(process.pid, "process_name", {"name": process.label}),
        _name(process.pid, "process_sort_index", {"sort_index": process.pid}),
        _name(process.pid, "thread_name", {"name": "steps"}, STEPS),
        _name(process.pid, "thread_sort_index", {"sort_index": -1}, STEPS),
    ]
    tracks = {span["tid"] for span in spans}
    names += [
        _name(process.pid, "thread_name", {"name": name}, thread)
        for thread, name in name_by_thread.items()
        if thread in tracks
    ]
    return _whole([*names, *spans, *others], [asdict(process)], ())


def join(traces: Sequence[Trace], missing: Sequence[str] = ()) -> Trace:
    """One trace of several; ``missing`` are labels of processes that have left none."""
    events: list[dict[str, Any]] = []
    processes: list[dict[str, Any]] = []
    for trace in traces:
        events += trace["traceEvents"]
        processes += trace["otherData"]["processes"]
    return _whole(*_on_one_clock(events, processes), missing)


def _whole(
    events: Iterable[dict[str, Any]], processes: list[dict[str, Any]], missing: Sequence[str]
) -> Trace:
    plain = [event for event in events if event.get("cat") != _ARROW]
    # a span comes before what it encloses, and names before spans
    plain.sort(key=lambda event: (event.get("ts", -1.0), -event.get("dur", 0.0)))
    return {
        "displayTimeUnit": "ms",
        "otherData": {
            "argosy": VERSION,
            "processes": processes,
            "clocks": _clocks(processes),
            "missing": list(missing),
        },
        "traceEvents": [*plain, *_arrows(plain)],
    }


def _span(pid: int, event: Event) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": event.name,
        "cat": event.category,
        "pid": pid,
        "tid": event.track,
        "ts": round(event.began_ns / 1e3, 3),
        "dur": round((event.ended_ns - event.began_ns) / 1e3, 3),
        **({"args": {k: _plain(v) for k, v in event.about.items()}} if event.about else {}),
    }


def _plain(value: Any) -> Any:
    """What JSON can say: a loss may be infinite."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _name(pid: int, kind: str, about: dict[str, Any], thread: int = 0) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": pid, "tid": thread, "args": about}


# -- arrows
# --------------------------------------------------------------------------------------------------


def _arrows(events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """From the publications of each bucket to its reductions."""
    ends: dict[str, dict[str, list[dict[str, Any]]]] = {
        PUBLISHED: defaultdict(list),
        REDUCED: defaultdict(list),
    }
    for event in events:
        if event.get("cat") in ends and KEY in event.get("args", {}):
            ends[event["cat"]][event["args"][KEY]].append(event)
    number = 0
    for key, published in ends[PUBLISHED].items():
        if len(published) > _ALL_ARROWS:
            published = [max(published, key=lambda event: event["ts"])]
        for source in published:
            for target in ends[REDUCED].get(key, ()):
                number += 1
                # before anybody can have reduced it, after all have published it
                ended = round(target["ts"] + max(0.0, target["dur"] - _INSIDE_US), 3)
                yield _arrow_end("s", number, source, source["ts"])
                yield {**_arrow_end("f", number, target, ended), "bp": "e"}


def _arrow_end(phase: str, number: int, span: dict[str, Any], at_us: float) -> dict[str, Any]:
    where = {"pid": span["pid"], "tid": span["tid"], "ts": at_us}
    return {"ph": phase, "id": number, "name": "gradients", "cat": _ARROW, **where}


# -- clocks
# --------------------------------------------------------------------------------------------------


def _clocks(processes: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """How the clock of each host lies to that of the job. One alone is the job's; of several, one
    that nobody has compared is not aligned.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for process in processes:
        if process["clock"] not in found or process["offset_us"] is not None:
            found[process["clock"]] = process
    return [
        {
            "clock": clock,
            "host": process["host"],
            "is_aligned": len(found) == 1 or process["offset_us"] is not None,
            "offset_us": process["offset_us"] or 0.0,
            "error_us": process["error_us"],
        }
        for clock, process in found.items()
    ]


def _on_one_clock(
    events: Sequence[dict[str, Any]], processes: Sequence[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Events and processes of several hosts, moved by what is known of their clocks."""
    offsets = {each["clock"]: each["offset_us"] for each in _clocks(processes)}
    if len(offsets) == 1:
        return list(events), list(processes)
    more = {
        Process(**process).pid: offsets[process["clock"]] - process["moved_us"]
        for process in processes
    }
    moved = [{**process, "moved_us": offsets[process["clock"]]} for process in processes]
    return [_moved(event, more.get(_owner(event["pid"]), 0.0)) for event in events], moved


def device(process: Process, number: int) -> int:
    """The pid of a device of a process."""
    return DEVICES + process.pid * MOST_DEVICES + number


def _owner(pid: int) -> int:
    return pid if pid < DEVICES else (pid - DEVICES) // MOST_DEVICES


def _moved(event: dict[str, Any], by_us: float) -> dict[str, Any]:
    return {**event, "ts": round(event["ts"] + by_us, 3)} if by_us and "ts" in event else event


# -- files
# --------------------------------------------------------------------------------------------------


def write(path: str | os.PathLike[str], trace: Trace) -> None:
    """Write a trace, an event in a line."""
    head = {name: value for name, value in trace.items() if name != "traceEvents"}
    with replacing(path) as file:
        file.write(json.dumps(head, allow_nan=False)[:-1].encode() + b', "traceEvents": [\n')
        for number, event in enumerate(trace["traceEvents"]):
            file.write((",\n" if number else "").encode() + json.dumps(event).encode())
        file.write(b"\n]}\n")


def read(path: Path) -> Trace:
    """A trace that ``write`` has written; CheckpointError if it is not whole."""
    if path.stat().st_size > _MOST_BYTES:
        raise CheckpointError(f"{path} is larger than {_MOST_BYTES >> 20} MB and is not read")
    try:
        trace = json.loads(path.read_bytes())
        for process in trace["otherData"]["processes"]:
            Process(**process)
        if not all(isinstance(event["pid"], int) for event in trace["traceEvents"]):
            raise TypeError
        return trace
    except (ValueError, KeyError, TypeError, RecursionError):
        raise CheckpointError(f"{path} is not a trace of argosy, or is damaged") from None
