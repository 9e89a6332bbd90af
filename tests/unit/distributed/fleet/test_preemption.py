"""Loops of ``fleet.auto_checkpoint`` that are asked to save and to leave: at which step, and how
they go on.
"""

from __future__ import annotations

import random
import signal

import numpy as np
import pytest
import torch

import paddle
import paddle.distributed.fleet as fleet
from argosy.distributed.fleet.checkpoints.last_point import Board, LastPoint
from argosy.distributed.fleet.servers.preemption import ServerWatch
from argosy.foundation.preemption import requests
from argosy.runtime.ps.server.tables import Tables

SIGNALS = (signal.SIGUSR1, signal.SIGTERM)

# -- where members stop
# --------------------------------------------------------------------------------------------------


class SharedBoard(Board):
    """Of several members; each call is one moment, and others may come between two of them."""

    def __init__(self, shared, number):
        self.shared, self.number = shared, number

    def is_asked(self):
        return self.shared["asked"]

    def ask(self):
        self.shared["asked"] = True

    def say(self, point):
        said = self.shared["said"]
        said[self.number] = max(point, said[self.number] or 0)
        return None if None in said else list(said)

    def settle(self, point):
        if self.shared["end"] is None:
            self.shared["end"] = point
        return self.shared["end"]


def walk(last_point, asked_at, speed, log):
    """A member, as a generator that yields wherever another may go on."""
    point = 0
    while True:
        is_here = last_point.is_here(point, asked_at is not None and point >= asked_at)
        if is_here:
            log.append(point)
            return
        for _ in range(speed):
            yield
        point += 1


@pytest.mark.parametrize("seed", range(60))
def test_members_of_any_speed_stop_after_the_same_step(seed, monkeypatch):
    """None beyond it, whoever is asked, and nobody waits for another to find it."""
    monkeypatch.setattr("argosy.distributed.fleet.checkpoints.last_point._LOOK_S", 0.0)
    draw = np.random.default_rng(seed)
    count = int(draw.integers(1, 6))
    shared = {"asked": False, "said": [None] * count, "end": None}
    asked = [int(draw.integers(1, 30)) if draw.random() < 0.5 else None for _ in range(count)]
    asked[int(draw.integers(count))] = 3
    logs = [[] for _ in range(count)]
    walks = [
        walk(LastPoint(SharedBoard(shared, i)), asked[i], int(draw.integers(1, 9)), logs[i])
        for i in range(count)
    ]
    turns = 0
    while walks:
        member = walks[int(draw.integers(len(walks)))]
        if next(member, "end") == "end":
            walks.remove(member)
        turns += 1
        assert turns < 100_000
    assert logs == [[shared["end"]]] * count


class Interleaved(SharedBoard):
    """Between two calls of one member, ``others`` do something."""

    def __init__(self, shared, number, others):
        super().__init__(shared, number)
        self.others = others

    def say(self, point):
        said = super().say(point)
        if self.others:
            self.others.pop(0)()
        return said


def test_a_step_that_was_promised_is_done_even_if_the_others_could_stop_before():
    """The other speaks between what this one says of its step and of the next."""
    shared = {"asked": True, "said": [None, None], "end": None}
    other = LastPoint(SharedBoard(shared, 1))
    found = []
    mine = LastPoint(
        Interleaved(shared, 0, [lambda: None, lambda: found.append(other.is_here(2, False))])
    )
    assert not mine.is_here(5, False)
    assert found == [False]
    assert shared["end"] == 6
    assert mine.is_here(6, False)
    assert [other.is_here(point, False) for point in (3, 4, 5, 6)] == [False, False, False, True]


def test_nobody_is_asked_for_nothing():
    class Silent(Board):
        def say(self, point):
            raise AssertionError("nobody was asked")

    last_point = LastPoint(Silent())
    assert not any(last_point.is_here(point, False) for point in range(100))


# -- loops
# --------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def alone():
    fleet.init(is_collective=True)
    before = random.getstate(), np.random.get_state(), torch.get_rng_state()
    yield
    random.setstate(before[0])
    np.random.set_state(before[1])
    torch.set_rng_state(before[2])
    requests.close()
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)


class Noisy(paddle.io.Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, i):
        return np.float32([i, np.random.rand(), random.random()]), np.int64(i)


class Job:
    """Runs, one after the other, as processes of their own would; ``ring`` is (phase, step,
    signal).
    """

    def __init__(self, folder, ring=None, num_workers=0):
        self.folder, self.ring, self.num_workers = folder, ring, num_workers
        self.log = []

    def bell(self, phase, step):
        if self.ring is not None and self.ring[:2] == (phase, step):
            number, self.ring = self.ring[2], None
            signal.raise_signal(number)

    def state_dict(self):
        self.bell("saving", self.run.num_steps)
        return {}

    def set_state_dict(self, state):
        pass

    def train(self):
        """A process's life; returns the exit code."""
        requests.close()
        with paddle.utils.unique_name.guard():
            try:
                self._train()
            except SystemExit as end:
                return end.code
        return 0

    def _train(self):
        random.seed(3)
        np.random.seed(3)
        paddle.seed(3)
        parts = (paddle.nn.Linear(3, 4), paddle.nn.Dropout(0.5), paddle.nn.Linear(4, 1))
        model = paddle.nn.Sequential(*parts)
        rate = paddle.optimizer.lr.StepDecay(0.05, 1)
        optimizer = paddle.optimizer.Adam(rate, parameters=model.parameters())
        data = Noisy()
        sampler = paddle.io.BatchSampler(data, shuffle=True, batch_size=2)
        loader = paddle.io.DataLoader(data, batch_sampler=sampler, num_workers=self.num_workers)
        objects = {"model": model, "optimizer": optimizer, "loader": loader}
        self.run = run = fleet.auto_checkpoint(self.folder, 3, **objects, extra={"bell": self})
        self.bell("before", run.num_steps)
        for _ in run.epochs(2):
            for x, i in run.batches():
                hidden = model(x)
                self.bell("forward", run.num_steps)
                loss = (hidden**2).mean()
                loss.backward()
                self.bell("optimizer", run.num_steps)
                optimizer.step()
                optimizer.clear_grad()
                self.log.append((run.num_steps, i.tolist(), float(loss)))
            rate.step()
            self.bell("between", run.num_steps)
        self.bell("after", run.num_steps)
        final = [parameter.numpy() for parameter in model.parameters()]
        self.final = [*final, rate(), np.random.rand(), random.random(), paddle.rand([2]).numpy()]


@pytest.fixture
def whole(tmp_path):
    job = Job(tmp_path / "whole")
    assert job.train() == 0
    return job


RINGS = [
    *(("before", 0), ("forward", 0), ("forward", 4), ("optimizer", 2), ("optimizer", 9)),
    *(("saving", 3), ("saving", 9), ("between", 5), ("between", 10), ("after", 10)),
]


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("ring", RINGS, ids=lambda ring: f"{ring[0]}-{ring[1]}")
def test_a_run_that_was_asked_to_leave_goes_on_where_it_was(tmp_path, whole, ring, number):
    job = Job(tmp_path / "parts", (*ring, number))
    assert job.train() == 75
    done = {"before": 0, "forward": ring[1] + 1, "optimizer": ring[1] + 1}
    assert job.run.num_steps == done.get(ring[0], ring[1])
    assert job.train() == 0
    assert job.run.resumed_from == done.get(ring[0], ring[1])
    assert job.log == whole.log
    for found, expected in zip(job.final, whole.final, strict=True):
        np.testing.assert_array_equal(found, expected)


def asked_in(loop, at):
    """Go through ``loop``, in which a signal comes at ``at``; what was seen, and the exit code."""
    seen = []
    try:
        for number in loop:
            seen.append(number)
            if number == at:
                signal.raise_signal(signal.SIGUSR1)
    except SystemExit as end:
        return seen, end.code
    finally:
        requests.close()
    return seen, 0


def test_steps_without_a_loader(tmp_path, monkeypatch):
    monkeypatch.setenv("ARGOSY_REQUEUE_CODE", "99")
    assert asked_in(fleet.auto_checkpoint(tmp_path, 100).steps(10), 3) == ([0, 1, 2, 3], 99)
    assert fleet.auto_checkpoint(tmp_path, 100).resumed_from == 4


def test_epochs_without_a_loader_end_between_epochs(tmp_path):
    assert asked_in(fleet.auto_checkpoint(tmp_path, 100).epochs(10), 1) == ([0, 1], 75)
    assert next(fleet.auto_checkpoint(tmp_path, 100).epochs(10)) == 2


def test_a_loop_that_was_left_is_asked_no_more(tmp_path):
    run = fleet.auto_checkpoint(tmp_path, 100)
    for step in run.steps(10):
        if step == 2:
            break
    assert [signal.getsignal(number) for number in SIGNALS] == [signal.SIG_DFL] * 2
    assert next(run.steps(10)) == 2


# -- servers
# --------------------------------------------------------------------------------------------------


class Interrupted(Tables):
    """A signal comes while the lock of the tables is held, in the thread that handles signals."""

    number = 0

    def _noted(self, change):
        if self.number:
            signal.raise_signal(self.number)
        return super()._noted(change)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("number", SIGNALS)
def test_a_server_that_is_asked_while_its_tables_are_locked_goes_on(tmp_path, number):
    """A launcher passes the request on to whoever it has heard it from, so a second signal comes
    soon after the first.
    """
    tables = Interrupted(tmp_path, 1, lambda *_: None)
    watch = ServerWatch(tables)
    watch.notes({"loop": True})
    tables.number = number
    assert "asked" not in tables.notes({})  # which is interrupted
    tables.number = 0
    assert watch.notes({})["notes"] == {"loop": True, "asked": True}
    assert tables.notes({})["asked"]  # a server that is started again still knows
