"""Deep gradient compression: numbers against a reference in NumPy, and bytes that shrink."""

from __future__ import annotations

import numpy as np
import pytest

from argosy.runtime.parallel.dgc import sparsity_at
from multiprocess import strategy_workers as workers
from support.job import run_job

HERE = "multiprocess.strategy_workers"
SHAPES = [(40, 10), (3,), (200,)]


def reference(
    world_size, steps, momentum, use_nesterov=False, rampup_begin_step=0, rampup_step=1,
    sparsity=(0.999,), clip_norm=None,
    weight_decay=0.0, min_numel=100,
):  # fmt: skip
    """The algorithm of the paper, one rank after the other; what stays behind at step t is a list
    entry by t.
    """
    params = [workers.gradient(99, 0, i, shape).numpy() for i, shape in enumerate(SHAPES)]
    u = [[np.zeros(shape) for shape in SHAPES] for _ in range(world_size)]
    v = [[np.zeros(shape) for shape in SHAPES] for _ in range(world_size)]
    history = []
    for step in range(steps):
        grads = [
            [workers.gradient(r, step, i, s).numpy() for i, s in enumerate(SHAPES)]
            for r in range(world_size)
        ]
        for i, param in enumerate(params):
            is_sparse = step >= rampup_begin_step and param.size >= min_numel
            if not is_sparse:
                g = np.mean([grads[r][i] for r in range(world_size)], 0) + weight_decay * param
                for r in range(world_size):
                    u[r][i] = momentum * u[r][i] + g
                direction = g + momentum * u[0][i] if use_nesterov else u[0][i]
            else:
                direction = np.zeros(param.shape)
                phase = min(
                    (step - rampup_begin_step) * len(sparsity) // rampup_step, len(sparsity) - 1
                )
                k = max(1, round(param.size * (1 - sparsity[phase])))
                for r in range(world_size):
                    g = grads[r][i]
                    if clip_norm is not None:
                        limit = clip_norm / world_size**0.5
                        g = g * min(1.0, limit / np.linalg.norm(g))
                    g = g + weight_decay * param
                    if use_nesterov:
                        u[r][i] = momentum * (u[r][i] + g)
                        v[r][i] = v[r][i] + u[r][i] + g
                    else:
                        u[r][i] = momentum * u[r][i] + g
                        v[r][i] = v[r][i] + u[r][i]
                    chosen = np.argsort(-np.abs(v[r][i]).ravel())[:k]
                    mask = np.zeros(param.size, bool)
                    mask[chosen] = True
                    mask = mask.reshape(param.shape)
                    direction = direction + np.where(mask, v[r][i], 0.0) / world_size
                    u[r][i] = np.where(mask, 0.0, u[r][i])
                    v[r][i] = np.where(mask, 0.0, v[r][i])
            params[i] = param - 0.1 * direction
        history.append([p.copy() for p in params])
    return history


SETTINGS = [
    {"momentum": 0.9, "rampup_begin_step": 2, "rampup_step": 4, "sparsity": [0.5, 0.75, 0.9]},
    {
        "momentum": 0.9,
        "use_nesterov": True,
        "rampup_begin_step": 1,
        "rampup_step": 2,
        "sparsity": [0.75, 0.95],
    },
    {"momentum": 0.5, "sparsity": [0.9], "clip_norm": 0.3, "weight_decay": 0.1},
    {"momentum": 0.9, "rampup_begin_step": 99},
]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize(("world_size", "backend"), [(2, "shm"), (4, "shm"), (2, "gloo")])
def test_parameters_are_those_of_the_paper(pool, world_size, backend, settings):
    found = run_job(
        pool,
        f"{HERE}:dgc",
        world_size,
        shapes=SHAPES,
        steps=8,
        backend=backend,
        dtype="float64",
        min_numel=100,
        **settings,
    )
    wanted = reference(world_size, 8, **settings)
    for seen, _ in found:
        for ours, theirs in zip(seen, wanted, strict=True):
            for a, b in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def test_nothing_is_lost(pool):
    """Without momentum, what was sent plus what waits is all there was: with sparsity 0 it is plain
    averaging.
    """
    found = run_job(
        pool,
        f"{HERE}:dgc",
        2,
        shapes=SHAPES,
        steps=4,
        backend="shm",
        dtype="float64",
        momentum=0.0,
        sparsity=[0.0],
        min_numel=1,
    )
    dense = reference(2, 4, 0.0, rampup_begin_step=99)
    for a, b in zip(found[0][0][-1], dense[-1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("world_size", [2, 4])
def test_bytes_shrink(pool, world_size):
    shapes = [(256, 128), (64,)]
    numel = 256 * 128
    found = run_job(
        pool, f"{HERE}:dgc", world_size, shapes=shapes, steps=4, backend="shm", dtype="float32",
        momentum=0.9, rampup_begin_step=1,
        rampup_step=2, sparsity=[0.75, 0.999],
    )  # fmt: skip
    for _, (dense, first, *rest) in found:
        assert dense == {"all_reduce": (numel + 64) * 4}
        assert first == {"all_reduce": 64 * 4, "all_gather": numel // 4 * 8}
        assert all(
            sent == {"all_reduce": 64 * 4, "all_gather": round(numel * 0.001) * 8} for sent in rest
        )
        assert sum(rest[-1].values()) < 0.005 * sum(dense.values())


def test_ramp():
    assert [sparsity_at(step, 3, 4, [0.1, 0.2]) for step in range(9)] == [
        0,
        0,
        0,
        0.1,
        0.1,
        0.2,
        0.2,
        0.2,
        0.2,
    ]
