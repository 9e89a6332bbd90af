"""How long steps and their data take: what a Profiler counts without looking into the steps."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from argosy.foundation.errors import UsageError
from argosy.foundation.process_state import register
from argosy.io.read_clock import clock

__all__ = ["Benchmark", "benchmark"]

_NUM_SKIPPED = 10  # steps that warm up, which the summary leaves out


@dataclass
class _Series:
    """Costs of one kind, in seconds."""

    recent: list[float] = field(default_factory=list)  # since the last step_info
    later: list[float] = field(default_factory=list)  # after the first steps

    def add(self, cost_s: float, is_warm: bool) -> None:
        self.recent.append(cost_s)
        if is_warm:
            self.later.append(cost_s)

    def recent_average(self) -> float:
        return sum(self.recent) / len(self.recent) if self.recent else 0.0


class _Timing:
    """One timed stretch of a training, from ``begin`` to ``end``."""

    def __init__(self) -> None:
        self.reads = _Series()
        self.steps = _Series()
        self.recent_samples = 0
        self.speeds: list[float] = []
        self.later_samples = 0
        self.num_steps = 0
        self.unit = "samples"
        self.counts_samples = True
        self.dataset: Any = None
        self.is_paused = False
        self.started_s = time.perf_counter()

    def add_read(self, cost_s: float) -> None:
        self.reads.add(cost_s, self.num_steps >= _NUM_SKIPPED)

    def add_step(self, num_samples: int | None) -> None:
        now_s = time.perf_counter()
        cost_s, self.started_s = now_s - self.started_s, now_s
        self.counts_samples = num_samples is not None
        self.num_steps += 1
        is_warm = self.num_steps > _NUM_SKIPPED
        self.steps.add(cost_s, is_warm)
        done = 1 if num_samples is None else num_samples
        self.recent_samples += done
        if is_warm:
            self.later_samples += done
            self.speeds.append(done / cost_s)

    def info(self, unit: str) -> str:
        """The averages since the last call."""
        self.unit = unit
        parts = []
        if self.reads.recent:
            parts.append(f" reader_cost: {self.reads.recent_average():.5f} s")
        if self.steps.recent:
            parts.append(f" batch_cost: {self.steps.recent_average():.5f} s")
            speed = self.recent_samples / sum(self.steps.recent)
            parts.append(f" ips: {speed:.3f} {self.speed_unit()}")
        self.reads.recent, self.steps.recent, self.recent_samples = [], [], 0
        return "".join(parts)

    def speed_unit(self) -> str:
        return f"{self.unit}/s" if self.counts_samples else "steps/s"

    def summary(self) -> str | None:
        """The table of all steps after the first ones; None without such."""
        reads, steps = self.reads.later, self.steps.later
        if not steps:
            return None
        lines = ["Perf Summary".center(100, "=")]
        if reads:
            lines.append(f"Reader Ratio: {100 * sum(reads) / sum(steps):.3f}%")
        lines.append(f"Time Unit: s, IPS Unit: {self.speed_unit()}")
        lines.append(_row("", "avg", "max", "min"))
        if reads:
            lines.append(_figures("reader_cost", sum(reads) / len(reads), reads))
        lines.append(_figures("batch_cost", sum(steps) / len(steps), steps))
        lines.append(_figures("ips", self.later_samples / sum(steps), self.speeds))
        return "\n".join(lines)


def _figures(name: str, average: float, values: list[float]) -> str:
    return _row(name, f"{average:.5f}", f"{max(values):.5f}", f"{min(values):.5f}")


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.center(15) for cell in cells) + " |"


class Benchmark:
    """The timed stretches of this process; one may begin within another, as an evaluation does."""

    def __init__(self) -> None:
        self._timings: list[_Timing] = []

    def begin(self) -> None:
        """Begin a stretch."""
        self._timings.append(_Timing())
        clock.listener = self._hear

    def _hear(self, dataset: object, cost_s: float) -> None:
        """Count a batch. While batches of another dataset come, an evaluation for example, the
        stretch pauses.
        """
        timing = self._timings[-1]
        if timing.dataset is None:
            timing.dataset = dataset
        is_own = timing.dataset is dataset
        if is_own and timing.is_paused:
            timing.started_s = time.perf_counter() - cost_s
        timing.is_paused = not is_own
        if is_own:
            timing.add_read(cost_s)

    def step(self, num_samples: int | None = None) -> None:
        """End a step, of so many samples."""
        if self._timings and not self._timings[-1].is_paused:
            self._timings[-1].add_step(num_samples)

    def step_info(self, unit: str) -> str:
        """Averages since the last call."""
        if not self._timings:
            raise UsageError("Profiler.step_info: the profiler has not been started")
        return self._timings[-1].info(unit)

    def end(self) -> None:
        """End the stretch and print its figures."""
        if not self._timings:
            return
        said = self._timings.pop().summary()
        if not self._timings:
            clock.listener = None
        if said is not None:
            print(said)

    def clear(self) -> None:
        """Drop all stretches."""
        self._timings.clear()
        clock.listener = None


_benchmark = Benchmark()
register("benchmark", _benchmark, attributes=("_timings",), reset=_benchmark.clear)


def benchmark() -> Benchmark:
    """The timer of this process."""
    return _benchmark
