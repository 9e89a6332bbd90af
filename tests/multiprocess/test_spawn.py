"""``paddle.distributed.spawn``. Processes come from a server that has torch imported, but for the
one test of the default way.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time

import pytest

import paddle
import paddle.distributed as dist
from argosy.foundation.errors import ChildFailed
from support.launcher import until

QUICK = {"start_method": "forkserver"}


def place():
    env = os.environ
    return (
        env["PADDLE_TRAINER_ID"],
        env["PADDLE_TRAINERS_NUM"],
        env["PADDLE_CURRENT_ENDPOINT"] in env["PADDLE_TRAINER_ENDPOINTS"].split(","),
    )


def summed(start):
    dist.init_parallel_env()
    x = paddle.to_tensor([start + dist.get_rank()])
    dist.all_reduce(x)
    return float(x)


def echo(value):
    return value


def large():
    return bytes(10_000_000)


def fail_on(culprit, folder):
    """The culprit fails; whoever sees that fails too, later."""
    rank = int(os.environ["PADDLE_TRAINER_ID"])
    if rank == culprit:
        raise ValueError(f"rank {rank} has no luck")
    while not os.path.exists(os.path.join(folder, "never")):
        time.sleep(0.01)


def kill_itself():
    os.kill(os.getpid(), signal.SIGKILL)


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.01)
    return os.getpid()


def unpicklable():
    return lambda: None


def leave():
    raise SystemExit(0)


def test_default_way_to_start():
    context = dist.spawn(summed, args=(1.0,), nprocs=2)
    assert [queue.get() for queue in context.return_queues] == [3.0, 3.0]
    assert [process.exitcode for process in context.processes] == [0, 0]


def test_each_process_knows_its_place():
    context = dist.spawn(place, nprocs=3, **QUICK)
    assert [queue.get() for queue in context.return_queues] == [
        (str(rank), "3", True) for rank in range(3)
    ]


def test_arguments_and_large_results():
    assert [
        q.get() for q in dist.spawn(echo, args=([1, {"a": 2}],), nprocs=2, **QUICK).return_queues
    ] == [[1, {"a": 2}]] * 2
    assert [len(q.get()) for q in dist.spawn(large, nprocs=2, **QUICK).return_queues] == [
        10_000_000
    ] * 2


def test_a_traceback_comes_back_with_its_rank(tmp_path):
    context = dist.spawn(fail_on, args=(1, str(tmp_path)), nprocs=3, join=False, **QUICK)
    with pytest.raises(ChildFailed, match=r"process 1 .* exited with code 1") as caught:
        context.join()
    assert "ValueError: rank 1 has no luck" in str(caught.value)
    assert 'raise ValueError(f"rank {rank} has no luck")' in str(caught.value)
    assert not any(process.is_alive() for process in context.processes)
    with pytest.raises(ChildFailed, match="process 1"):
        context.join()


def test_a_killed_process_is_named():
    with pytest.raises(ChildFailed, match=r"process \d .* was killed by SIGKILL"):
        dist.spawn(kill_itself, nprocs=2, **QUICK)


def test_join_later(tmp_path):
    context = dist.spawn(wait_for, args=(str(tmp_path / "go"),), nprocs=2, join=False, **QUICK)
    assert context.join(timeout=0.05) is False
    (tmp_path / "go").touch()
    assert context.join(timeout=30) is True
    assert [queue.get() for queue in context.return_queues] == context.pids()
    assert context.join() is True


def test_daemons_and_termination(tmp_path):
    context = dist.spawn(
        wait_for, args=(str(tmp_path / "never"),), nprocs=2, join=False, daemon=True, **QUICK
    )
    assert all(process.daemon for process in context.processes)
    context.terminate()
    assert not any(process.is_alive() for process in context.processes)


def test_results_that_cannot_be_sent():
    with pytest.raises(ChildFailed, match="pickle"):
        dist.spawn(unpicklable, nprocs=1, **QUICK)


def test_a_process_that_leaves_with_0_has_no_result():
    context = dist.spawn(leave, nprocs=2, **QUICK)
    assert all(queue.empty() for queue in context.return_queues)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"start_methd": "fork"},
            r"the config option \(start_methd\) is not supported. Did you mean 'start_method'",
        ),
        ({"nprocs": 0}, "nprocs must be -1 or at least 1"),
        ({"backend": "carrier pigeon"}, "backend must be one of"),
        ({"ips": "10.0.0.1,10.0.0.2"}, "this host only"),
    ],
    ids=["unknown option", "no process", "unknown backend", "other hosts"],
)
def test_spawn_refuses(options, message):
    with pytest.raises(ValueError, match=message):
        dist.spawn(place, **{"nprocs": 1, **options})


@pytest.mark.parametrize("is_main", [True, False], ids=["main thread", "other thread"])
def test_nobody_is_left_when_the_caller_is_killed(tmp_path, is_main):
    """The kernel ends the children of a main thread; those of another thread look after
    themselves.
    """
    process = multiprocessing.get_context("forkserver").Process(
        target=_spawn_and_wait, args=(str(tmp_path), is_main)
    )
    process.start()
    until(lambda: len(list(tmp_path.glob("pid.*"))) == 2, "the spawned processes")
    pids = [int(path.read_text()) for path in tmp_path.glob("pid.*")]
    process.kill()
    process.join()
    until(
        lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids),
        "the end of the spawned processes",
    )


def _spawn_and_wait(folder, is_main):
    def call():
        dist.spawn(_write_pid_and_wait, args=(folder,), nprocs=2, start_method="fork")

    if is_main:
        call()
    else:
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()


def _write_pid_and_wait(folder):
    rank = os.environ["PADDLE_TRAINER_ID"]
    with open(os.path.join(folder, f"tmp.{rank}"), "w") as file:
        file.write(str(os.getpid()))
    os.rename(file.name, os.path.join(folder, f"pid.{rank}"))
    wait_for(os.path.join(folder, "never"))
