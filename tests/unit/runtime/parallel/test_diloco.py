"""Streaming DiLoCo: the schedule and the cuts, which are pure."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from argosy.foundation.errors import UsageError
from argosy.runtime.parallel.diloco import Schedule, fragments


def test_fragments_take_turns():
    schedule = Schedule(k_steps=6, num_fragments=3, overlap_steps=2)
    turns = {step: schedule.leaves_at(step) for step in range(1, 13) if schedule.leaves_at(step)}
    assert turns == {6: [0], 8: [1], 10: [2], 12: [0]}


@given(st.integers(1, 40), st.data())
def test_each_leaves_once_in_k_steps(k_steps, data):
    count = data.draw(st.integers(1, k_steps))
    schedule = Schedule(k_steps=k_steps, num_fragments=count, overlap_steps=0)
    steps = range(k_steps, 2 * k_steps)
    left = sorted(itertools.chain.from_iterable(schedule.leaves_at(step) for step in steps))
    assert left == list(range(count))


@given(st.lists(st.integers(0, 1000), max_size=30), st.integers(1, 8))
def test_cuts_are_neighbours_and_miss_nothing(sizes, count):
    cuts = fragments(sizes, count)
    assert len(cuts) == count
    assert list(itertools.chain.from_iterable(cuts)) == list(range(len(sizes)))
    for cut in cuts:  # half an item at either end
        most = max((sizes[i] for i in cut), default=0)
        assert sum(sizes[i] for i in cut) <= sum(sizes) / count + most + 1e-6


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"k_steps": 3, "num_fragments": 4, "overlap_steps": 0}, "num_fragments must be from 1"),
        ({"k_steps": 3, "num_fragments": 1, "overlap_steps": 3}, "overlap_steps must be from 0"),
    ],
)
def test_settings_are_checked(settings, what):
    with pytest.raises(UsageError, match=what):
        Schedule(**settings)
