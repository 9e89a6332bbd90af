"""Programs that several processes train: the same parameters as one Executor on the whole batch."""

from __future__ import annotations

import numpy as np
import pytest

from multiprocess import static_workers
from support.job import run_job

HERE = "multiprocess.static_workers"


def assert_equal(found, expected):
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=2e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("num_places", [1, 2])
@pytest.mark.parametrize("optimizer", list(static_workers.OPTIMIZERS))
def test_trainers_equal_one_executor(pool, optimizer, num_places):
    model = {"optimizer": optimizer}
    expected = static_workers.train_whole(5, **model)
    for values in run_job(
        pool, f"{HERE}:train", 2, steps=5, num_places=num_places, strategy={}, model=model
    ):
        assert_equal(values, expected)


def test_three_trainers_with_unequal_parts_agree(pool):
    found = run_job(
        pool, f"{HERE}:train", 3, steps=3, num_places=1, strategy={}, model={"optimizer": "adam"}
    )
    for values in found[1:]:
        for name, value in found[0].items():
            np.testing.assert_array_equal(values[name], value, err_msg=name)


def test_row_sparse_gradients_are_joined(pool):
    model = {"optimizer": "sgd", "is_sparse": True}
    expected = static_workers.train_whole(4, **model)
    for values in run_job(
        pool, f"{HERE}:train", 2, steps=4, num_places=2, strategy={}, model=model
    ):
        assert_equal(values, expected)


def test_batch_statistics_span_places_and_trainers(pool):
    model = {"optimizer": "sgd", "has_norm": True}
    expected = static_workers.train_whole(4, **model)
    for values in run_job(
        pool,
        f"{HERE}:train",
        2,
        steps=4,
        num_places=2,
        strategy={"sync_batch_norm": True},
        model=model,
    ):
        assert_equal(values, expected)


def test_a_plain_executor_trains_a_program_compiled_for_trainers(pool):
    model = {"optimizer": "adam"}
    expected = static_workers.train_whole(4, **model)
    for values in run_job(pool, f"{HERE}:train_attached", 2, steps=4, model=model):
        assert_equal(values, expected)


def test_collectives_of_1x_pass_gradients_on(pool):
    first, second = run_job(pool, f"{HERE}:fluid_collectives", 2)
    assert first == {
        "sum": [3.0, 3.0],
        "joined": [1.0, 1.0, 2.0, 2.0],
        "part": [3.0],
        "grad of sum": [30.0, 30.0],
        "grad of joined": [30.0, 30.0],
        "grad of part": [10.0, 20.0],
        "max": [2.0, 2.0],
        "prod": [2.0, 2.0],
        "root": [2.0, 2.0],
        "same": [1.0, 1.0],
    }
    assert second == first | {"same": [2.0, 2.0]}
