"""The tables of a profile."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from argosy.foundation.errors import UsageError
from argosy.foundation.trace import trace
from argosy.profiler._trace_file import epoch_ns, save

__all__ = ["Measured", "SortedKeys", "SummaryView", "summary_text"]

_UNITS_PER_US = {"s": 1e-6, "ms": 1e-3, "us": 1.0, "ns": 1e3}
_STEP = "ProfileStep#"
_BACKWARD = "autograd::engine::evaluate_function"
_COLLECTIVES = ("nccl", "gloo", "c10d", "all_reduce", "allreduce", "broadcast", "all_gather")
_COPIES = ("aten::copy_", "aten::_to_copy", "aten::clone", "Memcpy", "Memset")


class SortedKeys(enum.Enum):
    """What the rows of a table are sorted by."""

    CPUTotal = 0
    CPUAvg = 1
    CPUMax = 2
    CPUMin = 3
    GPUTotal = 4
    GPUAvg = 5
    GPUMax = 6
    GPUMin = 7


class SummaryView(enum.Enum):
    """A table of a profile."""

    DeviceView = 0
    OverView = 1
    ModelView = 2
    DistributedView = 3
    KernelView = 4
    OperatorView = 5
    MemoryView = 6
    MemoryManipulationView = 7
    UDFView = 8


class Measured:
    """A profile of the engine, with what this process records itself, from its making to
    ``stop``.
    """

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._ahead_ns = epoch_ns()
        self._recording = trace.start()
        self.wall_s = -time.perf_counter()
        self.cpu_s = -time.process_time()
        engine.start()

    def stop(self) -> None:
        """End the profile."""
        self._engine.stop()
        trace.stop(self._recording)
        self.wall_s += time.perf_counter()
        self.cpu_s += time.process_time()

    def save(self, path: str, format: str = "json") -> None:
        """Write it for Perfetto and chrome://tracing, as ``argosy trace`` does."""
        save(path, self._engine, self._recording, self._ahead_ns)

    def get_data(self) -> list[Any]:
        """The events, as PyTorch has them."""
        return list(self._engine.events())

    def get_extra_info(self) -> dict[str, float]:
        """How long it ran, and how much of that the CPU worked for this process."""
        return {"wall_s": self.wall_s, "cpu_s": self.cpu_s}


@dataclass(frozen=True, slots=True)
class _Row:
    """The events of one name; times in microseconds."""

    name: str
    cpu: list[float]
    gpu: list[float]
    memory: int
    flops: int


_FOLDS: dict[str, Callable[[list[float]], float]] = {
    "Total": sum,
    "Avg": lambda times: sum(times) / len(times),
    "Max": max,
    "Min": min,
}


def _rows(events: Iterable[Any], key: SortedKeys) -> list[_Row]:
    named: dict[str, list[Any]] = {}
    for event in events:
        named.setdefault(event.name, []).append(event)
    rows = [
        _Row(
            name,
            [event.cpu_time_total for event in those],
            [event.device_time_total for event in those],
            sum(event.cpu_memory_usage for event in those),
            sum(event.flops or 0 for event in those),
        )
        for name, those in named.items()
    ]
    device, fold = key.name[:3], _FOLDS[key.name[3:]]
    return sorted(
        rows, key=lambda row: fold(row.cpu if device == "CPU" else row.gpu), reverse=fold is not min
    )


def summary_text(
    measured: Measured,
    sorted_by: SortedKeys,
    op_detail: bool,
    thread_sep: bool,
    time_unit: str,
    views: Sequence[SummaryView] | None,
) -> str:
    """The tables that are asked for, of which those without rows are left out."""
    if time_unit not in _UNITS_PER_US:
        raise UsageError(
            f"summary: time_unit must be one of {list(_UNITS_PER_US)}, but is {time_unit!r}"
        )
    scale = _UNITS_PER_US[time_unit]
    events = measured.get_data()
    ops = [event for event in events if event.name.startswith("aten::")]
    shown_ops = ops if op_detail else [event for event in ops if not _is_in_op(event)]
    tables: dict[SummaryView, Callable[[], list[str]]] = {
        SummaryView.DeviceView: lambda: _device_table(measured),
        SummaryView.OverView: lambda: _kind_table("Overview Summary", _kinds(events), scale),
        SummaryView.ModelView: lambda: _kind_table("Model Summary", _phases(events), scale),
        SummaryView.DistributedView: lambda: _time_table(
            "Distribution Summary", _rows(filter(_is_collective, events), sorted_by), scale
        ),
        SummaryView.KernelView: lambda: _time_table(
            "Kernel Summary", _rows(filter(_is_kernel, events), sorted_by), scale
        ),
        SummaryView.OperatorView: lambda: _op_tables(shown_ops, sorted_by, scale, thread_sep),
        SummaryView.MemoryView: lambda: _memory_table(_rows(ops, sorted_by)),
        SummaryView.MemoryManipulationView: lambda: _time_table(
            "Memory Manipulation Summary",
            _rows((e for e in events if e.name.startswith(_COPIES)), sorted_by),
            scale,
        ),
        SummaryView.UDFView: lambda: _time_table(
            "UserDefined Summary", _rows(filter(_is_named_by_user, events), sorted_by), scale
        ),
    }
    chosen = tables if views is None else views
    return "\n".join(
        ["", f"Time unit: {time_unit}", *(line for v in chosen for line in tables[v]())]
    )


def _is_kernel(event: Any) -> bool:
    return bool(event.device_type.name != "CPU")


def _is_collective(event: Any) -> bool:
    return bool(event.name.removeprefix("_").startswith(_COLLECTIVES))


def _is_named_by_user(event: Any) -> bool:
    return bool(event.is_user_annotation) and not event.name.startswith(_STEP)


def _is_in_op(event: Any) -> bool:
    parent = event.cpu_parent
    return parent is not None and parent.name.startswith("aten::")


def _outermost(events: list[Any], belongs: Callable[[Any], bool]) -> list[Any]:
    """The events of a kind that are not within another of it."""

    def is_inner(event: Any) -> bool:
        parent = event.cpu_parent
        while parent is not None:
            if belongs(parent):
                return True
            parent = parent.cpu_parent
        return False

    return [event for event in events if belongs(event) and not is_inner(event)]


def _kinds(events: list[Any]) -> dict[str, list[Any]]:
    return {
        "ProfileStep": [e for e in events if e.name.startswith(_STEP)],
        "Operator": _outermost(events, lambda e: e.name.startswith("aten::")),
        "Backward": _outermost(events, lambda e: e.name.startswith(_BACKWARD)),
        "Communication": list(filter(_is_collective, events)),
        "Kernel": list(filter(_is_kernel, events)),
        "UserDefined": list(filter(_is_named_by_user, events)),
    }


def _phases(events: list[Any]) -> dict[str, list[Any]]:
    kinds = _kinds(events)
    return {name: kinds[name] for name in ("ProfileStep", "Backward", "Communication")}


def _device_table(measured: Measured) -> list[str]:
    share = 100 * measured.cpu_s / measured.wall_s if measured.wall_s else 0.0
    cells = ["Device", "Utilization (%)"]
    return [*_head("Device Summary", cells), _line(["CPU(Process)", f"{share:.2f}"])]


def _kind_table(title: str, kinds: dict[str, list[Any]], scale: float) -> list[str]:
    shown = {name: those for name, those in kinds.items() if those}
    if not shown:
        return []
    times = {
        name: scale * sum(e.device_time_total if _is_kernel(e) else e.cpu_time_total for e in those)
        for name, those in shown.items()
    }
    whole = times.get("ProfileStep") or max(times.values()) or 1.0
    return [
        *_head(title, ["Event Type", "Calls", "Total Time", "Ratio (%)"]),
        *(
            _line([name, str(len(those)), f"{times[name]:.2f}", f"{100 * times[name] / whole:.2f}"])
            for name, those in shown.items()
        ),
    ]


def _op_tables(ops: list[Any], key: SortedKeys, scale: float, is_split: bool) -> list[str]:
    if not is_split:
        return _time_table("Operator Summary", _rows(ops, key), scale)
    lines = []
    for thread in sorted({event.thread for event in ops}):
        own = [event for event in ops if event.thread == thread]
        lines += _time_table(f"Operator Summary, thread {thread}", _rows(own, key), scale)
    return lines


def _time_table(title: str, rows: list[_Row], scale: float) -> list[str]:
    if not rows:
        return []
    has_gpu = any(sum(row.gpu) for row in rows)
    has_flops = any(row.flops for row in rows)
    whole = sum(sum(row.cpu) for row in rows) or 1.0
    cells = ["Name", "Calls", "CPU Total / Avg / Max / Min / Ratio(%)"]
    cells += ["GPU Total / Avg / Max / Min"] if has_gpu else []
    cells += ["FLOPs"] if has_flops else []
    lines = _head(title, cells)
    for row in rows:
        shown = [row.name, str(len(row.cpu)), _times(row.cpu, scale)]
        shown[2] += f" / {100 * sum(row.cpu) / whole:.2f}"
        shown += [_times(row.gpu, scale)] if has_gpu else []
        shown += [str(row.flops)] if has_flops else []
        lines.append(_line(shown))
    return lines


def _times(times: list[float], scale: float) -> str:
    return " / ".join(f"{scale * fold(times):.2f}" for fold in _FOLDS.values())


def _memory_table(rows: list[_Row]) -> list[str]:
    shown = [row for row in rows if row.memory]
    if not shown:
        return []
    return [
        *_head("Memory Summary", ["Name", "Calls", "Allocated less freed (bytes)"]),
        *(_line([row.name, str(len(row.cpu)), str(row.memory)]) for row in shown),
    ]


def _head(title: str, cells: list[str]) -> list[str]:
    return ["", f" {title} ".center(100, "-"), _line(cells), "-" * 100]


def _line(cells: list[str]) -> str:
    first, *others = cells
    widths = [12, *[44] * len(others)]
    return f"{first[:43]:<44}" + "".join(f"{c:<{w}}" for c, w in zip(others, widths, strict=False))
