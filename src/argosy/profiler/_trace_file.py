"""A profile as a file: the events of PyTorch's profiler and our own, on one clock, in the form that
``argosy trace`` writes too.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from argosy.foundation.trace import Recording, trace
from argosy.profiler.utils import ANNOTATION
from argosy.runtime.observe import chrome
from argosy.runtime.observe.tracing import this_process

# tracks of the engine stand beside those of the threads that they are: its clock is another one,
# and spans that nearly touch would seem to overlap
_ENGINE_TRACKS = 10_000_000
_TIMES = 20


def epoch_ns() -> int:
    """What the clock of the engine's events, that of the calendar, is ahead of ours."""
    found = []
    for _ in range(_TIMES):
        before_ns = time.perf_counter_ns()
        now_ns = time.time_ns()
        after_ns = time.perf_counter_ns()
        found.append((after_ns - before_ns, now_ns - (before_ns + after_ns) // 2))
    return min(found)[1]


def save(path: str, engine: Any, recording: Recording, ahead_ns: int) -> None:
    """Write the profile that ``engine`` has finished, with what was recorded meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "engine.json"
        engine.export_chrome_trace(str(file))
        theirs = json.loads(file.read_bytes())
    process = this_process(recording, trace.offset())
    moved_us = (int(theirs.get("baseTimeNanoseconds", 0)) - ahead_ns) / 1e3
    # what the script has named is among the engine's events
    ours = [event for event in recording.events if event.category != ANNOTATION]
    events = list(_engine_events(theirs["traceEvents"], process, moved_us))
    whole = chrome.of_process(process, ours, trace.name_by_thread, events)
    kept = {name: value for name, value in theirs.items() if name != "baseTimeNanoseconds"}
    chrome.write(path, {**kept, **whole})


def _engine_events(
    events: list[dict[str, Any]], process: chrome.Process, moved_us: float
) -> Iterator[dict[str, Any]]:
    """As they are, but for times and the numbers of processes and threads: its own process and
    devices; what else the engine numbers is about itself.
    """
    for event in events:
        pid, thread = event.get("pid"), event.get("tid")
        if not isinstance(pid, int) or not isinstance(thread, int):
            continue
        is_own = pid == os.getpid()
        if is_own and event["name"] in ("process_name", "process_labels", "process_sort_index"):
            continue
        number = process.pid if is_own else chrome.device(process, pid)
        moved = {**event, "pid": number, "tid": thread + _ENGINE_TRACKS if is_own else thread}
        if event["ph"] == "M":
            moved.pop("ts", None)
            if event["name"] == "process_name":
                moved["args"] = {"name": f"{process.label}, device {pid}"}
        elif "ts" in event:
            moved["ts"] = round(float(event["ts"]) + moved_us, 3)
        yield moved
