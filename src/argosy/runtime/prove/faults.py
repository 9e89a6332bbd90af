"""The faults of a run: a folder in which the command lays down what is to happen, and the processes
of the job when it has.

A process fires by itself, at a step and a place that it comes by, so that a seed names a moment and
not a time. It counts its steps as the undisturbed run does: by the state that each of them leaves.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from argosy.foundation.files import replacing
from argosy.runtime.observe.jobs import started_at
from argosy.runtime.prove.plan import ANYWHERE, END, START, Fault
from argosy.runtime.prove.records import Record

_PLAN, _FIRED, _QUIET, _PIDS = "plan.json", "fired", "quiet", "pids"


@dataclass(frozen=True)
class Fired:
    """A fault that has come, and when."""

    number: int
    at_s: float


class FaultFolder:
    """What the command and the processes of a run tell each other."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def lay_down(self, faults: Sequence[Fault], steps: Mapping[str, Sequence[Record]]) -> None:
        """Say what is to happen, and how the undisturbed steps of each process are known."""
        known = {
            label: [(record.identity, record.told, record.at_s) for record in records]
            for label, records in steps.items()
        }
        with replacing(self.path / _PLAN) as file:
            plan = {"faults": [asdict(fault) for fault in faults], "steps": known}
            file.write(json.dumps(plan).encode())

    def plan(self) -> tuple[list[Fault], dict[str, list[tuple[str, int | None, float]]]]:
        """What is to happen, and of undisturbed steps the identities, the script's own numbers and
        the times; nothing where no plan is.
        """
        path = self.path / _PLAN
        if not path.is_file():
            return [], {}
        found = json.loads(path.read_bytes())
        return [Fault(**fault) for fault in found["faults"]], found["steps"]

    def fired(self) -> list[Fired]:
        """What has happened so far."""
        try:
            lines = (self.path / _FIRED).read_text().splitlines()
        except FileNotFoundError:
            return []
        return [Fired(int(number), float(at_s)) for number, at_s in map(str.split, lines)]

    def note_fired(self, number: int) -> None:
        fd = os.open(self.path / _FIRED, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            os.write(fd, f"{number} {time.monotonic():.6f}\n".encode())
        finally:
            os.close(fd)

    def be_quiet(self) -> None:
        """Let no more faults come."""
        (self.path / _QUIET).touch()

    @property
    def is_quiet(self) -> bool:
        return (self.path / _QUIET).exists()

    def note_process(self, label: str, pid: int) -> None:
        """Say which process is called so now."""
        folder = self.path / _PIDS
        folder.mkdir(exist_ok=True)
        with replacing(folder / label.replace(" ", "-")) as file:
            file.write(f"{pid} {started_at(pid)}".encode())

    def process(self, label: str) -> int | None:
        """The pid of who is called so, if it runs."""
        try:
            pid, started = (self.path / _PIDS / label.replace(" ", "-")).read_text().split()
        except FileNotFoundError:
            return None
        return int(pid) if str(started_at(int(pid))) == started else None

    def known(self, role: str = "") -> list[str]:
        """All that there have been; with ``role`` those of it, "server" for instance."""
        names = sorted(path.name.replace("-", " ") for path in (self.path / _PIDS).glob("*"))
        return [name for name in names if name.startswith(role)]

    def processes(self) -> dict[str, int]:
        """Those that run, with their pids."""
        found = {label: self.process(label) for label in self.known()}
        return {label: pid for label, pid in found.items() if pid is not None}


class Trigger:
    """A process's end: it fires the faults whose watcher it is."""

    def __init__(self, folder: FaultFolder, label: str) -> None:
        self._folder = folder
        self._label = label
        self._faults, steps = folder.plan()
        self._own = [fault for fault in self._faults if fault.watcher == label]
        self._undisturbed = steps.get(label, [])
        self._candidates: set[int] | None = None  # numbers of undisturbed steps that the last was
        self._position = 0  # the last step; 0 while it is not known
        self._visits: Counter[str] = Counter()  # of places, in the step under way
        self._awaited: set[int] = set()  # faults that a thread will fire
        folder.note_process(label, os.getpid())

    def reach(self, place: str) -> None:
        """This process is at ``place``."""
        self._visits[place] += 1
        for fault in self._own:
            if fault.place == place and self._is_due(fault):
                self._fire(fault)

    def _is_due(self, fault: Fault) -> bool:
        if fault.place == START:
            before = {each.number for each in self._faults[: self._faults.index(fault)]}
            return self._is_left(fault) and before <= self._fired()
        if fault.place == END:
            is_there = self._position in (0, len(self._undisturbed))
        elif not self._position:
            is_there = fault.step == 1 and self._candidates is None
        else:
            is_there = self._position + 1 >= fault.step
        is_here = self._visits[fault.place] >= fault.visit or self._position + 1 > fault.step
        return is_there and is_here and self._is_left(fault)

    def _is_left(self, fault: Fault) -> bool:
        return fault.number not in self._fired() and not self._folder.is_quiet

    def _fired(self) -> set[int]:
        return {fired.number for fired in self._folder.fired()}

    def _fire(self, fault: Fault) -> None:
        pid = os.getpid() if fault.victim == self._label else self._folder.process(fault.victim)
        if pid is not None:  # else it has just ended, or is not there yet
            self._folder.note_fired(fault.number)
            os.kill(pid, fault.signal)

    def end_step(self, record: Record) -> None:
        """A step is done and written down."""
        steps = list(enumerate(self._undisturbed, 1))
        here = {n for n, (known, _, _) in steps if known == record.identity}
        if self._candidates:
            here &= {n + 1 for n in self._candidates}
        self._candidates = here
        # a job that does not go on as it should is still to be disturbed
        told = [n for n, (_, told, _) in steps if told is not None and told == record.told]
        self._position = max(here or told or [self._position + 1])
        self._visits.clear()
        for fault in self._own:
            is_due = fault.place == ANYWHERE and fault.step <= self._position + 1
            if is_due and fault.number not in self._awaited and self._is_left(fault):
                self._awaited.add(fault.number)
                self._fire_later(fault)

    def _fire_later(self, fault: Fault) -> None:
        began_s, ended_s = (self._undisturbed[fault.step - n][2] for n in (2, 1))

        def wait() -> None:
            time.sleep(fault.share * (ended_s - began_s))
            if self._is_left(fault):
                self._fire(fault)

        threading.Thread(target=wait, name="argosy-fault", daemon=True).start()
