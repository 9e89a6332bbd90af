"""What a job's last steps say, in a sentence."""

from __future__ import annotations

import math

import numpy as np
import pytest

from argosy.runtime.observe.ring import STEPS, LongWait
from argosy.runtime.observe.summary import PARTS, efficiency, limiter, pace

MS = 1_000_000


def steps(count, wall=100, latest=-1, loss=math.nan, **parts):
    """Equal steps of ``wall`` milliseconds, of which so many went into each part."""
    found = np.zeros(count, STEPS)
    found["number"] = np.arange(1, count + 1)
    found["began"] = np.arange(count) * wall * MS
    found["wall"] = wall * MS
    found["latest"], found["loss"] = latest, loss
    for name, value in parts.items():
        found[name] = value * MS
    return found


def test_a_pace_sums_up():
    found = pace("rank 0", 0, steps(10, wall=50, data=10, waiting=5, latest=1, loss=0.25))
    assert found.num_steps == 10
    assert found.steps_per_s == pytest.approx(20)
    assert found.loss == 0.25
    assert found.shares == pytest.approx({**dict.fromkeys(PARTS, 0), "compute": 0.7, "data": 0.2,
                                          "waiting": 0.1})  # fmt: skip
    assert found.awaited == pytest.approx({1: 0.1})


def test_nothing_is_told_of_a_job_that_does_not_step():
    paces = [pace("rank 0", 0, steps(0), num_steps=4)]
    assert limiter(paces, 0) == ""
    assert math.isnan(efficiency(paces))
    assert paces[0].num_steps == 4


def test_a_loader_is_blamed_for_the_rank_that_waits_for_it():
    paces = [
        pace("rank 0", 0, steps(9, waiting=40, latest=1)),
        pace("rank 1", 1, steps(9, data=41)),
    ]
    assert limiter(paces, 0) == (
        "rank 1 spends 41% of the time waiting for data; others wait for it 40%"
    )


def test_a_rank_that_computes_slowly_is_blamed():
    paces = [
        pace("rank 0", 0, steps(9, waiting=30, latest=1)),
        pace("rank 1", 1, steps(9, communication=2)),
        pace("rank 2", 2, steps(9, waiting=25, latest=1)),
    ]
    expected = "rank 1 is slow in computing: others wait for it 30% of the time"
    assert limiter(paces, 0) == expected


def test_a_rank_of_another_host_is_named_without_a_reason():
    paces = [pace("rank 0", 0, steps(9, waiting=30, latest=5))]
    assert limiter(paces, 0) == "rank 5 is late: others wait for it 30% of the time"


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"communication": 30}, "each process spends 30% of the time in communication"),
        ({"pull": 20}, "each process spends 20% of the time pulling from servers"),
        ({"checkpoint": 12}, "each process spends 12% of the time saving checkpoints"),
        ({"communication": 4}, "computing takes 96% of the time"),
    ],
)
def test_the_largest_part_is_told(parts, said):
    paces = [pace(f"rank {r}", r, steps(5, **parts)) for r in (0, 1)]
    assert limiter(paces, 0) == said
    assert efficiency(paces) == pytest.approx(1 - sum(parts.values()) / 100)


def test_one_process_that_differs_is_named():
    paces = [pace("rank 0", 0, steps(5, data=50)), pace("rank 1", 1, steps(5))]
    assert limiter(paces, 0) == "rank 0 spends 50% of the time waiting for data"


def test_a_process_that_is_stuck_comes_first():
    wait = LongWait(10 * 10**9, "barrier #3 of group 'world' for rank 1")
    paces = [
        pace("rank 0", 0, steps(9, data=50), wait),
        pace("rank 1", 1, steps(9)),
    ]
    said = limiter(paces, 14 * 10**9)
    assert said == "rank 0 has waited 4 s: barrier #3 of group 'world' for rank 1"
    assert "waited" not in limiter(paces, 11 * 10**9)
