"""What the ranks do in the tests of ``fluid.dygraph.DataParallel``; each function runs in the
workers of the pool.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import paddle
import paddle.distributed as dist
import paddle.fluid as fluid
from argosy.foundation.errors import CollectiveMismatch
from support.job import environment, job_variables

Meeting = dict[str, Any]


@contextlib.contextmanager
def prepared(rank: int, world_size: int, meeting: Meeting) -> Iterator[Any]:
    """A guard in which ``prepare_context`` has joined the job; gives the strategy."""
    with environment(job_variables(rank, world_size, meeting)), fluid.dygraph.guard():
        try:
            yield fluid.dygraph.prepare_context()
        finally:
            dist.destroy_process_group()


def context(rank: int, world_size: int, meeting: Meeting) -> dict[str, Any]:
    """What the strategy says, and which calls are refused."""
    with environment(job_variables(rank, world_size, meeting)):
        with pytest.raises(AssertionError, match="guard"):
            fluid.dygraph.prepare_context()
        foreign = fluid.dygraph.parallel.ParallelStrategy()
        foreign.nranks, foreign.local_rank = world_size + 1, rank
        with (
            fluid.dygraph.guard(),
            pytest.raises(AssertionError, match=f"rank {rank} of {world_size + 1}"),
        ):
            fluid.dygraph.prepare_context(foreign)
    with prepared(rank, world_size, meeting) as strategy:
        return vars(strategy)


def _linear(weight: float) -> Any:
    layer = fluid.dygraph.Linear(2, 1, bias_attr=False)
    layer.weight.set_value(np.full((2, 1), weight, "float32"))
    return layer


def _row(value: float) -> Any:
    return fluid.dygraph.to_variable(np.full((1, 2), value, "float32"))


def steps(rank: int, world_size: int, meeting: Meeting) -> dict[str, Any]:
    """Each part of the rule by itself. Inputs are 1, 2, ...; weights differ by rank."""
    with prepared(rank, world_size, meeting) as strategy:
        layer = _linear(1.0 + rank)
        model = fluid.dygraph.DataParallel(layer, strategy)
        seen: dict[str, Any] = {
            "weights": [layer.weight.numpy().ravel()[0]],
            "keys": list(model.state_dict()),
        }
        loss = fluid.layers.mean(model(_row(1.0 + rank)))
        seen["weights"].append(layer.weight.numpy().ravel()[0])
        scaled = model.scale_loss(loss)
        seen["loss"], seen["scaled"], seen["shape"] = float(loss), float(scaled), scaled.shape
        scaled.backward()
        seen["own gradient"] = layer.weight.gradient().ravel()[0]
        model.apply_collective_grads()
        seen["summed gradient"] = layer.weight.gradient().ravel()[0]
        model.clear_gradients()
        seen["cleared gradient"] = layer.weight.gradient().ravel()[0]
        return seen


def built_late(rank: int, world_size: int, meeting: Meeting) -> list[np.ndarray]:
    """The parameters of a layer that makes them at its first call, from a generator that differs by
    rank.
    """
    with prepared(rank, world_size, meeting) as strategy:
        paddle.seed(100 + rank)
        layer = fluid.dygraph.FC("late", size=3)
        fluid.dygraph.DataParallel(layer, strategy)(_row(1.0))
        return [p.numpy() for p in layer.parameters()]


def rows(rank: int, world_size: int, meeting: Meeting) -> Any:
    """The sum of row-sparse gradients: rank r looks up row r and the last one; then a batch that
    only rank 0 has.
    """
    with prepared(rank, world_size, meeting) as strategy:
        table = fluid.dygraph.Embedding([5, 2], is_sparse=True)
        model = fluid.dygraph.DataParallel(table, strategy)
        seen = []
        for ids in ([rank, 4], [3] if rank == 0 else []):
            out = model(fluid.dygraph.to_variable(np.array(ids, "int64")))
            fluid.layers.reduce_sum(out).backward()
            model.apply_collective_grads()
            values, where = table.weight.gradient()
            seen.append(
                {int(row): value.tolist() for row, value in zip(where, values, strict=True)}
            )
            table.weight.clear_gradient(set_to_zero=False)
        return seen


def different_gradients(rank: int, world_size: int, meeting: Meeting) -> None:
    """One rank has a gradient more than the others: an error on each, not a hang."""
    with prepared(rank, world_size, meeting) as strategy:
        pair = fluid.dygraph.LayerList([_linear(1.0), _linear(1.0)])
        model = fluid.dygraph.DataParallel(pair, strategy)
        used = pair if rank == 0 else pair[:1]
        loss = sum([fluid.layers.mean(layer(_row(1.0))) for layer in used])
        loss.backward()
        with pytest.raises(CollectiveMismatch):
            model.apply_collective_grads()


def build() -> Any:
    """A small model with known parameters."""
    model = fluid.dygraph.Sequential(
        fluid.dygraph.Conv2D(1, 3, 3, act="relu"),
        fluid.dygraph.Pool2D(2, "avg", 2),
        fluid.dygraph.Linear(2, 4, act="tanh"),
    )
    rng = np.random.RandomState(3)
    for param in model.parameters():
        param.set_value(rng.normal(0.0, 0.5, param.shape).astype("float32"))
    return model


def train(model: Any, rank: int, world_size: int) -> list[float]:
    """Train on every world_size-th sample; the losses times the number of ranks."""
    rng = np.random.RandomState(5)
    momentum = fluid.optimizer.MomentumOptimizer(0.1, 0.9, parameter_list=model.parameters())
    losses = []
    for _ in range(6):
        images, targets = rng.normal(size=(12, 1, 6, 6)), rng.normal(size=(12, 3, 2, 4))
        x, y = (
            fluid.dygraph.to_variable(a[rank::world_size].astype("float32"))
            for a in (images, targets)
        )
        loss = fluid.layers.mean(fluid.layers.square_error_cost(model(x), y))
        loss = model.scale_loss(loss)
        loss.backward()
        model.apply_collective_grads()
        momentum.minimize(loss)
        model.clear_gradients()
        losses.append(float(loss) * world_size)
    return losses


def trained(
    rank: int, world_size: int, meeting: Meeting
) -> tuple[list[float], dict[str, np.ndarray]]:
    with prepared(rank, world_size, meeting) as strategy:
        model = build()
        losses = train(fluid.dygraph.DataParallel(model, strategy), rank, world_size)
        return losses, {name: value.numpy() for name, value in model.state_dict().items()}
