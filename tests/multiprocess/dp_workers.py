"""What the ranks do in the tests of data parallelism; each function runs in the workers of the
pool.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import os
import pickle
import signal
import time
import warnings
import weakref
from typing import Any

import numpy as np
import pytest
import torch
import torch.utils.checkpoint

import paddle
import paddle.distributed as dist
from argosy.foundation.errors import CollectiveMismatch, NotSupported, PeerLost
from paddle import nn
from support import models
from support.job import joined_job

Meeting = dict[str, Any]


def train(
    rank: int, world_size: int, meeting: Meeting, *, name: str, dtype: str, steps: int,
    backend: str = "auto",
    norm: str = "SyncBatchNorm", **options: Any,
) -> tuple[list[float], dict[str, np.ndarray]]:  # fmt: skip
    """Train a model on this rank's shards; the losses and the state in the end."""
    with joined_job(rank, world_size, meeting, backend):
        model = models.build(paddle, name, dtype, norm)
        wrapped = paddle.DataParallel(model, **options)
        losses = models.train(paddle, name, wrapped, steps, dtype, rank, world_size)
        return losses, models.state_of(model)


def _weight(value: float = 1.0, size: int = 2) -> nn.Linear:
    layer = nn.Linear(size, 1, bias_attr=False)
    layer.weight.set_value(np.full((size, 1), value, "float32"))
    return layer


def _row(value: float) -> paddle.Tensor:
    return paddle.to_tensor(np.full((1, 2), value, "float32"))


def _first(param: paddle.Tensor) -> float:
    return float(param.grad.numpy().ravel()[0])


def accumulation(rank: int, world_size: int, meeting: Meeting, *, backend: str) -> list[float]:
    """The gradient after each of several ways to accumulate; inputs are 1 and 2, then 10 and 20."""
    with joined_job(rank, world_size, meeting, backend):
        layer = _weight()
        model = paddle.DataParallel(layer)
        small, large = _row(1.0 + rank), _row(10.0 * (1 + rank))
        seen = []

        def note(is_last: bool = False) -> None:
            seen.append(_first(layer.weight))
            if is_last:
                layer.clear_gradients()

        model(small).sum().backward()
        note()
        model(large).sum().backward()  # added to the average
        note(is_last=True)
        with model.no_sync():
            model(small).sum().backward()
        note()
        model(large).sum().backward()  # averages the total
        note(is_last=True)
        layer(small).sum().backward()  # past the wrapper: not synchronised
        note(is_last=True)
        (model(small) + model(large)).sum().backward()  # two forwards, one backward
        note(is_last=True)
        loss = model(small).sum()
        loss.backward(retain_graph=True)
        loss.backward()
        note(is_last=True)
        synchronised = model(small).sum()
        with model.no_sync():
            local = model(large).sum()
        synchronised.backward()  # what counts is where the forward ran
        note()
        local.backward()
        note(is_last=True)
        with model.no_sync(), paddle.no_grad():
            model(small)
        layer.weight.grad = None
        model(small).sum().backward()
        note(is_last=True)
        return seen


class Branches(nn.Layer):
    """Uses the sublayers it is told to."""

    def __init__(self, count: int = 3) -> None:
        super().__init__()
        self.parts = nn.LayerList([_weight(1.0) for _ in range(count)])

    def forward(self, x: paddle.Tensor, used: list[int]) -> paddle.Tensor:
        total = paddle.zeros([1, 1])
        for index in used:
            total = total + self.parts[index](x)
        return total

    def grads(self) -> list[float | None]:
        return [None if part.weight.grad is None else _first(part.weight) for part in self.parts]


def branches(
    rank: int, world_size: int, meeting: Meeting, *, find_unused: bool, backend: str
) -> tuple[list[Any], list[str]]:
    """Gradients when ranks use different parameters, and the warnings."""
    with (
        joined_job(rank, world_size, meeting, backend),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        layers = Branches()
        # a bucket for each parameter: those that stay incomplete must not hold up the order
        model = paddle.DataParallel(
            layers,
            comm_buffer_size=1e-6,
            last_comm_buffer_size=1e-6,
            find_unused_parameters=find_unused,
        )
        seen = []
        for used in ([0, 1, 2], [0, 1], [0] if rank == 0 else [1], [2] if rank == 0 else []):
            model(_row(2.0 * (rank + 1)), used).sum().backward()
            seen.append(layers.grads())
            layers.clear_gradients()
            for part in layers.parts:
                part.weight.grad = None
        # part 2 keeps what it had before a backward in which nobody uses it
        model(_row(1.0), [2]).sum().backward()
        model(_row(1.0), [0]).sum().backward()
        seen.append(layers.grads())
        # even if a rank has set it by hand
        layers.parts[2].weight.grad = paddle.full([2, 1], 0.1 + rank)
        model(_row(1.0), [0]).sum().backward()
        assert _first(layers.parts[2].weight) == np.float32(0.1 + rank)
        # but not what was accumulated without the others
        for part in layers.parts:
            part.weight.grad = None
        with model.no_sync():
            model(_row(1.0 + rank), [1]).sum().backward()
        model(_row(1.0), [0]).sum().backward()
        seen.append(layers.grads())
        return seen, [str(w.message) for w in caught]


def frozen(rank: int, world_size: int, meeting: Meeting) -> list[list[float | None]]:
    """Gradients when a parameter is frozen after wrapping, and later not any more; one is left out
    by ``no_sync``.
    """
    with joined_job(rank, world_size, meeting):
        layers = Branches()
        layers.parts[2].weight.no_sync = True
        model = paddle.DataParallel(layers)
        seen = []
        for stop in (False, True, False):
            layers.parts[1].weight.stop_gradient = stop
            model(_row(1.0 + rank), [0, 1, 2]).sum().backward()
            seen.append(layers.grads())
            for part in layers.parts:
                part.weight.grad = None
        return seen


def shared(rank: int, world_size: int, meeting: Meeting) -> float:
    """The gradient of a weight that is used twice."""
    with joined_job(rank, world_size, meeting):
        layer = nn.Linear(2, 2)
        layer.weight.set_value(np.eye(2, dtype="float32"))
        model = paddle.DataParallel(nn.Sequential(layer, layer))
        model(_row(1.0 + rank)).sum().backward()
        return _first(layer.weight)


def sparse_rows(rank: int, world_size: int, meeting: Meeting, *, backend: str) -> list[Any]:
    """Row-sparse gradients: different rows on each rank, an empty batch, none at all, and dense use
    on one rank.
    """
    with joined_job(rank, world_size, meeting, backend):
        table = nn.Embedding(6, 2, sparse=True)
        model = paddle.DataParallel(table)
        seen = []
        for ids in ([rank, 5], [] if rank == 0 else [3], []):
            model(paddle.to_tensor(np.array(ids, "int64"))).sum().backward()
            assert table.weight.grad.is_selected_rows()
            seen.append(table.weight.grad.numpy()[:, 0].tolist())
            table.weight.grad = None
        with model.no_sync():
            model(paddle.to_tensor([rank])).sum().backward()
        model(paddle.to_tensor([4])).sum().backward()
        seen.append(table.weight.grad.numpy()[:, 0].tolist())
        table.weight.grad = None
        out = model(paddle.to_tensor([0])).sum()
        if rank == 1:
            out = out + table.weight.sum()
        out.backward()
        assert not table.weight.grad.is_selected_rows()
        seen.append(table.weight.grad.numpy()[:, 0].tolist())
        return seen


class Doubled(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx: Any, x: paddle.Tensor) -> paddle.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: paddle.Tensor) -> paddle.Tensor:
        return grad * 2


class Failing(paddle.autograd.PyLayer):
    """Raises in backward when it is told to."""

    is_armed = False

    @staticmethod
    def forward(ctx: Any, x: paddle.Tensor) -> paddle.Tensor:
        return x * 1

    @staticmethod
    def backward(ctx: Any, grad: paddle.Tensor) -> paddle.Tensor:
        if Failing.is_armed:
            raise ZeroDivisionError("asked for")
        return grad * 1


class Chain(nn.Layer):
    """Two weights with a function between them."""

    def __init__(self, between: Any) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2, bias_attr=False)
        self.first.weight.set_value(np.eye(2, dtype="float32"))
        self.last = _weight()
        self._between = between

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        return self.last(self._between.apply(self.first(x)))


def pylayer(rank: int, world_size: int, meeting: Meeting) -> list[float]:
    with joined_job(rank, world_size, meeting):
        layers = Chain(Doubled)
        paddle.DataParallel(layers)(_row(1.0 + rank)).sum().backward()
        return [_first(layers.first.weight), _first(layers.last.weight)]


def failure(rank: int, world_size: int, meeting: Meeting, *, everywhere: bool) -> list[float]:
    """The second backward fails halfway on rank 1 (or on all); the third must be right on all
    ranks.
    """
    with joined_job(rank, world_size, meeting), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ranks that do not fail find parameters without a gradient
        layers = Chain(Failing)
        model = paddle.DataParallel(layers, comm_buffer_size=1e-6, last_comm_buffer_size=1e-6)
        fails = everywhere or rank == 1
        for step in range(3):
            Failing.is_armed = fails and step == 1
            out = model(_row(float(rank + step))).sum()
            if Failing.is_armed:
                with pytest.raises(ZeroDivisionError):
                    out.backward()
            else:
                out.backward()
            if step < 2:
                layers.clear_gradients()
        Failing.is_armed = False
        return [_first(layers.first.weight), _first(layers.last.weight)]


class Sometimes(nn.Layer):
    """Skips its only weight where ``skip`` is true."""

    def __init__(self) -> None:
        super().__init__()
        self.part = _weight()

    def forward(self, x: paddle.Tensor, skip: bool) -> dict[str, Any]:
        return {"out": x.sum() if skip else self.part(x).sum(), "count": [1]}


def skipped(rank: int, world_size: int, meeting: Meeting) -> list[float]:
    """Rank 1 produces no gradient at all in the second backward, and nothing needs one."""
    with joined_job(rank, world_size, meeting), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layers = Sometimes()
        model = paddle.DataParallel(layers)
        seen = []
        for step in range(3):
            out = model(_row(1.0 + rank), skip=rank == 1 and step == 1)["out"]
            assert not out.stop_gradient
            out.backward()
            seen.append(_first(layers.part.weight))
            layers.clear_gradients()
        return seen


def half(rank: int, world_size: int, meeting: Meeting, *, dtype: str) -> tuple[list[float], str]:
    """Parameters of 16 bits; one of them is used on the last rank only."""
    with joined_job(rank, world_size, meeting):
        layers = Branches(2)
        layers.to(dtype=dtype)
        model = paddle.DataParallel(layers, find_unused_parameters=True)
        x = _row(1.0 + rank).astype(dtype)
        total = layers.parts[0].weight.sum() * 0
        out = model(x, [0, 1] if rank == world_size - 1 else [0]) + total
        out.sum().backward()
        grads = [part.weight.grad for part in layers.parts]
        return [float(g.astype("float32")[0, 0]) for g in grads], grads[0].dtype.name


def second_order(
    rank: int, world_size: int, meeting: Meeting
) -> tuple[list[float], list[float], float]:
    """A gradient penalty through ``paddle.grad``; and gradients handed out by it are not the
    bucket's memory.
    """
    with joined_job(rank, world_size, meeting):
        layer = nn.Linear(2, 2)
        layer.weight.set_value(np.array([[1.0, 2.0], [3.0, 4.0]], "float32"))
        model = paddle.DataParallel(layer)
        x = _row(1.0 + rank)
        x.stop_gradient = False
        (inner,) = paddle.grad((model(x) ** 2).sum(), x, create_graph=True)
        (inner**2).sum().backward()
        penalty = layer.weight.grad.numpy().ravel().tolist()
        layer.clear_gradients()
        (handed_out,) = paddle.grad(model(_row(1.0 + rank)).sum(), [layer.weight])
        before = handed_out.numpy().ravel().tolist()
        model(_row(50.0)).sum().backward()
        assert handed_out.numpy().ravel().tolist() == before
        return penalty, before, _first(layer.weight)


def cast_later(rank: int, world_size: int, meeting: Meeting) -> tuple[float, str]:
    """The model is moved to another dtype after wrapping."""
    with joined_job(rank, world_size, meeting):
        layer = _weight()
        model = paddle.DataParallel(layer)
        model(_row(1.0)).sum().backward()
        layer.clear_gradients()
        model.to(dtype="float64")
        model(_row(1.0 + rank).astype("float64")).sum().backward()
        return _first(layer.weight), layer.weight.grad.dtype.name


def memory(rank: int, world_size: int, meeting: Meeting) -> tuple[int, int, bool]:
    """Bytes of the gradients, bytes of the buckets, and whether each gradient lies in a bucket."""
    with joined_job(rank, world_size, meeting):
        layers = nn.Sequential(nn.Linear(300, 300), nn.Linear(300, 300))
        model = paddle.DataParallel(layers, comm_buffer_size=0.2, last_comm_buffer_size=0.1)
        for _ in range(2):
            model(paddle.ones([2, 300])).sum().backward()
            layers.clear_gradients()
        model(paddle.ones([2, 300])).sum().backward()
        buckets = [bucket.bucket.tensor for bucket in model._reducer._buckets]
        spans = [(b.data_ptr(), b.data_ptr() + b.nbytes) for b in buckets]
        grads = [p.grad.raw for p in layers.parameters()]
        inside = all(any(low <= g.data_ptr() < high for low, high in spans) for g in grads)
        return sum(g.nbytes for g in grads), sum(b.nbytes for b in buckets), inside


def different_models(rank: int, world_size: int, meeting: Meeting, *, what: str) -> str:
    with joined_job(rank, world_size, meeting):
        odd = rank == world_size - 1
        if what == "shape":
            layer = nn.Linear(2, 4 if odd else 3)
        elif what == "dtype":
            layer = nn.Linear(2, 3)
            layer.to(dtype="float64" if odd else "float32")
        else:
            layer = nn.Sequential(*[nn.Linear(2, 2) for _ in range(2 if odd else 1)])
        with pytest.raises(CollectiveMismatch) as caught:
            paddle.DataParallel(layer)
        return str(caught.value)


def apart(rank: int, world_size: int, meeting: Meeting) -> tuple[str, float]:
    """Rank 0 waits in backward for rank 1, which waits for it in a barrier."""
    with joined_job(rank, world_size, meeting):
        model = paddle.DataParallel(_weight())
        model(_row(1.0)).sum().backward()
        dist.barrier()
        begin = time.monotonic()
        call = model(_row(1.0)).sum().backward if rank == 0 else dist.barrier
        with pytest.raises(CollectiveMismatch) as caught:
            call()
        return str(caught.value), time.monotonic() - begin


def killed(rank: int, world_size: int, meeting: Meeting) -> tuple[str, float] | None:
    """The last rank dies between two backwards; the others are in theirs."""
    with joined_job(rank, world_size, meeting):
        model = paddle.DataParallel(_weight())
        model(_row(1.0)).sum().backward()
        dist.barrier()
        if rank == world_size - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        begin = time.monotonic()
        with pytest.raises(PeerLost) as caught:
            model(_row(1.0)).sum().backward()
        return str(caught.value), time.monotonic() - begin


def contract(rank: int, world_size: int, meeting: Meeting) -> None:
    """Names, attributes, errors and the old methods, as in Paddle."""
    with joined_job(rank, world_size, meeting):
        layer = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1D(3))
        layer[0].weight.set_value(np.full((2, 3), float(rank), "float32"))
        layer[1]._mean.set_value(np.full(3, float(rank), "float32"))
        model = paddle.DataParallel(layer, None, 25, 1, False, None)
        assert float(layer[0].weight.sum()) == 0.0  # rank 0's
        assert float(layer[1]._mean.sum()) == 0.0
        assert model.full_name() == f"{layer.full_name()}_data_parallel_0"
        assert model._layers is layer
        assert next(n for n, _ in model.named_parameters()) == "_layers.0.weight"
        assert list(model.state_dict()) == list(layer.state_dict())
        assert (model.comm_buffer_size, model.last_comm_buffer_size) == (25 << 20, 1 << 20)
        assert (model.find_unused_parameters, model.grad_need_sync, model.var_dtype) == (
            False,
            True,
            paddle.Tensor,
        )
        assert model.group is dist.get_group(0)
        assert (model._strategy.nranks, model._strategy.local_rank) == (world_size, rank)
        assert model._reducer is not None
        model.set_state_dict({k: v + 1 for k, v in layer.state_dict().items()})
        assert float(layer[0].bias.sum()) == 3.0
        assert model.set_dict.__func__ is model.load_dict.__func__ is model.set_state_dict.__func__
        loss = model(paddle.ones([2, 2])).sum()
        assert model.scale_loss(loss) is loss
        assert model.apply_collective_grads() is None
        with pytest.raises(AssertionError, match="does not have any parameters"):
            paddle.DataParallel(nn.ReLU())
        with pytest.raises(AssertionError, match="must be an instance of Group"):
            paddle.DataParallel(nn.Linear(2, 2), group="all")
        flat, members, shapes = paddle.distributed.parallel.build_groups(
            [paddle.ones([2]), paddle.zeros([1, 3])], 1 << 20
        )[0]
        assert (flat.shape, len(members), shapes) == ([5], 2, [[2], [1, 3]])


def by_hand(rank: int, world_size: int, meeting: Meeting) -> list[float]:
    """``fused_allreduce_gradients`` after a backward inside ``no_sync``."""
    from paddle.distributed.fleet.utils.hybrid_parallel_util import fused_allreduce_gradients

    with joined_job(rank, world_size, meeting):
        layers = Chain(Doubled)
        model = paddle.DataParallel(layers)
        with model.no_sync():
            model(_row(1.0 + rank)).sum().backward()
        fused_allreduce_gradients(list(model.parameters()), None)
        return [_first(layers.first.weight), _first(layers.last.weight)]


def statistics(
    rank: int, world_size: int, meeting: Meeting, *, sizes: list[int]
) -> dict[str, np.ndarray]:
    """SyncBatchNorm on parts of unequal sizes: outputs, gradients, running statistics, and the
    output in eval mode.
    """
    with joined_job(rank, world_size, meeting):
        norm = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1D(3)))
        assert isinstance(norm[0], nn.SyncBatchNorm)
        start = sum(sizes[:rank])
        whole = np.random.RandomState(0).normal(5.0, 2.0, (sum(sizes), 3)).astype("float32")
        x = paddle.to_tensor(whole[start : start + sizes[rank]], stop_gradient=False)
        out = norm(x)
        (out**3).sum().backward()
        found = {
            "out": out,
            "x": x.grad,
            "mean": norm[0]._mean,
            "variance": norm[0]._variance,
            "weight": norm[0].weight.grad,
        }
        norm.eval()
        if rank == 0:  # no collective in eval mode
            found["eval"] = norm(x)
        return {key: value.numpy() for key, value in found.items()}


def torch_module(rank: int, world_size: int, meeting: Meeting) -> list[float]:
    """A plain torch module under the same wrapper."""
    with joined_job(rank, world_size, meeting):
        module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
        with torch.no_grad():
            for param in module.parameters():
                param.fill_(1.0 + rank)
        model = paddle.DataParallel(module, comm_buffer_size=1, find_unused_parameters=True)
        assert isinstance(model, torch.nn.Module)
        assert list(model.state_dict()) == list(module.state_dict())
        assert float(module[0].weight[0, 0]) == 1.0
        seen = []
        model(torch.full((1, 2), 1.0 + rank)).sum().backward()
        seen.append(float(module[0].weight.grad[0, 0]))
        module.zero_grad()
        with model.no_sync():
            model(torch.full((1, 2), 1.0 + rank)).sum().backward()
        seen.append(float(module[0].weight.grad[0, 0]))
        with pytest.raises(NotSupported, match="create_graph"):
            model(torch.ones(1, 2)).sum().backward(create_graph=True)
        model.close()
        return seen


class Recomputed(torch.nn.Module):
    """Computes its middle again in backward."""

    def __init__(self, is_reentrant: bool) -> None:
        super().__init__()
        self.parts = torch.nn.ModuleList([torch.nn.Linear(2, 2) for _ in range(3)])
        self._is_reentrant = is_reentrant

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, middle, last = self.parts
        hidden = torch.utils.checkpoint.checkpoint(
            middle, first(x), use_reentrant=self._is_reentrant
        )
        return last(hidden)


def recomputed(
    rank: int, world_size: int, meeting: Meeting, *, is_reentrant: bool
) -> tuple[bool, bool]:
    """A backward inside backward is part of the same round: whether all gradients are averages, and
    copies of the model work.
    """
    with joined_job(rank, world_size, meeting):
        torch.manual_seed(0)
        module = Recomputed(is_reentrant)
        model = paddle.DataParallel(module, comm_buffer_size=1e-6, last_comm_buffer_size=1e-6)
        whole = torch.arange(2.0 * world_size).view(world_size, 2)
        for _ in range(2):
            module.zero_grad()
            model(whole[rank : rank + 1]).square().sum().backward()
        alone = copy.deepcopy(module)
        alone.zero_grad()
        (alone(whole).square().sum() / world_size).backward()
        pairs = zip(module.parameters(), alone.parameters(), strict=True)
        equal = all(torch.allclose(a.grad, b.grad, rtol=1e-5) for a, b in pairs)
        return equal, pickle.loads(pickle.dumps(module.parts[0].weight)).shape == (2, 2)


def forgotten(rank: int, world_size: int, meeting: Meeting) -> bool:
    """A wrapper that nobody holds takes its hooks and buckets along; the layer goes on alone."""
    with joined_job(rank, world_size, meeting):
        layer = _weight()
        model = paddle.DataParallel(layer)
        model(_row(1.0 + rank)).sum().backward()
        gone = weakref.ref(model._reducer)
        del model
        gc.collect()
        layer.clear_gradients()
        layer(_row(1.0 + rank)).sum().backward()
        return gone() is None and _first(layer.weight) == 1.0 + rank


def _random_steps(seed: int, world_size: int, count: int, parts: int) -> list[dict[str, Any]]:
    """What every rank will do, known to all of them."""
    draw = np.random.RandomState(seed)
    return [
        {
            "used": [[i for i in range(parts) if draw.uniform() < 0.5] for _ in range(world_size)],
            "values": draw.randint(1, 9, world_size).tolist(),
            "is_synchronised": bool(draw.uniform() < 0.6),
            "is_cleared": bool(draw.uniform() < 0.3),
        }
        for _ in range(count)
    ]


class Expected:
    """The gradients of all ranks by the rules: what a rank accumulates alone, and what a
    synchronised backward makes of it.
    """

    def __init__(self, world_size: int, parts: int) -> None:
        self.grads: list[list[float | None]] = [[None] * parts for _ in range(world_size)]
        self._fresh = [[False] * parts for _ in range(world_size)]

    def step(self, step: dict[str, Any]) -> None:
        for mine, fresh, used, value in zip(
            self.grads, self._fresh, step["used"], step["values"], strict=True
        ):
            for i in used:
                mine[i] = (mine[i] or 0.0) + value
                fresh[i] = True
        if step["is_synchronised"]:
            for i in range(len(self.grads[0])):
                if any(
                    fresh[i] and mine[i] is not None
                    for mine, fresh in zip(self.grads, self._fresh, strict=True)
                ):
                    mean = sum(mine[i] or 0.0 for mine in self.grads) / len(self.grads)
                    for mine in self.grads:
                        mine[i] = mean
            self._fresh = [[False] * len(fresh) for fresh in self._fresh]

    def clear(self) -> None:
        self.grads = [[None] * len(mine) for mine in self.grads]


def random_branches(
    rank: int, world_size: int, meeting: Meeting, *, seed: int, backend: str, find_unused: bool
) -> None:
    """Many steps with branches, accumulation and clearing at random, each compared with the
    rules.
    """
    parts = 4
    with joined_job(rank, world_size, meeting, backend), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layers = Branches(parts)
        model = paddle.DataParallel(
            layers,
            comm_buffer_size=2e-5,
            last_comm_buffer_size=1e-6,
            find_unused_parameters=find_unused,
        )
        expected = Expected(world_size, parts)
        for number, step in enumerate(_random_steps(seed, world_size, 60, parts)):
            with contextlib.nullcontext() if step["is_synchronised"] else model.no_sync():
                model(_row(float(step["values"][rank])), step["used"][rank]).sum().backward()
            expected.step(step)
            found = layers.grads()
            for i, want in enumerate(expected.grads[rank]):
                assert (found[i] is None) == (want is None), (number, step, found, expected.grads)
                assert want is None or abs(found[i] - want) <= 1e-5 * abs(want), (
                    number,
                    step,
                    found,
                    expected.grads,
                )
            if step["is_cleared"]:
                expected.clear()
                for part in layers.parts:
                    part.weight.grad = None


def slow(rank: int, world_size: int, meeting: Meeting) -> list[float]:
    """Each rank in turn is busy for longer than two that wait for each other are given: nobody is
    to blame.
    """
    from argosy.runtime.comm.backends.shm import board

    before, board._SURE_S = board._SURE_S, 0.1
    try:
        with joined_job(rank, world_size, meeting):
            layer = _weight()
            model = paddle.DataParallel(layer)
            seen = []
            for busy in range(world_size):
                task = dist.all_reduce(paddle.ones([1]), sync_op=False)
                if rank == busy:
                    time.sleep(0.3)
                model(_row(1.0 + rank)).sum().backward()
                task.wait()
                if rank == busy:
                    time.sleep(0.3)
                dist.barrier()
                seen.append(_first(layer.weight))
            return seen
    finally:
        board._SURE_S = before
