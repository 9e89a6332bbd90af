"""Streaming DiLoCo on several ranks, against the formula in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from argosy.runtime.parallel.diloco import Schedule, fragments
from multiprocess import strategy_workers as workers
from support.job import run_job

HERE = "multiprocess.strategy_workers"
SHAPES = [(5, 4), (3,), (7, 2), (11,)]


def reference(world_size, schedule, outer_lr=0.7, outer_momentum=0.9, mixing=0.5):
    """All ranks, one after the other."""
    starts = [workers.gradient(99, 0, i, shape).numpy() for i, shape in enumerate(SHAPES)]
    own = [[value.copy() for value in starts] for _ in range(world_size)]
    common, velocity = [v.copy() for v in starts], [np.zeros_like(v) for v in starts]
    cuts = fragments([v.size for v in starts], schedule.num_fragments)
    arrivals, history = {}, []
    for step in range(1, 13):
        for rank, values in enumerate(own):
            for i, value in enumerate(values):
                value -= 0.1 * workers.gradient(rank, step - 1, i, SHAPES[i]).numpy()
        for fragment in schedule.leaves_at(step):
            for i in (span.index for span in cuts[fragment]):
                moved = np.mean([common[i] - values[i] for values in own], axis=0)
                arrivals.setdefault(step + schedule.overlap_steps, []).append((i, moved))
        for i, moved in arrivals.pop(step, []):
            velocity[i] = outer_momentum * velocity[i] + moved
            common[i] = common[i] - outer_lr * (moved + outer_momentum * velocity[i])
            for values in own:
                values[i] = mixing * values[i] + (1 - mixing) * common[i]
        history.append([[v.copy() for v in values] for values in own])
    return history


@pytest.mark.parametrize(
    "settings",
    [
        {"k_steps": 4, "num_fragments": 2, "overlap_steps": 1},
        {"k_steps": 3, "num_fragments": 1, "overlap_steps": 0, "mixing": 0.0},
        {"k_steps": 5, "num_fragments": 4, "overlap_steps": 4, "outer_lr": 0.5, "mixing": 0.25},
    ],
)
@pytest.mark.parametrize(
    ("backend", "world_size"), [("shm", 2), ("gloo", 2), ("hosts ab", 2), ("hosts aab", 3)]
)
def test_parameters_are_those_of_the_formula(pool, backend, world_size, settings):
    found = run_job(pool, f"{HERE}:diloco", world_size, backend=backend, shapes=SHAPES, **settings)
    names = ("k_steps", "num_fragments", "overlap_steps")
    schedule = Schedule(**{name: settings[name] for name in names})
    rest = {name: value for name, value in settings.items() if name not in names}
    wanted = reference(world_size, schedule, **rest)
    for rank, seen in enumerate(found):
        for ours, theirs in zip(seen, wanted, strict=True):
            for a, b in zip(ours, theirs[rank], strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


def test_what_travels_as_8_bits_is_near_and_the_same_on_all_ranks(pool):
    """Without mixing all ranks go on from the common values."""
    settings = {"k_steps": 3, "num_fragments": 1, "overlap_steps": 0, "mixing": 0.0}
    found = run_job(
        pool, f"{HERE}:diloco", 2, backend="hosts ab", shapes=SHAPES, is_int8=True, **settings
    )
    schedule = Schedule(k_steps=3, num_fragments=1, overlap_steps=0)
    wanted = reference(2, schedule, mixing=0.0)
    for step in (2, 11):  # common steps
        for ours, theirs, exact in zip(
            found[0][step], found[1][step], wanted[step][0], strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)
            assert 0 < np.abs(ours - exact).max() < 0.02
