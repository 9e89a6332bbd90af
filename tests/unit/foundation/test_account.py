"""Accounts: parts of a step sum to it, a wait inside another counts once, blame moves time."""

from __future__ import annotations

import threading

import pytest

from argosy.foundation import account as module
from argosy.foundation.account import (
    CHECKPOINT,
    COMMUNICATION,
    DATA,
    UNTOLD,
    WAITING,
    Account,
)


@pytest.fixture
def clock(monkeypatch):
    """A clock that only the test moves."""

    class Clock:
        now_ns = 0

    monkeypatch.setattr(module.time, "perf_counter_ns", lambda: Clock.now_ns)
    return Clock


class Kept:
    """A listener that remembers."""

    def __init__(self):
        self.steps, self.waits = [], []

    def add(self, step):
        self.steps.append(step)

    def begin_wait(self, since_ns, place, awaited):
        self.waits.append((since_ns, place, awaited))

    def end_wait(self):
        self.waits.append("end")


@pytest.fixture
def kept(clock):
    account = Account()
    account.listener = Kept()
    return account, account.listener.steps


def test_what_nobody_names_is_computation(kept, clock):
    account, steps = kept
    clock.now_ns = 10
    mark = account.enter()
    clock.now_ns = 15
    account.leave(DATA, mark)
    clock.now_ns = 100
    account.end_step()
    (step,) = steps
    assert (step.number, step.began_ns, step.wall_ns, step.compute_ns) == (1, 0, 100, 95)
    assert step.spent_ns[DATA] == 5
    clock.now_ns = 130
    account.end_step()
    assert (steps[1].began_ns, steps[1].wall_ns, steps[1].compute_ns) == (100, 30, 30)


def test_a_wait_inside_another_counts_for_itself(kept, clock):
    account, steps = kept
    with account.waiting_for(CHECKPOINT):
        clock.now_ns = 10
        with account.waiting_for(COMMUNICATION):
            clock.now_ns = 17
        clock.now_ns = 20
    account.end_step()
    assert steps[0].spent_ns[CHECKPOINT] == 13
    assert steps[0].spent_ns[COMMUNICATION] == 7
    assert steps[0].compute_ns == 0


def test_blame_is_taken_from_communication(kept, clock):
    account, steps = kept
    with account.waiting_for(COMMUNICATION):
        clock.now_ns = 50
        account.blame(3, 40)
        account.blame(1, 5)
    account.end_step()
    assert steps[0].spent_ns[COMMUNICATION] == 5
    assert steps[0].spent_ns[WAITING] == 45
    assert steps[0].latest == 3


def test_other_threads_are_hidden_behind_the_step(kept, clock):
    account, steps = kept

    def work():
        with account.waiting_for(DATA):
            clock.now_ns = 10
        account.blame(1, 10)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    account.end_step()
    assert steps[0].spent_ns == (0,) * 6
    assert steps[0].compute_ns == 10


def test_a_loss_belongs_to_its_step(kept):
    account, steps = kept
    account.loss, account.told = 0.5, 12
    account.end_step()
    account.end_step()
    assert (steps[0].loss, steps[0].told) == (0.5, 12)
    assert steps[1].loss != steps[1].loss
    assert steps[1].told == UNTOLD


def test_a_restart_forgets_what_was(kept, clock):
    account, steps = kept
    account.end_step()
    clock.now_ns = 70
    account.restart()
    clock.now_ns = 75
    account.end_step()
    assert (steps[1].number, steps[1].wall_ns) == (1, 5)


def test_one_long_wait_is_shown_at_a_time(kept):
    account, _ = kept
    with account.long_wait(5, "barrier", (1,)), account.long_wait(6, "recv"):
        assert account.listener.waits == [(5, "barrier", (1,))]
    assert account.listener.waits == [(5, "barrier", (1,)), "end"]
    with pytest.raises(KeyError), account.long_wait(7, "recv"):
        raise KeyError
    assert account.listener.waits[2:] == [(7, "recv", ()), "end"]
