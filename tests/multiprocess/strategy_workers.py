"""What the ranks do in the tests of LocalSGD, DGC, compression, gradient merge and
recomputation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import paddle
from argosy.runtime.comm.traffic import count_traffic
from argosy.runtime.parallel.compression import half_buckets, plain_bucket
from argosy.runtime.parallel.dgc import DeepGradientCompression
from argosy.runtime.parallel.diloco import DiLoCo, Schedule
from argosy.runtime.parallel.exchange import AveragedGradients
from argosy.runtime.parallel.gradient_merge import GradientMerge
from argosy.runtime.parallel.local_sgd import AdaptiveLocalSGD, LocalSGD
from argosy.runtime.parallel.module import DataParallelModule
from argosy.runtime.parallel.quantised import quantised_buckets
from argosy.runtime.parallel.reducer import ReducerOptions
from paddle.distributed.fleet.recompute import recompute
from support import models
from support.job import joined_job
from support.join import joined

Meeting = dict[str, Any]


def gradient(
    rank: int, step: int, index: int, shape: tuple[int, ...], dtype: torch.dtype = torch.float64
) -> torch.Tensor:
    """What rank ``rank`` finds for parameter ``index`` in step ``step``; known to the test as
    well.
    """
    draw = np.random.RandomState(10_000 * rank + 100 * step + index)
    return torch.from_numpy(draw.normal(size=shape)).to(dtype)


SHAPES = [(5, 4), (3,)]


def _start(dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    return [gradient(99, 0, i, shape, dtype) for i, shape in enumerate(SHAPES)]


def local_sgd(
    rank: int, world_size: int, meeting: Meeting, *, k_steps: int, begin_step: int, backend: str
) -> tuple[list[list[np.ndarray]], list[bool]]:
    """Parameters after each of ten steps, and whether they were averaged."""
    with joined_job(rank, world_size, meeting, backend) as group:
        params = _start()
        local = LocalSGD(params, group, k_steps, begin_step)
        seen, met = [], []
        for step in range(10):
            for i, param in enumerate(params):
                param -= 0.1 * gradient(rank, step, i, SHAPES[i])
            if step == 5:  # a resumed run goes on in step
                state = local.state_dict()
                local = LocalSGD(params, group, 99, begin_step)
                local.load_state_dict(state)
            met.append(local.step())
            seen.append([p.numpy().copy() for p in params])
        return seen, met


def diloco(
    rank: int, world_size: int, meeting: Meeting, *, backend: str, shapes: Any, **settings: Any
) -> list[list[np.ndarray]]:
    """Parameters after each of twelve steps."""
    if settings.pop("is_int8", False):
        settings["make_bucket"] = quantised_buckets(keeps_residual=False)
    names = ("k_steps", "num_fragments", "overlap_steps")
    schedule = Schedule(**{name: settings.pop(name) for name in names})
    with joined_job(rank, world_size, meeting, backend) as group:
        params = [gradient(99, 0, i, tuple(shape)) for i, shape in enumerate(shapes)]
        outer = DiLoCo(params, group, schedule, **settings)
        outer.begin()
        seen = []
        for step in range(12):
            for i, param in enumerate(params):
                param -= 0.1 * gradient(rank, step, i, tuple(shapes[i]))
            outer.step()
            seen.append([p.numpy().copy() for p in params])
            if step == 6:  # a resumed run goes on in step, here with nothing under way
                state = outer.state_dict()
                if not any(state["due"]):
                    outer = DiLoCo(params, group, schedule, **settings)
                    outer.load_state_dict(state)
        return seen


def adaptive(
    rank: int,
    world_size: int,
    meeting: Meeting,
    *,
    losses: list[float],
    rates: list[float],
    init_k_steps: int,
    begin_step: int,
) -> tuple[list[int], list[bool], float]:
    """k_steps and whether there was a meeting, by step; ranks' losses differ by their rank, the
    mean is as given.
    """
    with joined_job(rank, world_size, meeting) as group:
        param = torch.full((2,), float(rank), dtype=torch.float64)
        local = AdaptiveLocalSGD([param], group, init_k_steps, begin_step)
        ks, met = [], []
        for loss, lr in zip(losses, rates, strict=True):
            met.append(
                local.step(
                    torch.tensor(loss * (0.5 + rank / (world_size - 1)), dtype=torch.float64), lr
                )
            )
            ks.append(local.k_steps)
        return ks, met, param[0].item()


def dgc(
    rank: int,
    world_size: int,
    meeting: Meeting,
    *,
    shapes: list[tuple[int, ...]],
    steps: int,
    backend: str,
    dtype: str,
    **settings: Any,
) -> tuple[list[list[np.ndarray]], list[dict[str, int]]]:
    """Parameters after each step with rate 0.1, and the bytes of each step by kind."""
    with joined_job(rank, world_size, meeting, backend) as group:
        traffic = count_traffic(group)
        kind = getattr(torch, dtype)
        params = [gradient(99, 0, i, tuple(shape), kind) for i, shape in enumerate(shapes)]
        compression = DeepGradientCompression(params, group, **settings)
        seen, sent = [], []
        for step in range(steps):
            for i, param in enumerate(params):
                param.grad = gradient(rank, step, i, tuple(shapes[i]), kind)
            if step == steps // 2:  # a resumed run goes on in step
                state = compression.state_dict()
                compression = DeepGradientCompression(params, group, **settings)
                compression.load_state_dict(state)
            traffic.reset()
            compression.exchange()
            sent.append(dict(traffic.bytes_by_kind))
            for param in params:
                param.sub_(param.grad, alpha=0.1)
            seen.append([p.numpy().copy() for p in params])
        return seen, sent


def compressed(
    rank: int, world_size: int, meeting: Meeting, *, backend: str, wire: str | None, steps: int = 5
) -> tuple[list[float], dict[str, np.ndarray], int]:
    """Train with gradients that travel in 16 bits (or as they are): losses, parameters, bytes of
    the last step.
    """
    with joined_job(rank, world_size, meeting, backend) as group:
        traffic = count_traffic(group)
        model = models.build(paddle, "mlp", "float32")
        makers = {None: plain_bucket, "int8": quantised_buckets(64)}
        maker = makers[wire] if wire in makers else half_buckets(getattr(torch, wire))
        options = ReducerOptions(make_bucket=maker)
        wrapped = paddle.DataParallel(model, exchange=AveragedGradients(group, options))
        losses = models.train(paddle, "mlp", wrapped, steps - 1, "float32", rank, world_size)
        traffic.reset()
        losses += models.train(paddle, "mlp", wrapped, 1, "float32", rank, world_size)
        return losses, models.state_of(model), traffic.total_bytes


def rounding(
    rank: int, world_size: int, meeting: Meeting, *, backend: str, wire: str
) -> tuple[list[float], bool]:
    """The gradient of one weight vector whose local gradients are known, and whether an unused one
    stays without.
    """
    with joined_job(rank, world_size, meeting, backend) as group:
        model = torch.nn.ModuleDict(
            {"used": torch.nn.Linear(4, 1, bias=False), "idle": torch.nn.Linear(2, 1, bias=False)}
        )
        model.forward = lambda x: model["used"](x)  # type: ignore[method-assign]
        options = ReducerOptions(
            find_unused_parameters=True, make_bucket=half_buckets(getattr(torch, wire))
        )
        wrapped = DataParallelModule(model, group, options)
        wrapped(torch.tensor([1.0, 1e-9, 2049.0, 70000.0]) * (1 + rank)).sum().backward()
        return model["used"].weight.grad[0].tolist(), model["idle"].weight.grad is None


def hierarchical(rank: int, world_size: int, rendezvous: dict[str, Any], name: str) -> list[float]:
    """A bucket of 16 bits between two made-up hosts."""
    with joined(
        "hierarchical", name, rank, world_size, rendezvous, hosts=["a", "a", "b", "b"]
    ) as backend:
        bucket = half_buckets()(backend, 5, torch.float32, torch.device("cpu"))
        for turn in range(2):
            bucket.tensor.copy_(torch.arange(5.0) + rank + turn)
            bucket.publish()
            bucket.progress()
            bucket.finish()
        found = bucket.tensor.tolist()
        bucket.close()
        return found


def merged(
    rank: int,
    world_size: int,
    meeting: Meeting,
    *,
    kind: str,
    k_steps: int,
    avg: bool,
    dtype: str = "float64",
) -> tuple[list[np.ndarray], int, list[bool]]:
    """Train with an update for every ``k_steps`` backwards; parameters, averages of gradients made,
    when updates were.
    """
    with joined_job(rank, world_size, meeting) as group:
        traffic = count_traffic(group)
        size = models.BATCH // world_size
        if kind == "face":
            model = models.build(paddle, "mlp", dtype)
            wrapped = paddle.DataParallel(model)
            optimizer = paddle.optimizer.Momentum(0.1, 0.9, parameters=model.parameters())
            params = [p.raw for p in model.parameters()]
        else:
            torch.manual_seed(0)
            model = torch.nn.Sequential(
                torch.nn.Linear(6, 4), torch.nn.Tanh(), torch.nn.Linear(4, 3)
            ).double()
            wrapped = DataParallelModule(model, group, ReducerOptions())
            optimizer = torch.optim.SGD(model.parameters(), 0.1, 0.9)
            params = list(model.parameters())
        merge = GradientMerge(params, k_steps, avg, wrapped)
        traffic.reset()
        updates = []
        for step in range(6):
            x, y = (a[rank * size : (rank + 1) * size] for a in models.batch("mlp", step, dtype))
            if kind == "face":
                paddle.nn.functional.cross_entropy(
                    wrapped(paddle.to_tensor(x)), paddle.to_tensor(y)
                ).backward()
            else:
                torch.nn.functional.cross_entropy(
                    wrapped(torch.from_numpy(x)), torch.from_numpy(y)
                ).backward()
            updates.append(merge.advance())
            if updates[-1]:
                optimizer.step()
                optimizer.zero_grad()
        return [p.detach().numpy().copy() for p in params], traffic.calls_by_kind["bucket"], updates


class Blocks(paddle.nn.Layer):
    """Three blocks, recomputed or not; block 1 can be left out."""

    def __init__(self, recomputes: bool) -> None:
        super().__init__()
        self.blocks = paddle.nn.LayerList(
            [
                paddle.nn.Sequential(
                    paddle.nn.Linear(6, 6),
                    paddle.nn.Tanh(),
                    paddle.nn.Dropout(0.5),
                    paddle.nn.Linear(6, 6),
                )
                for _ in range(3)
            ]
        )
        draw = np.random.RandomState(3)
        for param in self.parameters():
            param.set_value(draw.normal(size=param.shape).astype("float32"))
        self.recomputes = recomputes

    def forward(self, x: paddle.Tensor, used: tuple[int, ...] = (0, 1, 2)) -> paddle.Tensor:
        for index in used:
            x = recompute(self.blocks[index], x) if self.recomputes else self.blocks[index](x)
        return x


def recomputed(
    rank: int,
    world_size: int,
    meeting: Meeting,
    *,
    recomputes: bool,
    find_unused: bool,
    level: str | None,
) -> list[list[np.ndarray | None]]:
    """Gradients of all parameters, one that is not used among them, in two backwards."""
    from paddle.distributed.sharding import group_sharded_parallel

    with joined_job(rank, world_size, meeting):
        paddle.seed(10 + rank)
        layers = Blocks(recomputes)
        if level is None:
            model = paddle.DataParallel(
                layers,
                comm_buffer_size=1e-6,
                last_comm_buffer_size=1e-6,
                find_unused_parameters=find_unused,
            )
        else:
            sgd = paddle.optimizer.SGD(0.1, parameters=layers.parameters())
            model, _, _ = group_sharded_parallel(layers, sgd, level, buffer_max_size=1)
        seen = []
        for used in ((0, 1, 2), (0, 2)) if find_unused else ((0, 1, 2), (2, 1, 0)):
            for param in layers.parameters():
                param.clear_gradient(False)
            model(
                paddle.to_tensor(models.batch("mlp", rank, "float32")[0]), used
            ).square().mean().backward()
            seen.append(
                [None if p.grad is None else p.grad.numpy().copy() for p in layers.parameters()]
            )
        return seen
