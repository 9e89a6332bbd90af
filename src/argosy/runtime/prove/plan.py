"""Which faults a job is to bear: a seeded choice among the moments that its undisturbed run had.
Pure.
"""

from __future__ import annotations

import itertools
import random
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

LAUNCHER, SERVER = "launcher", "server"
START, DATA, BACKWARD, UPDATE, ANYWHERE, END = (
    "start-up", "data", "backward", "update", "anywhere", "end",
)  # fmt: skip
CHECKPOINT, SERVERS = "checkpoint", "servers"
_PREEMPTIONS = 0.25  # of the faults


def phase_of(place: str) -> str:
    """The phase that a place belongs to; places of ``foundation/faultpoint.py`` have points."""
    kind, _, rest = place.partition(".")
    return {"checkpoint": CHECKPOINT, "ps": SERVERS}.get(kind, kind) if rest else place


@dataclass(frozen=True, kw_only=True)
class Fault:
    """``victim`` gets ``signal`` when ``watcher``, a process that trains, is in its ``step`` (of
    the undisturbed run, from 1 on) for the ``visit``-th time at ``place``. START knows no steps: it
    comes when the faults before it have. ``share`` says when in its step ANYWHERE is.
    """

    number: int
    victim: str
    watcher: str
    step: int
    place: str
    signal: int = signal.SIGKILL
    visit: int = 1
    share: float = 0.0

    @property
    def phase(self) -> str:
        return phase_of(self.place)

    @property
    def what(self) -> str:
        return f"{signal.Signals(self.signal).name} to {self.victim}"


@dataclass(frozen=True)
class Course:
    """A process in the undisturbed run: the places of each of its steps, and of its end."""

    steps: Sequence[Mapping[str, int]]
    end: Mapping[str, int] = field(default_factory=dict)

    def moments(self) -> list[tuple[int, str, int]]:
        """Steps, places, and how often it was there."""
        found = [
            (step, p, n) for step, places in enumerate(self.steps, 1) for p, n in places.items()
        ]
        found += [(len(self.steps) + 1, place, n) for place, n in self.end.items()]
        found += [(step, ANYWHERE, 1) for step in range(2, len(self.steps) + 1)]
        found += [(0, START, 1), (len(self.steps) + 1, END, 1)]
        return found


def draw(
    seed: int, count: int, courses: Mapping[str, Course], servers: Sequence[str]
) -> list[Fault]:
    """``count`` faults, in the order in which they are due. Phases and kinds of victims take turns,
    so that a few faults have many of both.
    """
    rng = random.Random(seed)
    by_phase: dict[str, list[tuple[str, int, str, int]]] = {}
    for label, course in sorted(courses.items()):
        for step, place, visits in course.moments():
            by_phase.setdefault(phase_of(place), []).append((label, step, place, visits))
    kinds = ["self", LAUNCHER, *([SERVER] if servers else [])]
    phases, victims = _in_turns(rng, sorted(by_phase)), _in_turns(rng, kinds)
    drawn = []
    for _ in range(count):
        watcher, step, place, visits = rng.choice(by_phase[next(phases)])
        kind, server = next(victims), rng.choice(servers or [""])
        found: dict[str, Any] = {
            "victim": {"self": watcher, SERVER: server}.get(kind, kind),
            "watcher": watcher,
            "step": step,
            "place": place,
            "signal": int(signal.SIGTERM if rng.random() < _PREEMPTIONS else signal.SIGKILL),
            "visit": rng.randint(1, visits),
            "share": round(rng.random(), 3),
        }
        if place == START and kind == SERVER:
            found["watcher"] = server
        drawn.append((step or rng.randint(1, len(courses[watcher].steps)), found))
    drawn.sort(key=lambda pair: (pair[0], pair[1]["place"] == END))
    return [Fault(number=n, **found) for n, (_, found) in enumerate(drawn, 1)]


def _in_turns(rng: random.Random, choices: Sequence[str]) -> Iterator[str]:
    for _ in itertools.count():
        yield from rng.sample(choices, len(choices))
