"""Waiting with care, with a second rank that exists only as its control block."""

from __future__ import annotations

import subprocess
import time

import pytest

from argosy.foundation.errors import CollectiveTimeout, CommError, PeerLost
from argosy.runtime.comm.backends.shm import kernels, layout
from argosy.runtime.comm.backends.shm.board import Board, board_bytes
from argosy.runtime.comm.backends.shm.segment import Segment
from argosy.runtime.comm.backends.shm.steps import Steps

PLACES = layout.Layout(world_size=2, board_bytes=board_bytes(2))


@pytest.fixture
def segment():
    made = Segment.create("test", PLACES.total_bytes)
    yield made
    made.close()


@pytest.fixture
def board(segment):
    made = Board(segment, PLACES.board_offset, 0, 2)
    yield made
    made.close()


@pytest.fixture
def make_steps(segment, board):
    def make(timeout_s=10.0):
        return Steps("test", 0, segment, timeout_s, board, range(2))

    return make


@pytest.fixture
def steps(make_steps):
    made = make_steps()
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
    with pytest.raises(
        PeerLost,
        match=r"rank 0 was in barrier #1 of group 'test' when rank 1 \(not seen yet\) left",
    ):
        steps.wait_with_care(lambda: [1], "barrier #1")
    assert kernels.departure(segment.address, 0) == layout.GAVE_UP


def test_a_death_is_named_rather_than_a_rank_that_gave_up_because_of_it(segment, board, steps):
    with subprocess.Popen(["true"]) as process:
        child = process.pid
    board.enter({1: child})
    kernels.depart(segment.address, 1, layout.GAVE_UP)
    with pytest.raises(PeerLost, match=rf"rank 1 \(pid {child}\) exited"):
        steps.wait_with_care(lambda: [1], "barrier #1")


def test_the_deadline(make_steps):
    steps = make_steps(timeout_s=0)
    with pytest.raises(
        CollectiveTimeout, match="waited 0 s in barrier #1 of group 'test' for rank 1"
    ):
        steps.wait_with_care(lambda: [1], "barrier #1")
    steps.close()


def test_close_ends_a_wait(make_steps):
    steps = make_steps()

    def look():
        steps.close()
        return [1]

    with pytest.raises(CommError, match="closed meanwhile"):
        steps.wait_with_care(look, "barrier #1")


def test_close_does_not_pull_the_memory_from_under_a_call(make_steps, monkeypatch):
    monkeypatch.setattr("argosy.runtime.comm.backends.shm.steps._CLOSE_S", 0.05)
    steps = make_steps()
    steps.inside.append(None)
    began = time.monotonic()
    assert not steps.close()
    assert time.monotonic() - began >= 0.05
    steps.inside.pop()
    assert steps.close()
