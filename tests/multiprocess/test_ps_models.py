"""Known models in sync mode: two workers on halves of the batches train as one process on all of
them does, to the last bit the same each time.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from goldens import ps_programs
from multiprocess import ps_model_workers
from support import ps_jobs

DATA = Path(__file__).resolve().parents[1] / "goldens" / "data"
TOLERANCE = 1e-6
LIKE = {
    ps_model_workers.wide_and_deep_program: {"wide": np.zeros((20, 1)), "deep": np.zeros((20, 4))},
    ps_model_workers.word2vec_program: {"inner": np.zeros((15, 4)), "outer": np.zeros((15, 4))},
}


def close(found, expected, what):
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE, err_msg=what)


def same_training(workers, losses, values):
    """Every worker ends with ``values``; the mean of their losses is that of the union of their
    batches.
    """
    close(np.mean([own for own, *_ in workers], axis=0), losses, "losses")
    for _, found, *_ in workers:
        assert found.keys() == values.keys()
        for name, expected in values.items():
            close(found[name], expected, name)


def test_losses_are_those_of_real_paddle_servers():
    """A multilayer perceptron over slots that share a table; every run gives the same bits."""
    golden = dict(np.load(DATA / "ps_262.npz"))
    losses = golden.pop("losses")
    assert len(losses) == ps_programs.STEPS
    runs = [ps_jobs.run(ps_model_workers.golden_program) for _ in range(2)]
    same_training(runs[0], losses, golden)
    for (own, found, _), (own_again, found_again, _) in zip(*runs, strict=True):
        assert (own == own_again).all()
        for name, values in found.items():
            assert (values == found_again[name]).all(), name


@pytest.mark.parametrize("model", LIKE)
def test_a_program_equals_one_process(model):
    workers = ps_jobs.run(model, rows=LIKE[model])
    first = workers[0][2]
    # rows begin with different values
    assert all(np.ptp(values) > 0.5 for values in first.values())
    [(losses, values, _)] = ps_jobs.run(model, num_servers=0, rows=first)
    same_training(workers, losses, values)


@pytest.mark.parametrize(
    "model", [ps_model_workers.word2vec_layer, ps_model_workers.wide_and_deep_module]
)
def test_a_model_equals_one_process(model):
    [(losses, values)] = ps_jobs.run(model, num_servers=0)
    same_training(ps_jobs.run(model), losses, values)
