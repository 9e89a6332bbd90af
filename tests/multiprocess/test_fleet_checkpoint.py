"""Checkpoints of several ranks: a job goes on with as many ranks or others, and gives the numbers
of one that was never interrupted.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from multiprocess import checkpoint_workers
from support.job import run_job

HERE = "multiprocess.checkpoint_workers"


def curve(results):
    """Of each step the samples of all ranks and the mean of their losses."""
    steps = []
    for parts in zip(*results, strict=True):
        samples = sorted(i for indices, _ in parts for i in indices)
        steps.append((samples, float(np.mean([loss for _, loss in parts]))))
    return steps


def assert_equal_curves(found, expected, rtol=1e-9):
    assert [samples for samples, _ in found] == [samples for samples, _ in expected]
    np.testing.assert_allclose(
        [loss for _, loss in found], [loss for _, loss in expected], rtol=rtol
    )


def face(pool, world_size, folder, kind, num_steps=99, every=5):
    if world_size == 1:
        return curve([checkpoint_workers.face_alone(str(folder), kind, num_steps, every)])
    return curve(
        run_job(
            pool,
            f"{HERE}:face",
            world_size,
            folder=str(folder),
            kind=kind,
            num_steps=num_steps,
            every=every,
        )
    )


@pytest.mark.filterwarnings("ignore:paddle.amp. float16 makes no effect on CPU")
@pytest.mark.parametrize(
    "kind",
    ["plain", "gradient_merge", "sharding", "split_parameters", "fleet_sharding", "hybrid", "amp"],
)
def test_two_ranks_go_on_as_one_two_or_four(pool, tmp_path, kind):
    whole = face(pool, 2, tmp_path / "whole", kind)
    assert len(whole) == 12
    assert_equal_curves(face(pool, 1, tmp_path / "alone", kind), whole)
    for world_size in (1, 2, 4):
        folder = tmp_path / str(world_size)
        assert_equal_curves(face(pool, 2, folder, kind, num_steps=7), whole[:7])
        assert_equal_curves(face(pool, world_size, folder, kind), whole[5:])
    assert_equal_curves(face(pool, 2, folder, kind), [])  # it is complete


def test_copies_of_shards_go_on_as_others(pool, tmp_path):
    """Two copies of two shards, of which each rank has a part, become one copy, or one process."""
    whole = face(pool, 2, tmp_path / "whole", "hybrid")
    for world_size in (1, 2):
        folder = tmp_path / str(world_size)
        assert_equal_curves(face(pool, 4, folder, "hybrid", num_steps=7), whole[:7])
        assert_equal_curves(face(pool, world_size, folder, "hybrid"), whole[5:])


@pytest.mark.parametrize("kind", ["localsgd", "adaptive_localsgd", "dgc"])
def test_what_each_rank_has_of_its_own_comes_back(pool, tmp_path, kind):
    """Their mathematics depends on the number of ranks: with as many, every number is the same;
    with others, samples and position are.
    """
    whole = face(pool, 2, tmp_path / "whole", kind)
    face(pool, 2, tmp_path / "parts", kind, num_steps=7)
    assert_equal_curves(face(pool, 2, tmp_path / "parts", kind), whole[5:], rtol=0)
    face(pool, 2, tmp_path / "other", kind, num_steps=7)
    other = face(pool, 4, tmp_path / "other", kind)
    assert [samples for samples, _ in other] == [samples for samples, _ in whole[5:]]
    assert np.isfinite([loss for _, loss in other]).all()


def torch_curve(pool, world_size, folder, kind, num_steps):
    results = run_job(
        pool,
        f"{HERE}:torch_modules",
        world_size,
        folder=str(folder),
        kind=kind,
        num_steps=num_steps,
    )
    return np.mean(results, axis=0)


def test_torch_localsgd_keeps_the_state_of_each_rank(pool, tmp_path):
    whole = torch_curve(pool, 2, tmp_path / "whole", "localsgd", 8)
    torch_curve(pool, 2, tmp_path / "parts", "localsgd", 4)
    np.testing.assert_array_equal(
        torch_curve(pool, 2, tmp_path / "parts", "localsgd", 8), whole[4:]
    )


@pytest.mark.parametrize("kind", ["plain", "sharding"])
def test_torch_modules(pool, tmp_path, kind):
    whole = torch_curve(pool, 2, tmp_path / "whole", kind, 8)
    for world_size in (1, 2, 4):
        folder = tmp_path / str(world_size)
        np.testing.assert_allclose(torch_curve(pool, 2, folder, kind, 4), whole[:4], rtol=1e-9)
        np.testing.assert_allclose(
            torch_curve(pool, world_size, folder, kind, 8), whole[4:], rtol=1e-9
        )


@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_no_sample_is_lost_if_batches_do_not_fit(pool, tmp_path, world_size):
    """11 samples, 12 with the filling; 4 are used by two ranks. The 8 left are filled up to divide
    evenly.
    """
    folder = str(tmp_path)
    first = run_job(pool, f"{HERE}:uneven", 2, folder=folder, num_batches=1)
    begun = sorted(i for part in first for i in part)
    assert len(begun) == 4
    rest = sorted(
        i
        for part in run_job(pool, f"{HERE}:uneven", world_size, folder=folder, num_batches=99)
        for i in part
    )
    assert set(begun) | set(rest) == set(range(11))
    assert len(rest) == -(-8 // world_size) * world_size


def test_buffers_of_a_rank(pool, tmp_path):
    folder = str(tmp_path)
    means = [0.0, pytest.approx(0.1)]
    assert run_job(pool, f"{HERE}:batch_norm", 2, folder=folder) == [[mean, 1.0] for mean in means]
    assert run_job(pool, f"{HERE}:batch_norm", 2, folder=folder) == [[mean, 1.0] for mean in means]
    assert run_job(pool, f"{HERE}:batch_norm", 3, folder=folder) == [[pytest.approx(0.05), 1.0]] * 3


def test_equal_tensors_are_written_once(pool, tmp_path):
    face(pool, 2, tmp_path, "plain", num_steps=7)
    manifest = json.loads((tmp_path / "step-0000000005" / "manifest.json").read_text())
    first, second = (fact["bytes"] for fact in manifest["files"])
    own = [p.stat().st_size for p in sorted((tmp_path / "step-0000000005").glob("rank-*"))]
    assert own == [first, second]
    text = (tmp_path / "step-0000000005" / "rank-00001.state").read_bytes()
    assert b'"same"' in text
    assert b'"kind": "face"' not in text


def test_a_rank_that_cannot_write(pool, tmp_path):
    results = run_job(pool, f"{HERE}:a_rank_that_cannot_write", 2, folder=str(tmp_path))
    assert results == [[".step-0000000002.writing", "step-0000000001"]] * 2


def test_static_programs(pool, tmp_path):
    """A folder that two workers wrote, with and without sharded state, is read by one, two and
    four.
    """

    def run(world_size, folder, begin, end):
        options = {"begin": begin, "end": end, "is_sharded": folder.name.endswith("sharded")}
        results = run_job(pool, f"{HERE}:static", world_size, folder=str(folder), **options)
        assert all("__model__" in files for _, _, files in results)
        assert len({tuple(files) for _, files, _ in results}) == 1
        return np.mean([losses for losses, _, _ in results], axis=0)

    whole = run(2, tmp_path / "whole", 0, 6)
    for name in ("1", "2", "4", "1-sharded", "2-sharded"):
        folder, world_size = tmp_path / name, int(name[0])
        np.testing.assert_allclose(run(2, folder, 0, 3), whole[:3], rtol=1e-9)
        np.testing.assert_allclose(run(world_size, folder, 3, 6), whole[3:], rtol=1e-9)
