"""What is kept of the steps of a run for its page, however many there are: sums, series over time,
the slowest steps. Steps are added as they come; memory and the size of a page are bounded.

A series has equal spans of time. When a run outgrows them, each two become one, so every step
counts in every figure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from argosy.foundation.account import NAMES
from argosy.runtime.observe.ring import STEPS
from argosy.runtime.observe.summary import COMPUTE, PARTS

_SPANS = 1024  # of a series, at most
_FIRST_SPAN_S = 1 / 64
_STEPS_OF_POINT = 8  # in the mean, for a line that can be read
_SLOWEST = 12


class Digest:
    """Of one process; times are seconds since ``began_s`` of the monotonic clock."""

    def __init__(self, began_s: float) -> None:
        self._began_s = began_s
        self.num_steps = 0
        self._wall_s = 0.0
        self._spent_s = dict.fromkeys(NAMES, 0.0)
        self._span_s = _FIRST_SPAN_S
        # by span: number of steps, their seconds, how many told a loss, the sum of those
        self._sums = np.zeros((4, _SPANS))
        self._slowest = np.empty(0, STEPS)

    def add(self, rows: npt.NDArray[Any]) -> None:
        """Add steps, with the fields of ring.STEPS."""
        if not len(rows):
            return
        wall_s = rows["wall"] / 1e9
        ends_s = np.maximum((rows["began"] + rows["wall"]) / 1e9 - self._began_s, 0.0)
        told = ~np.isnan(rows["loss"])
        self._add(ends_s, np.ones(len(rows)), wall_s, told, np.where(told, rows["loss"], 0.0))
        self._count(len(rows), wall_s.sum(), {name: rows[name].sum() / 1e9 for name in NAMES})
        mine = np.empty(len(rows), STEPS)
        for name in STEPS.names or ():
            mine[name] = rows[name]
        every = np.concatenate([self._slowest, mine])
        self._slowest = every[np.argsort(-every["wall"], kind="stable")[:_SLOWEST]]

    def add_sums(
        self, at_s: float, count: int, wall_s: float, spent_s: Mapping[str, float], loss: float
    ) -> None:
        """Add so many steps that ended until ``at_s``, of which only sums are known."""
        is_told = not math.isnan(loss)
        values = (at_s, count, wall_s, is_told, loss if is_told else 0.0)
        self._add(*(np.array([value], float) for value in values))
        self._count(count, wall_s, spent_s)

    def _count(self, count: int, wall_s: float, spent_s: Mapping[str, float]) -> None:
        self.num_steps += count
        self._wall_s += float(wall_s)
        for name in NAMES:
            self._spent_s[name] += float(spent_s[name])

    def _add(self, ends_s: npt.NDArray[Any], *columns: npt.NDArray[Any]) -> None:
        while ends_s.max() >= self._span_s * _SPANS:
            self._span_s *= 2
            halved = self._sums[:, 0::2] + self._sums[:, 1::2]
            self._sums = np.hstack([halved, np.zeros_like(halved)])
        span = (ends_s / self._span_s).astype(np.int64)
        for sums, values in zip(self._sums, columns, strict=True):
            sums += np.bincount(span, values, minlength=_SPANS)

    def summary(self, most_points: int) -> dict[str, Any]:
        """How long each part took in all, and how pace and loss went over time."""
        compute_s = self._wall_s - sum(self._spent_s.values())
        return {
            "num_steps": self.num_steps,
            "wall_s": self._wall_s,
            "spent_s": {COMPUTE: compute_s, **self._spent_s},
            **self._series(most_points),
        }

    def _series(self, most_points: int) -> dict[str, Any]:
        """Steps per second and mean loss, without spans in which no step ended; null is a loss that
        nobody told.
        """
        used = np.flatnonzero(self._sums[0])
        if not len(used):
            return {"at_s": [], "steps_per_s": [], "loss": []}
        first, last = int(used[0]), int(used[-1]) + 1
        points = max(1, min(most_points, self.num_steps // _STEPS_OF_POINT, last - first))
        each = -(-(last - first) // points)
        starts = np.arange(first, last, each)
        count, wall_s, num_told, losses = np.add.reduceat(self._sums[:, :last], starts, axis=1)
        at_s = np.minimum(starts + each, last) * self._span_s
        with np.errstate(invalid="ignore", divide="ignore"):
            pace, loss = count / wall_s, losses / num_told
        there = np.flatnonzero((count > 0) & (wall_s > 0))
        return {
            "at_s": [round(float(at_s[i]), 4) for i in there],
            "steps_per_s": [round(float(pace[i]), 4) for i in there],
            "loss": [_number(loss[i]) for i in there],
        }

    def slowest(self) -> list[dict[str, Any]]:
        """The steps that took longest, and what took most of each."""
        return [self._described(row) for row in self._slowest]

    def _described(self, row: Any) -> dict[str, Any]:
        spent = {name: int(row[name]) for name in NAMES}
        spent[COMPUTE] = int(row["wall"]) - sum(spent.values())
        most = max(PARTS, key=lambda name: spent[name])
        who = f" for rank {row['latest']}" if most == "waiting" and row["latest"] >= 0 else ""
        return {
            "step": int(row["number"]),
            "at_s": round(float(row["began"]) / 1e9 - self._began_s, 4),
            "wall_s": float(row["wall"]) / 1e9,
            "mostly": f"{most}{who}",
            "share": spent[most] / max(1, int(row["wall"])),
        }


def slowest_of(digests: Mapping[str, Digest]) -> list[dict[str, Any]]:
    """The slowest steps of all processes, which are given by their labels."""
    every = [
        {"process": label, **step} for label, digest in digests.items() for step in digest.slowest()
    ]
    return sorted(every, key=lambda step: -step["wall_s"])[:_SLOWEST]


def thinned(count: int, most: int) -> list[int]:
    """Which of ``count`` samples to show: at most ``most``, evenly, the last one among them."""
    if count <= most:
        return list(range(count))
    return [round(i * (count - 1) / (most - 1)) for i in range(most)]


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
