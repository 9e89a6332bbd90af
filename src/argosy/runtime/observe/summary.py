"""What the last steps of a job say: how fast each process is, where its time goes, who slows the
others. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from argosy.foundation.account import NAMES, NOBODY, UNTOLD
from argosy.runtime.observe.ring import LongWait

COMPUTE = "compute"
PARTS = (COMPUTE, *NAMES)
_WORDS = {
    COMPUTE: "computing",
    "communication": "communication",
    "data": "waiting for data",
    "pull": "pulling from servers",
    "push": "pushing to servers",
    "checkpoint": "saving checkpoints",
}
_WORTH_TELLING = 0.1  # of the time
_LONG_WAIT_S = 2.0


@dataclass(frozen=True, kw_only=True)
class Pace:
    """One process in a window of time. ``shares`` of PARTS sum to 1; ``awaited`` is the share that
    went into waiting for each rank. ``wall_s`` and ``spent_s`` are of all steps since it began.
    """

    label: str
    rank: int
    num_steps: int = 0  # since it began
    told: int = UNTOLD  # the last step in the script's own count
    steps_per_s: float = 0.0
    loss: float = math.nan
    shares: Mapping[str, float] = field(default_factory=dict)
    awaited: Mapping[int, float] = field(default_factory=dict)
    wait: LongWait | None = None
    wall_s: float = 0.0
    spent_s: Mapping[str, float] = field(default_factory=lambda: dict.fromkeys(NAMES, 0.0))


def pace(
    label: str, rank: int, steps: npt.NDArray[Any], wait: LongWait | None = None, num_steps: int = 0
) -> Pace:
    """Sum up ``steps``, rows of ring.STEPS of one process."""
    if not len(steps):
        return Pace(label=label, rank=rank, num_steps=num_steps, wait=wait)
    wall = float(steps["wall"].sum())
    spent = {name: float(steps[name].sum()) / wall for name in NAMES}
    shares = {COMPUTE: max(0.0, 1.0 - sum(spent.values())), **spent}
    awaited = {
        who: float(steps["waiting"][steps["latest"] == who].sum()) / wall
        for who in np.unique(steps["latest"]).tolist()
        if who != NOBODY
    }
    losses = steps["loss"][~np.isnan(steps["loss"])]
    return Pace(
        label=label,
        rank=rank,
        num_steps=int(steps["number"][-1]),
        steps_per_s=len(steps) / wall * 1e9,
        told=int(steps["told"][-1]),
        loss=float(losses[-1]) if len(losses) else math.nan,
        shares=shares,
        awaited=awaited,
        wait=wait,
    )


def limiter(paces: Sequence[Pace], now_ns: int) -> str:
    """What slows the job, in a sentence; empty while there is nothing to tell."""
    stuck = _stuck(paces, now_ns)
    if stuck:
        return stuck
    moving = [p for p in paces if p.shares]
    if not moving:
        return ""
    return _late_rank(moving) or _largest_part(moving)


def efficiency(paces: Sequence[Pace]) -> float:
    """Which share of the time of all processes is computation: the distance to a step that waits
    for nothing. Not a number while nobody steps.
    """
    moving = [p.shares[COMPUTE] for p in paces if p.shares]
    return sum(moving) / len(moving) if moving else math.nan


def limit_text(share: float, steps_per_s: float) -> str:
    """How far a job is from the limit of the machine, if it has the pace ``steps_per_s``."""
    if math.isnan(share) or share <= 0:
        return ""
    return f"{share:.0%} of {steps_per_s / share:,.1f} steps/s, the limit if it only computed"


def _stuck(paces: Sequence[Pace], now_ns: int) -> str:
    waits = [
        ((now_ns - p.wait.since_ns) / 1e9, p.label, p.wait.place)
        for p in paces
        if p.wait is not None
    ]
    longest_s, label, place = max(waits, default=(0.0, "", ""))
    return f"{label} has waited {longest_s:.0f} s: {place}" if longest_s >= _LONG_WAIT_S else ""


def _late_rank(paces: Sequence[Pace]) -> str:
    """The rank that others wait for, and why it is late."""
    by_rank = {p.rank: p for p in paces}
    ranks = {rank for p in paces for rank in p.awaited}
    cost = {rank: sum(p.awaited.get(rank, 0.0) for p in paces) for rank in ranks}
    if not ranks:
        return ""
    rank = max(sorted(ranks), key=cost.__getitem__)
    share = max(p.awaited.get(rank, 0.0) for p in paces)
    if share < _WORTH_TELLING:
        return ""
    others = f"others wait for it {share:.0%}"
    late = by_rank.get(rank)
    if late is None:
        return f"rank {rank} is late: {others} of the time"
    part = max((name for name in _WORDS if name != COMPUTE), key=lambda name: late.shares[name])
    if late.shares[part] >= _WORTH_TELLING:
        own = f"{late.shares[part]:.0%} of the time {_doing(part)}"
        return f"rank {rank} spends {own}; {others}"
    return f"rank {rank} is slow in computing: {others} of the time"


def _largest_part(paces: Sequence[Pace]) -> str:
    mean = {name: sum(p.shares[name] for p in paces) / len(paces) for name in PARTS}
    part = max(_WORDS, key=lambda name: 0.0 if name == COMPUTE else mean[name])
    if mean[part] < _WORTH_TELLING:
        return f"computing takes {mean[COMPUTE]:.0%} of the time"
    worst = max(paces, key=lambda p: p.shares[part])
    if len(paces) > 1 and worst.shares[part] > 1.5 * mean[part]:
        return f"{worst.label} spends {worst.shares[part]:.0%} of the time {_doing(part)}"
    return f"each process spends {mean[part]:.0%} of the time {_doing(part)}"


def _doing(part: str) -> str:
    return "in communication" if part == "communication" else _WORDS[part]
