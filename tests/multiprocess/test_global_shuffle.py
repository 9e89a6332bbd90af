"""A shuffle over workers loses nothing, doubles nothing, and spreads samples."""

from __future__ import annotations

import pytest

from support.job import run_job

HERE = "multiprocess.dataset_workers"


@pytest.mark.parametrize(("world_size", "backend"), [(2, "shm"), (3, "gloo")])
def test_every_sample_arrives_once(pool, tmp_path, world_size, backend):
    results = run_job(
        pool,
        f"{HERE}:global_shuffle",
        world_size,
        backend=backend,
        folder=str(tmp_path),
        has_id=False,
    )
    expected = [
        ([v] * (n % 3 + 1), v + 0.5)
        for r in range(world_size)
        for n in range(1, 200 * (r + 1))
        for v in [1000 * r + n]
    ]
    assert sorted(sample for found, *_ in results for sample in found) == sorted(expected)
    for found, total, mine, shuffled in results:
        assert total == shuffled == len(expected)
        assert mine == len(found)
        assert abs(len(found) - len(expected) / world_size) < 0.2 * len(expected) / world_size
        assert {int(value) // 1000 for _, value in found} == set(range(world_size))
        assert found != sorted(found)


def test_samples_with_the_same_id_meet(pool, tmp_path):
    results = run_job(pool, f"{HERE}:global_shuffle", 2, folder=str(tmp_path), has_id=True)
    first, second = ({int(value) % 50 for _, value in found} for found, *_ in results)
    assert first
    assert second
    assert not first & second
