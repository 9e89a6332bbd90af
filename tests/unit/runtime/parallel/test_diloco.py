"""Streaming DiLoCo: the schedule and the cuts, which are pure."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from argosy.foundation.errors import CheckpointError, UsageError
from argosy.runtime.comm.backends.loopback import LoopbackBackend
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.diloco import DiLoCo, Schedule, fragments


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


@given(st.lists(st.integers(0, 1000), max_size=30), st.integers(1, 8), st.sets(st.integers(0, 29)))
def test_cuts_are_neighbours_and_miss_nothing(sizes, count, whole):
    cuts = fragments(sizes, count, whole, chunk=64)
    assert len(cuts) == count
    spans = list(itertools.chain.from_iterable(cuts))
    found = [(s.index, i) for s in spans for i in range(s.start, s.stop)]
    assert found == [(index, i) for index, size in enumerate(sizes) for i in range(size)]
    assert all(s.stop - s.start == sizes[s.index] for s in spans if s.index in whole)
    assert all(s.start % 64 == 0 for s in spans)
    pieces = [size if i in whole else min(size, 64) for i, size in enumerate(sizes)]
    for cut in cuts:  # half a piece at either end
        most = max((pieces[s.index] for s in cut), default=0)
        assert sum(s.stop - s.start for s in cut) <= sum(sizes) / count + most + 1e-6


def test_a_large_parameter_is_in_several_fragments():
    cuts = fragments([10, 1 << 20, 10], 4)
    sizes = [sum(s.stop - s.start for s in cut) for cut in cuts]
    assert max(sizes) - min(sizes) <= 1 << 15


def alone(shapes: list[int], count: int) -> DiLoCo:
    schedule = Schedule(k_steps=8, num_fragments=count, overlap_steps=0)
    group = Group(id=0, name="alone", ranks=[0], global_rank=0, transport=LoopbackBackend())
    outer = DiLoCo([torch.arange(float(n)) for n in shapes], group, schedule)
    outer.begin()
    return outer


def test_a_state_that_was_cut_otherwise_is_taken():
    saved = alone([40_000, 70_000], 3).state_dict()
    outer = alone([40_000, 70_000], 2)
    outer.load_state_dict(saved)
    parts = outer.state_dict()["common"]
    wanted = torch.cat([torch.arange(40_000.0), torch.arange(70_000.0)])
    assert torch.equal(torch.cat([parts[i] for i in sorted(parts)]), wanted)
    assert len(parts) == 2


def test_a_state_of_another_model_is_refused():
    with pytest.raises(CheckpointError, match="110000 elements, but the parameters have 5"):
        alone([5], 1).load_state_dict(alone([40_000, 70_000], 3).state_dict())


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
