"""``paddle.distributed.rpc`` between real processes."""

from __future__ import annotations

from support.job import run_job

HERE = "multiprocess.rpc_workers"


def test_everyone_calls_everyone(pool):
    results = run_job(pool, f"{HERE}:everyone_calls_everyone", 3)
    assert [path for path, _ in results] == [
        ["worker2", "worker0", "worker1", "worker2"], None, None
    ]  # fmt: skip
    assert [seen for _, seen in results] == [[2], [0], [1]]


def test_a_job_meets_again(pool):
    assert run_job(pool, f"{HERE}:twice", 2) == [[0, 0], [1, 1]]
