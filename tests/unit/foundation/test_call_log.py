"""The last collectives of a process, as another one reads them."""

from __future__ import annotations

import pytest
import torch

from argosy.foundation import call_log
from argosy.foundation.account import account
from argosy.foundation.call_log import BYTES, CAPACITY, NAMES, CallLog, read, size_of
from argosy.runtime.comm.work import CommQueue


@pytest.fixture
def memory():
    return memoryview(bytearray(BYTES))


@pytest.fixture
def noted(memory, monkeypatch):
    monkeypatch.setattr(account, "calls", CallLog(memory))
    return lambda: [(call.what, call.num_bytes, bool(call.ended_ns)) for call in read(memory)]


class Transport:
    tensor = torch.zeros(2)

    def __init__(self, look=lambda: None):
        self._look = look

    def all_reduce(self, tensor):
        self._look()

    def all_gather(self, outs, tensor):
        """Moves nothing."""

    def barrier(self):
        raise RuntimeError("lost")

    def finish(self):
        """Moves nothing."""


def test_the_last_calls_are_read_in_order(memory):
    log = CallLog(memory)
    code = log.code("barrier of group 'world'")
    for number in range(1, CAPACITY + 4):
        assert log.begin(code, number, 10 * number) == number
        log.end(number, 10 * number + 5)
    found = read(memory)
    assert [call.number for call in found] == list(range(4, CAPACITY + 4))
    assert found[-1] == call_log.Call(
        CAPACITY + 3, 10 * CAPACITY + 30, 10 * CAPACITY + 35, CAPACITY + 3,
        "barrier of group 'world'",
    )  # fmt: skip


def test_a_late_end_does_not_end_another_call(memory):
    log = CallLog(memory)
    code = log.code("x")
    first = log.begin(code, -1, 1)
    for _ in range(CAPACITY):
        log.begin(code, -1, 2)
    log.end(first, 9)  # its place has been taken
    assert {call.ended_ns for call in read(memory)} == {0}


def test_more_names_than_places(memory):
    log = CallLog(memory)
    codes = [log.code(f"call {n}") for n in range(NAMES + 5)]
    log.begin(codes[3], -1, 1)
    log.begin(codes[-1], -1, 1)
    assert [call.what for call in read(memory)] == ["call 3", "another collective"]


def test_a_queue_notes_what_it_runs(noted):
    seen = []
    with CommQueue("world") as queue:
        queue.run(Transport(lambda: seen.append(noted())).all_reduce, torch.zeros(4))
        queue.run(Transport().all_gather, [torch.zeros(1), torch.zeros(2)], torch.zeros(1))
        queue.run(Transport().finish)
        with pytest.raises(RuntimeError, match="lost"):
            queue.run(Transport().barrier)
        queue.submit(Transport().all_reduce, torch.zeros(3)).wait()
        queue.start(lambda: None, Transport().all_reduce, torch.zeros(3)).wait()
    assert seen == [[("all_reduce of group 'world'", 16, False)]]
    assert noted() == [
        ("all_reduce of group 'world'", 16, True),
        ("all_gather of group 'world'", 12, True),
        ("average of gradients of group 'world'", 8, True),
        ("barrier of group 'world'", 8, True),
        ("all_reduce of group 'world'", 12, True),
        ("all_reduce of group 'world'", -1, True),
    ]


def test_sizes_that_cannot_be_told():
    assert size_of(lambda: None, ()) == -1
    assert size_of(print, ("text",)) == -1

    class NoMemory:
        @property
        def nbytes(self):
            raise RuntimeError

    assert size_of(print, (NoMemory(),)) == -1
    assert size_of(print, ([torch.zeros(1), NoMemory()],)) == -1
