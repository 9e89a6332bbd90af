"""``fluid.profiler``: where the time of a stretch of a script goes, measured by PyTorch's profiler
and printed as a table.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from argosy.foundation.errors import UsageError
from argosy.foundation.process_state import register
from argosy.profiler.profiler_statistic import Measured

_STATES = ("CPU", "GPU", "All")
_OPTIONS = ("Default", "OpDetail", "AllOpDetail")


@dataclass(frozen=True, slots=True)
class _Event:
    """The calls of one op; times in milliseconds."""

    name: str
    calls: int
    total: float
    least: float
    most: float

    @property
    def average(self) -> float:
        return self.total / self.calls


_ORDER: dict[str, Any] = {
    "default": None,
    "calls": lambda e: e.calls,
    "total": lambda e: e.total,
    "max": lambda e: e.most,
    "min": lambda e: e.least,
    "ave": lambda e: e.average,
}


class _Session:
    """The one profile that can run at a time."""

    def __init__(self) -> None:
        self._measured: Measured | None = None
        self._state = ""

    def start(self, state: str) -> None:
        if self._measured is not None:
            return  # as in 1.x, the profile that runs goes on
        kinds = [torch.profiler.ProfilerActivity.CPU]
        if state != "CPU" and torch.cuda.is_available():
            kinds.append(torch.profiler.ProfilerActivity.CUDA)
        self._measured = Measured(torch.profiler.profile(activities=kinds))
        self._state = state

    def stop(self) -> tuple[str, Measured] | None:
        """The state and the stopped profile; None if none runs."""
        measured, self._measured = self._measured, None
        if measured is None:
            return None
        measured.stop()
        return self._state, measured

    def reset(self) -> None:
        if self._measured is not None:
            self.stop()
            self.start(self._state)


_session = _Session()
register("profiler", _session, attributes=("_measured",), reset=_session.stop)


def start_profiler(state: str, tracer_option: str = "Default") -> None:
    """Begin to measure; ``state`` is 'CPU', 'GPU' or 'All'. The detail of the table does not depend
    on ``tracer_option``.
    """
    if state not in _STATES:
        raise UsageError(
            f"start_profiler: The state must be 'CPU' or 'GPU' or 'All', but received {state!r}"
        )
    if tracer_option not in _OPTIONS:
        raise UsageError(
            f"start_profiler: tracer option must be one of {list(_OPTIONS)}, but received "
            f"{tracer_option!r}"
        )
    _session.start(state)


def stop_profiler(sorted_key: str | None = None, profile_path: str = "/tmp/profile") -> None:
    """End the measurement, print a table of the ops and write a trace for Perfetto and
    chrome://tracing to ``profile_path``.

    ``sorted_key``: None, 'calls', 'total', 'max', 'min' or 'ave'.
    """
    key = "default" if sorted_key is None else sorted_key
    if key not in _ORDER:
        raise UsageError(
            "stop_profiler: The sorted_key must be None or in 'calls', 'total', 'max', 'min' "
            f"and 'ave', but received {sorted_key!r}"
        )
    stopped = _session.stop()
    if stopped is None:
        return
    state, measured = stopped
    if profile_path:
        measured.save(profile_path)
    print(_report(state, key, _events(measured)))


def reset_profiler() -> None:
    """Forget what was measured so far."""
    _session.reset()


@contextlib.contextmanager
def profiler(
    state: str,
    sorted_key: str | None = None,
    profile_path: str = "/tmp/profile",
    tracer_option: str = "Default",
) -> Iterator[None]:
    """Measure a block: ``start_profiler`` before, ``stop_profiler`` after it."""
    start_profiler(state, tracer_option)
    try:
        yield
    finally:
        stop_profiler(sorted_key, profile_path)


@contextlib.contextmanager
def cuda_profiler(
    output_file: str, output_mode: str | None = None, config: Any = None
) -> Iterator[None]:
    """Mark a block for NVIDIA's profiler, which must run the script; nothing where PyTorch sees no
    GPU.
    """
    if output_mode not in (None, "key-value", "csv", "kvp"):
        raise UsageError(
            f"cuda_profiler: output_mode must be 'kvp' or 'csv', but received {output_mode!r}"
        )
    if not torch.cuda.is_available():
        yield
        return
    engine: Any = torch.cuda.profiler  # without types
    engine.start()
    try:
        yield
    finally:
        engine.stop()


def _events(measured: Measured) -> list[_Event]:
    """Calls by name, in the order in which the names first came."""
    times: dict[str, list[float]] = {}
    for event in measured.get_data():
        times.setdefault(event.name, []).append(event.cpu_time_total / 1000.0)
    return [
        _Event(name, len(each), sum(each), min(each), max(each)) for name, each in times.items()
    ]


def _report(state: str, key: str, events: list[_Event]) -> str:
    order = _ORDER[key]
    if order is not None:
        events = sorted(events, key=order, reverse=key != "min")
    total = sum(e.total for e in events)
    lines = [
        "------------------------->     Profiling Report     <-------------------------",
        "",
        f"Place: {state}",
        "Time unit: ms",
        "Sorted by the order of first calls" if order is None else f"Sorted by {key}",
        "",
        f"{'Event':<48}{'Calls':>8}{'Total':>12}{'Min.':>12}{'Max.':>12}{'Ave.':>12}{'Ratio.':>10}",
    ]
    for e in events:
        ratio = e.total / total if total else 0.0
        lines.append(
            f"{e.name[:47]:<48}{e.calls:>8}{e.total:>12.4f}{e.least:>12.4f}{e.most:>12.4f}"
            f"{e.average:>12.4f}{ratio:>10.4f}"
        )
    return "\n".join(lines)
