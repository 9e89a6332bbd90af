"""Helpers that hang, vanish or do not want to go: whoever waits for them is told, or goes on, in
time.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from argosy import reader
from argosy.foundation.errors import ChildFailed
from argosy.io import DataLoader, Dataset
from argosy.io._dataloader import BatchIterator
from argosy.reader import _parallel
from argosy.runtime.launch.process_pool import ProcessPool
from argosy.runtime.launch.process_spec import ProcessSpec
from argosy.runtime.launch.roster import RANK, Member
from argosy.runtime.launch.spawn import start
from argosy.static.parallel import thread_pool

SOON_S = 20.0  # far below the hour that the helpers of these tests would take


@pytest.fixture
def clock(record_property):
    """Call it to note the seconds until now; they must be few."""
    begin = time.monotonic()

    def named():
        seconds = time.monotonic() - begin
        record_property("named_s", seconds)
        assert seconds < SOON_S

    return named


class Numbers(Dataset):
    def __init__(self, act):
        self.act = act

    def __len__(self):
        return 8

    def __getitem__(self, i):
        if i == 5:
            self.act()
        return np.float32(i)


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def hang():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(3600)


# -- data
# --------------------------------------------------------------------------------------------------


# torch tells of the death by a signal, which may reach the main thread while torch itself makes an
# object; that one is then deleted half made, and complains
@pytest.mark.filterwarnings("ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.attack("a DataLoader worker killed by the system")
def test_a_killed_loader_worker_is_named(clock):
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid.*\d+\)"):
        list(DataLoader(Numbers(die), batch_size=2, num_workers=2))
    clock()


class Resets:
    """A pass whose worker has shut its socket, and ends only after that."""

    def __init__(self, lives_s):
        self._workers = [
            multiprocessing.get_context("fork").Process(target=time.sleep, args=[lives_s])
        ]
        self._workers[0].start()

    def __next__(self):
        raise ConnectionResetError("reset by peer")

    def _shutdown_workers(self):
        self._workers[0].kill()


@pytest.mark.attack("a DataLoader worker that dies while its batch is fetched")
def test_a_loader_worker_that_dies_while_its_batch_is_fetched_is_named(clock):
    batches = BatchIterator(DataLoader(Numbers(die), batch_size=2), Resets(lives_s=0.3))
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid.*\d+\) exited unexpectedly"):
        next(batches)
    clock()


def test_a_connection_that_fails_in_a_worker_that_lives_is_the_error(clock):
    batches = BatchIterator(DataLoader(Numbers(die), batch_size=2), Resets(lives_s=3600))
    with pytest.raises(ConnectionResetError, match="reset by peer"):
        next(batches)
    clock()


@pytest.mark.attack("a DataLoader worker that hangs, with a timeout")
def test_a_loader_worker_that_hangs_is_ended(clock):
    with pytest.raises(RuntimeError, match="timed out after 1 s"):
        list(DataLoader(Numbers(hang), batch_size=2, num_workers=1, timeout=1))
    clock()


@pytest.mark.attack("a reader process that dies while its child keeps the pipe")
def test_a_reader_process_whose_child_lives_on(tmp_path, clock):
    def source():
        yield 1
        child = os.fork()
        if child == 0:
            time.sleep(3600)
        (tmp_path / "pid").write_text(str(child))
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(ChildFailed, match="the process of reader 0 died before its end"):
        list(reader.multiprocess_reader([source])())
    clock()
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


@pytest.mark.attack("a reader process that ignores SIGTERM")
def test_a_reader_process_that_does_not_want_to_end(monkeypatch, clock):
    monkeypatch.setattr(_parallel, "_GRACE_S", 0.2)

    def source():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        yield 1
        time.sleep(3600)

    samples = reader.multiprocess_reader([source])()
    assert next(samples) == 1
    samples.close()
    clock()


@pytest.mark.attack("a reader that never gives its next sample")
def test_a_reader_that_hangs_does_not_hold_up_the_loop(monkeypatch, clock):
    monkeypatch.setattr(_parallel, "_END_S", 0.2)
    gate = threading.Event()

    def source():
        yield 1
        gate.wait(3600)

    samples = reader.buffered(source, 2)()
    assert next(samples) == 1
    with pytest.warns(RuntimeWarning, match="the reader has not returned for 0.2 s"):
        samples.close()
    clock()
    gate.set()


# -- processes and threads
# ------------------------------------------------------------------------------------------


def dies_with_a_child(folder):
    if os.environ["PADDLE_TRAINER_ID"] == "0":
        time.sleep(3600)
    child = os.fork()
    if child == 0:
        time.sleep(3600)
    with open(f"{folder}/pid", "w") as file:
        file.write(str(child))
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.attack("a spawned process that is killed while its child lives on")
def test_a_spawned_process_whose_child_lives_on(tmp_path, clock):
    context = start(dies_with_a_child, (str(tmp_path),), 2, start_method="fork")
    with pytest.raises(ChildFailed, match=r"spawn: process 1 \(pid \d+\) was killed by SIGKILL"):
        context.join()
    clock()
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


@pytest.mark.attack("a worker that leaves its process group")
def test_a_worker_that_leaves_its_group_is_ended(clock):
    text = "import os, sys, time; os.setsid(); print(flush=True); time.sleep(3600)"
    ends, begins = os.pipe()
    process = ProcessSpec(
        member=Member(RANK, 0), argv=(sys.executable, "-S", "-c", text), environment={}
    )
    with open(ends, "rb") as said, ProcessPool() as pool:
        with open(begins, "wb") as log:
            pool.start(process, log)
        assert said.readline() == b"\n"
    clock()


@pytest.mark.attack("a program of several places without a thread to be had")
def test_places_without_threads(monkeypatch, clock):
    made = itertools.count()

    class Scarce(threading.Thread):
        def start(self):
            if next(made) == 1:
                raise RuntimeError("can't start new thread")
            super().start()

    pool = thread_pool.ThreadPool(3, "places")
    with monkeypatch.context() as patch:
        patch.setattr(thread_pool.threading, "Thread", Scarce)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            pool.run([lambda: 1] * 3)
    clock()
    assert [value for value, _ in pool.run([lambda: 1] * 3)] == [1, 1, 1]
    pool.close()


def test_the_guard_sees_what_is_left(tmp_path):
    """Of each kind; the names are in the failure."""
    from support import leftovers

    def leave():
        with leftovers.guard():
            resources.append(subprocess.Popen(["sleep", "3600"]))
            resources.append(open(tmp_path / "file", "w"))  # noqa: SIM115
            thread = threading.Thread(target=gate.wait, args=(3600,), name="left-over")
            thread.start()

    resources, gate = [], threading.Event()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leftovers, "WAIT_S", 0.1)
        with pytest.raises(pytest.fail.Exception) as caught:
            leave()
    gate.set()
    resources[0].kill()
    resources[0].wait()
    resources[1].close()
    for words in (
        f"process {resources[0].pid} (sleep 3600)",
        f"of {tmp_path / 'file'}",
        "thread 'left-over'",
    ):
        assert words in str(caught.value)
