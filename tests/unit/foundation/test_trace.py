"""Recordings: what is told while they go on, bounded, by thread; nothing while there is none."""

from __future__ import annotations

import threading

import pytest

from argosy.foundation.account import CHECKPOINT, COMMUNICATION, DATA, Account
from argosy.foundation.trace import STEPS, Trace, trace


@pytest.fixture
def recording():
    started = trace.start()
    yield started
    trace.stop(started)


def names(recording):
    return [event.name for event in recording.events]


def test_the_oldest_events_give_way_and_are_counted():
    own = Trace()
    recording = own.start(limit=3)
    for number in range(5):
        own.add(str(number), "test", 0, ended_ns=1)
    assert names(recording) == ["2", "3", "4"]
    assert recording.num_lost == 2


def test_recordings_do_not_disturb_each_other():
    own = Trace()
    first = own.start()
    own.add("a", "test", 0)
    second = own.start()
    own.add("b", "test", 0)
    own.stop(first)
    own.add("c", "test", 0)
    own.stop(second)
    own.stop(second)
    assert not own.recordings
    assert names(first) == ["a", "b"]
    assert names(second) == ["b", "c"]


def test_threads_have_tracks_and_names():
    own = Trace()
    recording = own.start()
    own.add("here", "test", 0)
    thread = threading.Thread(target=own.add, args=("there", "test", 0), name="another")
    thread.start()
    thread.join()
    here, there = recording.events
    assert here.track != there.track
    assert own.name_by_thread[there.track] == "another"


def test_waits_of_an_account_lie_in_each_other(recording):
    account = Account()
    outer = account.enter()
    account.leave(DATA, account.enter())
    account.leave(CHECKPOINT, outer)
    account.loss, account.told = 0.5, 7
    account.end_step()
    account.end_step()
    inside, around, step, bare = recording.events
    assert [each.name for each in recording.events] == ["data", "checkpoint", "step 1", "step 2"]
    assert around.began_ns <= inside.began_ns <= inside.ended_ns <= around.ended_ns
    assert step.track == STEPS
    assert step.about == {"loss": 0.5, "script_step": 7}
    assert not bare.about
    assert step.began_ns <= around.began_ns
    assert around.ended_ns <= step.ended_ns == bare.began_ns


def test_a_wait_that_began_before_the_recording_is_left_out():
    account = Account()
    mark = account.enter()
    recording = trace.start()
    try:
        account.leave(COMMUNICATION, mark)
        account.leave(DATA, account.enter())
    finally:
        trace.stop(recording)
    assert names(recording) == ["data"]
