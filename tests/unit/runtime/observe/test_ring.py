"""Rings: what is written is read once, in order; what was overwritten is counted."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest

from argosy.foundation.account import Step
from argosy.foundation.errors import UsageError
from argosy.runtime.observe.accounts import SLOT_BYTES, Accounts, own_slot
from argosy.runtime.observe.ring import (
    CAPACITY,
    RING_BYTES,
    Request,
    RingReader,
    RingWriter,
    ask,
)


def step(number, loss=math.nan):
    return Step(number, 1000 * number, 500, (1, 2, 3, 4, 5, 6), number % 3, loss)


@pytest.fixture
def memory():
    return memoryview(bytearray(RING_BYTES))


def test_a_reader_sees_each_step_once(memory):
    writer, reader = RingWriter(memory, 7, 1, 2), RingReader(memory)
    assert (reader.pid, reader.rank) == (7, 1)
    assert not len(reader.new_steps())
    for number in (1, 2, 3):
        writer.add(step(number, loss=number / 4))
    found = reader.new_steps()
    assert found["number"].tolist() == [1, 2, 3]
    assert found["loss"].tolist() == [0.25, 0.5, 0.75]
    assert found["latest"].tolist() == [1, 2, 0]
    assert found[["communication", "checkpoint"]][0].tolist() == (1, 6)
    writer.add(step(4))
    assert reader.new_steps()["number"].tolist() == [4]
    assert reader.num_lost == 0


def test_overwritten_steps_are_counted(memory):
    writer, reader = RingWriter(memory, 7, 0, 1), RingReader(memory)
    for number in range(1, CAPACITY + 11):
        writer.add(step(number))
    found = reader.new_steps()
    np.testing.assert_array_equal(found["number"], np.arange(11, CAPACITY + 11))
    assert reader.num_lost == 10


def test_a_torn_step_is_left_out(memory):
    writer, reader = RingWriter(memory, 7, 0, 1), RingReader(memory)
    writer.add(step(1))
    writer.add(step(2))
    writer.add(step(CAPACITY + 1))  # lies where step 1 was
    memory[24:32] = (2).to_bytes(8, "little")
    assert reader.new_steps()["number"].tolist() == [2]
    assert reader.num_lost == 1


def test_a_process_that_is_started_again_begins_anew(memory):
    reader = RingReader(memory)
    RingWriter(memory, 7, 0, 1).add(step(1))
    assert len(reader.new_steps()) == 1
    RingWriter(memory, 8, 0, 1).add(step(1))
    assert reader.new_steps()["number"].tolist() == [1]


def test_a_long_wait_is_seen_while_it_lasts(memory):
    writer, reader = RingWriter(memory, 7, 0, 1), RingReader(memory)
    assert reader.long_wait() is None
    writer.begin_wait(123, "barrier #3 of group 'world' for rank 1")
    wait = reader.long_wait()
    assert (wait.since_ns, wait.place) == (123, "barrier #3 of group 'world' for rank 1")
    writer.end_wait()
    assert reader.long_wait() is None
    writer.begin_wait(124, "x" * 1000, (3, 12))
    assert set(reader.long_wait().place) == {"x"}
    assert reader.long_wait().awaited == (3, 12)


def test_collectives_and_the_plan_are_seen(memory):
    reader = RingReader(memory)
    assert reader.calls() == []
    writer = RingWriter(memory, 7, 0, 1)
    assert reader.plan() == ""
    writer.calls.begin(writer.calls.code("barrier of group 'world'"), -1, 5)
    writer.tell_plan("Plan for 2 workers")
    assert [call.what for call in reader.calls()] == ["barrier of group 'world'"]
    assert reader.plan() == "Plan for 2 workers"
    writer.tell_plan("x" * 10000)
    assert set(reader.plan()) == {"x"}
    RingWriter(memory, 8, 0, 1)  # started again
    assert (reader.calls(), reader.plan()) == ([], "")


def test_children_find_their_slot():
    accounts = Accounts(["rank 0", "rank 1"])
    try:
        value = accounts.variable("rank 1")
        RingWriter(own_slot(value), os.getpid(), 1, 2).add(step(1))
        assert [len(reader.new_steps()) for reader in accounts.readers] == [0, 1]
        with pytest.raises(PermissionError):
            os.ftruncate(accounts.fd, SLOT_BYTES)
        fd, inode, _ = value.split(":")
        assert own_slot(f"{fd}:{int(inode) + 1}:0") is None
        assert own_slot(f"{fd}:{inode}:2") is None
        assert own_slot("9999:1:0") is None
    finally:
        accounts.close()
    with pytest.raises(UsageError, match="ARGOSY_ACCOUNT"):
        own_slot("nonsense")


def test_a_request_is_heard_until_it_is_answered(memory):
    heard = []

    def answer(request, is_step):
        heard.append((request, is_step))
        return request.num_steps == 0 or len(heard) == 3

    writer = RingWriter(memory, 7, 0, 1, answer)
    writer.look()
    writer.add(step(1))
    assert not heard
    ask(memory, Request(5, 10))
    writer.look()
    writer.add(step(2))
    writer.add(step(3))
    writer.add(step(4))
    assert heard == [(Request(5, 10), False), (Request(5, 10), True), (Request(5, 10), True)]
    ask(memory, Request(5, 0))
    writer.look()
    writer.look()
    assert heard[3:] == [(Request(5, 0), False)]
    again = RingWriter(memory, 8, 0, 1, answer)  # what another process was asked is not for it
    again.look()
    assert len(heard) == 4
