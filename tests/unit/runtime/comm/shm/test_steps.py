"""Waiting with care, with a second rank that exists only as its control block."""

from __future__ import annotations

import subprocess
import time

import pytest

from argosy.foundation.errors import CollectiveTimeout, CommError, PeerLost
from argosy.runtime.comm.backends.shm import kernels, layout
from argosy.runtime.comm.backends.shm.segment import Segment
from argosy.runtime.comm.backends.shm.steps import Steps


@pytest.fixture
def segment():
    made = Segment.create("test", layout.Layout(world_size=2).total_bytes)
    yield made
    made.close()


@pytest.fixture
def steps(segment):
    made = Steps("test", 0, 2, segment, timeout_s=10)
    yield made
    assert made.close()


def test_a_rank_that_arrives_and_leaves_between_two_looks_is_not_lost(segment, steps):
    looks = iter([[1], []])

    def look():
        missing = next(looks)
        kernels.depart(segment.address, 1, layout.CLOSED)  # right after it was found missing
        return missing

    steps.wait_with_care(look, "barrier #1")
    assert steps.error is None


def test_a_rank_that_left_and_stays_missing_is_lost(segment, steps):
    kernels.depart(segment.address, 1, layout.CLOSED)
    with pytest.raises(PeerLost, match=r"rank 0 was in barrier #1 of group 'test' when rank 1 \(not seen yet\) left"):
        steps.wait_with_care(lambda: [1], "barrier #1")
    assert kernels.departure(segment.address, 0) == layout.GAVE_UP


def test_a_death_is_named_rather_than_a_rank_that_gave_up_because_of_it(segment, steps):
    with subprocess.Popen(["true"]) as process:
        child = process.pid
    segment.array(layout.CONTROL_BYTES + layout.PID, (1,), "int64")[0] = child
    kernels.depart(segment.address, 1, layout.GAVE_UP)
    with pytest.raises(PeerLost, match=rf"rank 1 \(pid {child}\) exited"):
        steps.wait_with_care(lambda: [1], "barrier #1")


def test_the_deadline(segment):
    steps = Steps("test", 0, 2, segment, timeout_s=0)
    with pytest.raises(CollectiveTimeout, match="waited 0 s in barrier #1 of group 'test' for rank 1"):
        steps.wait_with_care(lambda: [1], "barrier #1")
    steps.close()


def test_close_ends_a_wait(segment):
    steps = Steps("test", 0, 2, segment, timeout_s=10)

    def look():
        steps.close()
        return [1]

    with pytest.raises(CommError, match="closed meanwhile"):
        steps.wait_with_care(look, "barrier #1")


def test_close_does_not_pull_the_memory_from_under_a_call(segment, monkeypatch):
    monkeypatch.setattr("argosy.runtime.comm.backends.shm.steps._CLOSE_S", 0.05)
    steps = Steps("test", 0, 2, segment, timeout_s=10)
    steps.inside.append(None)
    began = time.monotonic()
    assert not steps.close()
    assert time.monotonic() - began >= 0.05
    steps.inside.pop()
    assert steps.close()
