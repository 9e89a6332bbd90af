"""Digests, records, and the moment at which a process fires a fault."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
import torch

import paddle
from argosy.runtime.prove import records
from argosy.runtime.prove.digest import digest
from argosy.runtime.prove.faults import FaultFolder, Trigger
from argosy.runtime.prove.plan import END, START, Fault
from argosy.runtime.prove.records import Record, Writer


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0000002])),
        (torch.tensor([0.0]), torch.tensor([-0.0])),
        (torch.zeros(2, 3), torch.zeros(3, 2)),
        (torch.zeros(4), torch.zeros(4, dtype=torch.int32)),
        (torch.zeros(2, dtype=torch.bfloat16), torch.zeros(2, dtype=torch.float16)),
        (np.zeros(3, "float32"), np.zeros(3, "int32")),
        ([1, 2], [12]),
        ({"a": 1}, {"b": 1}),
        ("1", 1),
        ([[1], 2], [[1, 2]]),
        (None, "None"),
    ],
)
def test_different_values_have_different_digests(one, other):
    assert digest(one) == digest(one)
    assert digest(one) != digest(other)


def test_equal_values_have_equal_digests_wherever_they_lie():
    x = torch.arange(6.0).reshape(2, 3)
    assert digest(x.t()) == digest(x.t().contiguous())
    assert digest(x.to_sparse()) == digest(x)
    assert digest(paddle.to_tensor(x.numpy())) == digest(x)
    assert digest(np.asfortranarray(x.numpy())) == digest(x.numpy())
    assert digest(torch.tensor(2.0, requires_grad=True)) == digest(torch.tensor(2.0))


def test_a_life_is_read_as_it_was_written(tmp_path):
    writer = Writer(tmp_path, "rank 1", 5.0)
    assert records.read(tmp_path) == {}
    written = [
        Record(at_s=6.0, batches=[], results=[], values={"w": "a"}),
        Record(at_s=7.0, told=2, batches=["x"], results=["y", "z"], places={"data": 1}),
    ]
    for record in written:
        writer.write(vars(record))
    writer.write({"end_s": 8.0, "values": {"w": "b"}, "places": {"data": 1}})
    [life] = records.read(tmp_path)["rank 1"]
    assert list(life.records) == written
    assert (life.pid, life.began_s, life.end_values) == (os.getpid(), 5.0, {"w": "b"})
    assert records.Counter(tmp_path).count() == 3


def test_a_torn_line_is_not_there(tmp_path):
    Writer(tmp_path, "rank 0", 1.0).write(vars(Record(at_s=2.0)))
    [path] = (tmp_path / "records").iterdir()
    whole = path.read_bytes()
    assert whole.count(b"\n") == 2
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        found = records.read(tmp_path)
        assert sum(len(life.records) for lives in found.values() for life in lives) == 0


# -- faults
# --------------------------------------------------------------------------------------------------

STEPS = [Record(at_s=float(n), values={"w": f"state {n}"}) for n in range(1, 7)]


class Process:
    """A process that trains, and the signals that it has sent."""

    def __init__(self, folder, monkeypatch):
        self.sent = []
        monkeypatch.setattr(os, "kill", lambda pid, number: self.sent.append((pid, number)))
        self.trigger = Trigger(FaultFolder(folder), "rank 0")

    def step(self, number, *places):
        """Come by ``places``, then end the ``number``-th step."""
        for place in places:
            self.trigger.reach(place)
        self.trigger.end_step(STEPS[number - 1])


@pytest.fixture
def begin(tmp_path, monkeypatch):
    def begin(*faults):
        if faults:
            FaultFolder(tmp_path).lay_down(faults, {"rank 0": STEPS})
        return Process(tmp_path, monkeypatch)

    return begin


def fault(number=1, victim="rank 0", **fields):
    return Fault(number=number, victim=victim, watcher="rank 0", **fields)


KILL = [(os.getpid(), signal.SIGKILL)]


def test_a_fault_comes_at_its_step_place_and_visit(begin):
    process = begin(fault(step=3, place="data", visit=2))
    process.step(1, "data", "data")
    process.step(2, "data", "data")
    process.step(3, "backward", "data")
    assert process.sent == []
    process = begin()
    process.step(2)
    process.trigger.reach("data")
    assert process.sent == []
    process.trigger.reach("data")
    assert process.sent == KILL


def test_a_fault_comes_once(begin, tmp_path):
    process = begin(fault(step=2, place="data"))
    process.step(1)
    process.trigger.reach("data")
    assert [each.number for each in FaultFolder(tmp_path).fired()] == [1]
    process = begin()
    process.step(1, "data")
    process.trigger.reach("data")
    assert process.sent == []


def test_a_process_that_went_on_knows_its_step_by_its_state(begin):
    process = begin(fault(step=5, place="data"))
    process.step(3, "data")  # its first step
    assert process.sent == []
    process.step(4, "data")
    process.trigger.reach("data")
    assert process.sent == KILL


def test_a_moment_that_was_missed_is_made_up_for(begin):
    process = begin(fault(step=4, place="data", visit=7))
    process.step(5)
    process.trigger.reach("data")
    assert process.sent == KILL


def test_the_first_step_can_be_hit(begin):
    process = begin(fault(step=1, place="data"))
    process.trigger.reach("data")
    assert process.sent == KILL


def test_a_start_waits_for_the_faults_before_it(begin):
    process = begin(fault(1, step=2, place="data"), fault(2, step=0, place=START))
    process.trigger.reach(START)
    assert process.sent == []
    process.step(1)
    process.trigger.reach("data")
    process = begin()
    process.trigger.reach(START)
    assert process.sent == KILL


def test_the_end_is_the_end_of_the_job(begin):
    process = begin(fault(step=7, place=END))
    process.step(3)
    process.trigger.reach(END)  # it was asked to leave
    assert process.sent == []
    process = begin()
    process.step(6)
    process.trigger.reach(END)
    assert process.sent == KILL


def test_quiet_is_quiet(begin, tmp_path):
    process = begin(fault(step=1, place="data"))
    FaultFolder(tmp_path).be_quiet()
    process.trigger.reach("data")
    assert process.sent == []


def test_another_process_is_hit_if_it_is_the_one_that_was_meant(begin, tmp_path):
    folder = FaultFolder(tmp_path)
    process = begin(fault(victim="launcher", step=1, place="data", signal=signal.SIGTERM))
    process.trigger.reach("data")
    assert process.sent == []  # there is none
    (tmp_path / "pids" / "launcher").write_text(f"{os.getpid()} 1")
    process.trigger.reach("data")
    assert process.sent == []  # its number is another's now
    folder.note_process("launcher", os.getppid())
    process.trigger.reach("data")
    assert process.sent == [(os.getppid(), signal.SIGTERM)]
