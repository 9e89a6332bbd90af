"""Stretches of a script that a profile shows by name, and profiles that were written to files."""

from __future__ import annotations

import contextlib
import enum
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from argosy.foundation.errors import NotSupported, UsageError
from argosy.foundation.process_state import Held
from argosy.foundation.trace import trace

__all__ = [
    "RecordEvent",
    "TraceFile",
    "TracerEventType",
    "in_profiler_mode",
    "load_profiler_result",
]

ANNOTATION = "annotation"  # the category of what a script has named, in traces
running: Held[bool] = Held("a profiler runs", False)


class TracerEventType(enum.Enum):
    """What an event of a profile is about."""

    Operator = 0
    Dataloader = 1
    ProfileStep = 2
    CudaRuntime = 3
    Kernel = 4
    Memcpy = 5
    Memset = 6
    UserDefined = 7
    OperatorInner = 8
    Forward = 9
    Backward = 10
    Optimization = 11
    Communication = 12
    PythonOp = 13
    PythonUserDefined = 14


class RecordEvent(contextlib.ContextDecorator):
    """A stretch of a script that profiles and traces show as ``name``, as a block or between
    ``begin`` and ``end``. It costs nothing while neither a Profiler nor ``argosy trace`` records.

    Example:
        >>> with paddle.profiler.RecordEvent("forward"):
        ...     y = paddle.ones([2]) * 2
    """

    def __init__(
        self, name: str, event_type: TracerEventType = TracerEventType.PythonUserDefined
    ) -> None:
        self.name = name
        self.event_type = event_type
        self.event: Any = None
        self._began_ns = 0

    def __enter__(self) -> RecordEvent:
        self.begin()
        return self

    def __exit__(self, *exception: object) -> None:
        self.end()

    def begin(self) -> None:
        """Begin the stretch."""
        if trace.recordings:
            self._began_ns = time.perf_counter_ns()
        if running.value:
            self.event = torch.autograd.profiler.record_function(self.name, self.event_type.name)
            self.event.__enter__()

    def end(self) -> None:
        """End it."""
        event, self.event = self.event, None
        if event is not None:
            event.__exit__(None, None, None)
        began_ns, self._began_ns = self._began_ns, 0
        if began_ns and trace.recordings:
            trace.add(self.name, ANNOTATION, began_ns)


class TraceFile:
    """A profile that was read from a file of ``Profiler.export``."""

    def __init__(self, trace: dict[str, Any]) -> None:
        self._trace = trace

    def get_data(self) -> list[dict[str, Any]]:
        """Its events, as they are in a Chrome trace; times in microseconds."""
        events: list[dict[str, Any]] = self._trace["traceEvents"]
        return events

    def get_extra_info(self) -> dict[str, Any]:
        """All else that is in the file."""
        return {key: value for key, value in self._trace.items() if key != "traceEvents"}

    def save(self, path: str, format: str = "json") -> None:
        """Write it to another file."""
        check_format("ProfilerResult.save", format)
        Path(path).write_text(json.dumps(self._trace))


def load_profiler_result(filename: str) -> TraceFile:
    """Read a file that ``Profiler.export`` has written.

    Differs from Paddle: profiles are Chrome traces, files of its own format are refused.
    """
    try:
        trace = json.loads(Path(filename).read_bytes())
    except ValueError as error:
        raise NotSupported(
            f"load_profiler_result: {filename} is not a Chrome trace (.json); profiles of Paddle's "
            "protobuf format are not supported"
        ) from error
    if not isinstance(trace, dict) or "traceEvents" not in trace:
        raise UsageError(f"load_profiler_result: {filename} is JSON, but not a Chrome trace")
    return TraceFile(trace)


def check_format(call: str, format: str) -> None:
    """Refuse all formats but that of Chrome."""
    if format == "pb":
        raise NotSupported(
            f"{call}: Paddle's protobuf format is not supported; write a Chrome trace "
            "(format='json', export_chrome_tracing)"
        )
    if format != "json":
        raise UsageError(f"{call}: format must be 'json', but is {format!r}")


def in_profiler_mode() -> bool:
    """Whether a Profiler runs."""
    return running.value


@contextlib.contextmanager
def _nvprof_range(
    iter_id: int, start: int, end: int, exit_after_prof: bool = True
) -> Iterator[None]:
    """Let NVIDIA's profiler, which must run the script, see iterations ``start`` to ``end - 1``,
    then end the script; Paddle's name. Without a GPU it only ends the script.
    """
    if start >= end:
        yield
        return
    has_gpu = torch.cuda.is_available()
    engine: Any = torch.cuda.profiler  # without types
    marks: Any = torch.autograd.profiler
    if has_gpu and iter_id == start:
        engine.start()
    is_inside = has_gpu and start <= iter_id < end
    try:
        with marks.emit_nvtx() if is_inside else contextlib.nullcontext():
            yield
    finally:
        if iter_id == end - 1:
            if has_gpu:
                engine.stop()
            if exit_after_prof:
                sys.exit()
