"""The steps of a run for TensorBoard: loss, pace, and where the time of each process goes.

Each process has a folder, so that TensorBoard draws them as runs to compare. Losses are kept step
by step, pace and shares each time that steps are read, some twice a second.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from argosy.foundation.account import UNTOLD
from argosy.runtime.observe.event_file import EventFile
from argosy.runtime.observe.run_folder import RunFolder
from argosy.runtime.observe.summary import pace

NAME = "tensorboard"
_MOST_LOSSES = 100  # of one reading: tiny steps come by the thousand


class RunWithScalars(RunFolder):
    """A run whose steps are kept for TensorBoard too."""

    def __init__(self, path: Path, facts: Mapping[str, Any]) -> None:
        super().__init__(path, facts)
        self._scalars = Scalars(path / NAME)

    def add_steps(self, label: str, steps: npt.NDArray[Any]) -> None:
        super().add_steps(label, steps)
        self._scalars.add_steps(label, steps)

    def close(self) -> None:
        self._scalars.close()
        super().close()


class Scalars:
    """Files below ``folder``, a folder for each process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file_by_label: dict[str, EventFile] = {}

    def add_steps(self, label: str, steps: npt.NDArray[Any]) -> None:
        """Keep new steps, rows of ring.STEPS, of a process."""
        if label not in self._file_by_label:
            self._file_by_label[label] = EventFile(self._folder / label.replace(" ", "-"))
        file = self._file_by_label[label]
        steps = steps[steps["wall"] > 0]
        if not len(steps):
            return
        numbers = np.where(steps["told"] == UNTOLD, steps["number"], steps["told"]).tolist()
        # what the clock of steps reads at time 0
        ahead_s = time.time() - time.perf_counter()
        ends = ((steps["began"] + steps["wall"]) / 1e9 + ahead_s).tolist()
        losses = steps["loss"].tolist()
        told = [i for i, loss in enumerate(losses) if not math.isnan(loss)]
        for i in told[:: -(-len(told) // _MOST_LOSSES) or 1]:
            file.add(ends[i], numbers[i], {"loss": losses[i]})
        seen = pace(label, 0, steps)
        shares = {f"share/{name}": share for name, share in seen.shares.items()}
        file.add(ends[-1], numbers[-1], {"steps_per_s": seen.steps_per_s, **shares})
        file.flush()

    def close(self) -> None:
        for file in self._file_by_label.values():
            file.close()
        self._file_by_label.clear()
