"""The warm pool itself: what the other tests rely on."""

from __future__ import annotations

import os

import pytest

from support.pool import Pool, WorkerFailed

HERE = "multiprocess.pool_workers"


def test_results_in_rank_order(pool):
    assert pool.run(f"{HERE}:square", 3, base=4) == [
        (0, 3, 16),
        (1, 3, 25),
        (2, 3, 36),
    ]


def test_processes_are_reused(pool):
    pids = pool.run(f"{HERE}:pid", 2)
    assert len({os.getpid(), *pids}) == 3
    assert pool.run(f"{HERE}:pid", 2) == pids


def test_an_error_shows_rank_and_traceback(pool):
    with pytest.raises(
        WorkerFailed,
        match=r"rank 1 of multiprocess.pool_workers:fail_on: Traceback(.|\n)*does not like this",
    ):
        pool.run(f"{HERE}:fail_on", 2, culprit=1)


def test_a_crash_and_a_hang_are_reported_and_replaced(pool):
    pids = pool.run(f"{HERE}:pid", 2)
    with pytest.raises(WorkerFailed) as caught:
        pool.run(f"{HERE}:misbehave", 2, deadline_s=0.5)
    message = str(caught.value)
    assert "rank 1 of multiprocess.pool_workers:misbehave died with exit code 7" in message
    assert "ranks [0] of multiprocess.pool_workers:misbehave did not answer within 0.5 s" in message
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert not set(pool.run(f"{HERE}:pid", 2)) & set(pids)


def test_close_leaves_no_process():
    with Pool(1) as own:
        (pid,) = own.run(f"{HERE}:pid", 1)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
