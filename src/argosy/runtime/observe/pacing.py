"""The pace of processes over the last seconds, from their rings."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from argosy.foundation.account import NAMES
from argosy.foundation.call_log import Call
from argosy.runtime.observe.ring import STEPS, RingReader
from argosy.runtime.observe.summary import Pace, pace

_WINDOW_S = 10.0


class Paces:
    """Of the processes called ``labels``, by their rings. ``keep`` is given all new steps."""

    def __init__(
        self,
        labels: Sequence[str],
        readers: Sequence[RingReader],
        keep: Callable[[str, npt.NDArray[Any]], None] | None = None,
    ) -> None:
        self._rings = dict(zip(labels, readers, strict=True))
        self._windows = {label: _Window() for label in labels}
        self._keep = keep

    def read(self) -> list[Pace]:
        """What is known now."""
        found = []
        for label, reader in self._rings.items():
            steps = reader.new_steps()
            if len(steps) and self._keep is not None:
                self._keep(label, steps)
            window = self._windows[label]
            window.add(steps)
            recent = window.recent(time.perf_counter_ns())
            now = pace(label, reader.rank, recent, reader.long_wait(), window.num_steps)
            found.append(replace(now, wall_s=window.wall_s, spent_s=dict(window.spent_s)))
        return found

    def pids(self) -> dict[str, int]:
        """The processes that have come."""
        found = {label: reader.pid for label, reader in self._rings.items()}
        return {label: pid for label, pid in found.items() if pid}

    def calls(self) -> dict[str, list[Call]]:
        """The last collectives of each process, the oldest first."""
        return {label: reader.calls() for label, reader in self._rings.items()}

    def plan(self) -> str:
        """How the job trains, in the words of the first process that has told."""
        return next((text for reader in self._rings.values() if (text := reader.plan())), "")


class _Window:
    """The last steps of a process, as they were read."""

    def __init__(self) -> None:
        self._parts: deque[npt.NDArray[Any]] = deque()
        self.num_steps = 0
        self.wall_s = 0.0
        self.spent_s = dict.fromkeys(NAMES, 0.0)

    def add(self, steps: npt.NDArray[Any]) -> None:
        if not len(steps):
            return
        self._parts.append(steps)
        if steps["number"][0] <= self.num_steps:  # it was started again
            self.wall_s, self.spent_s = 0.0, dict.fromkeys(NAMES, 0.0)
        self.num_steps = int(steps["number"][-1])
        self.wall_s += float(steps["wall"].sum()) / 1e9
        for name in NAMES:
            self.spent_s[name] += float(steps[name].sum()) / 1e9

    def recent(self, now_ns: int) -> npt.NDArray[Any]:
        """The steps that have ended within the last seconds."""
        since = now_ns - int(_WINDOW_S * 1e9)
        while self._parts and _ended(self._parts[0][-1]) < since:
            self._parts.popleft()
        if not self._parts:
            return np.empty(0, STEPS)
        steps = np.concatenate(list(self._parts))
        recent: npt.NDArray[Any] = steps[steps["began"] + steps["wall"] >= since]
        return recent


def _ended(step: Any) -> int:
    return int(step["began"] + step["wall"])
