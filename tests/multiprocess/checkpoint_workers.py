"""What the ranks do in the tests of checkpoints; each function runs in the workers of the pool, or
alone.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

import numpy as np
import pytest
import torch

import paddle
import paddle.distributed as dist
import paddle.distributed.fleet as fleet
import paddle.nn as nn
from argosy.foundation import env
from argosy.foundation.errors import CheckpointError
from multiprocess.fleet_static_workers import planned_for_a_gpu
from paddle.distributed.sharding import group_sharded_parallel
from support.job import environment, job_variables

GLOBAL_BATCH = 4
NUM_SAMPLES = 16


class Points(paddle.io.Dataset):
    def __init__(self, size: int = NUM_SAMPLES) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, i: int) -> Any:
        return np.random.RandomState(i).rand(3), np.int64(i)


def in_job(body):
    """Run ``body(rank, world_size, **kwargs)`` as a new process of a launched job."""

    def worker(rank: int, world_size: int, meeting: dict[str, Any], **kwargs: Any) -> Any:
        with (
            environment(job_variables(rank, world_size, meeting)),
            paddle.utils.unique_name.guard(),
        ):
            try:
                return body(rank, world_size, **kwargs)
            finally:
                paddle.disable_static()
                dist.destroy_process_group()

    worker.__name__ = body.__name__
    return worker


def settings(kind: str) -> Any:
    strategy = fleet.DistributedStrategy()
    if kind == "gradient_merge":
        strategy.gradient_merge = True
        strategy.gradient_merge_configs = {"k_steps": 3, "avg": True}
    elif kind == "localsgd":
        strategy.localsgd = True
        strategy.localsgd_configs = {"k_steps": 3, "begin_step": 1}
    elif kind == "adaptive_localsgd":
        strategy.adaptive_localsgd = True
        strategy.adaptive_localsgd_configs = {"init_k_steps": 2, "begin_step": 1}
    elif kind == "amp":
        strategy.amp = True
        strategy.amp_configs = {
            "decr_every_n_nan_or_inf": 1,
            "decr_ratio": 0.5,
            "incr_every_n_steps": 4,
        }
    elif kind == "hybrid":
        shards = min(2, env.world_size())
        strategy.hybrid_configs = {
            "dp_degree": env.world_size() // shards,
            "sharding_degree": shards,
        }
    elif kind == "fleet_sharding":
        strategy.sharding = True
        strategy.sharding_configs = {"stage": 1, "sharding_degree": env.world_size()}
    elif kind == "dgc":
        strategy.dgc = True
        strategy.dgc_configs = {"rampup_begin_step": 2, "rampup_step": 1, "sparsity": [0.75]}
    return strategy


def face_objects(kind: str) -> tuple[Any, Any, Any]:
    paddle.seed(5)
    wide = 16384 if kind == "dgc" else 8  # dgc leaves smaller tensors as they are
    with dtype_guard("float64"):
        model = nn.Sequential(nn.Linear(3, wide), nn.Tanh(), nn.Linear(wide, 1))
    lr = paddle.optimizer.lr.StepDecay(0.02 if kind != "dgc" else 1e-5, 3)
    optimizer = (
        paddle.optimizer.Momentum(lr, parameters=model.parameters())
        if kind in ("localsgd", "adaptive_localsgd", "dgc")
        else paddle.optimizer.AdamW(lr, parameters=model.parameters())
    )
    if kind in ("sharding", "split_parameters"):
        if env.world_size() > 1:  # what one process does without it takes the same state
            level = "os_g" if kind == "sharding" else "p_g_os"
            model, optimizer, _ = group_sharded_parallel(model, optimizer, level, segment_size=0)
        return model, optimizer, lr
    with planned_for_a_gpu() if kind == "amp" else contextlib.nullcontext():
        optimizer = fleet.distributed_optimizer(optimizer, settings(kind))
        return fleet.distributed_model(model), optimizer, lr


@contextlib.contextmanager
def dtype_guard(name: str):
    before = paddle.get_default_dtype()
    paddle.set_default_dtype(name)
    try:
        yield
    finally:
        paddle.set_default_dtype(before)


def train(
    world_size: int, folder: str, kind: str, num_steps: int, every: int
) -> list[tuple[list[int], float]]:
    fleet.init(is_collective=True)
    np.random.seed(env.rank())
    model, optimizer, lr = face_objects(kind)
    data = Points()
    sampler = paddle.io.DistributedBatchSampler(data, GLOBAL_BATCH // world_size, shuffle=True)
    loader = paddle.io.DataLoader(data, batch_sampler=sampler)
    run = fleet.auto_checkpoint(folder, every, model=model, optimizer=optimizer, loader=loader)
    log = []
    for _ in run.epochs(3):
        for x, i in run.batches():
            if run.num_steps == num_steps:
                return log
            loss = ((model(x) - 1.0) ** 2).mean()
            if kind == "amp" and run.num_steps == 3 and env.rank() == world_size - 1:
                # the scale halves, and grows again after four good steps
                loss = loss * float("inf")
            loss.backward()
            optimizer.step(**({"loss": loss} if kind == "adaptive_localsgd" else {}))
            optimizer.clear_grad()
            lr.step()
            number = loss.item()
            log.append((i.tolist(), number * fleet.get_loss_scaling() if kind == "amp" else number))
    return log


@in_job
def face(rank: int, world_size: int, folder: str, kind: str, num_steps: int, every: int = 5) -> Any:
    return train(world_size, folder, kind, num_steps, every)


def face_alone(folder: str, kind: str, num_steps: int, every: int = 5) -> Any:
    with paddle.utils.unique_name.guard():
        return train(1, folder, kind, num_steps, every)


def torch_train(world_size: int, folder: str, kind: str, num_steps: int) -> list[float]:
    fleet.init(is_collective=True)
    torch.manual_seed(3)
    module: Any = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)
    ).double()
    optimizer: Any = torch.optim.AdamW(module.parameters(), lr=0.05)
    if kind == "sharding":
        module, optimizer, _ = group_sharded_parallel(module, optimizer, "os_g")
    else:
        optimizer = fleet.distributed_optimizer(optimizer, settings(kind))
        module = fleet.distributed_model(module)
    lr = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    run = fleet.auto_checkpoint(folder, 3, model=module, optimizer=optimizer, lr=lr)
    size, rank = GLOBAL_BATCH // world_size, env.rank()
    log = []
    for step in run.steps(num_steps):
        x = torch.from_numpy(np.random.RandomState(step).rand(GLOBAL_BATCH, 3))[
            rank * size : (rank + 1) * size
        ]
        optimizer.zero_grad()
        loss = ((module(x) - 1.0) ** 2).mean()
        loss.backward()
        optimizer.step()
        lr.step()
        log.append(loss.item())
    return log


@in_job
def torch_modules(rank: int, world_size: int, folder: str, kind: str, num_steps: int) -> Any:
    return torch_train(world_size, folder, kind, num_steps)


@in_job
def uneven(rank: int, world_size: int, folder: str, num_batches: int) -> list[int]:
    """The samples of one epoch of 11, in batches of 2 on every rank; the job ends after
    ``num_batches``.
    """
    fleet.init(is_collective=True)
    data = Points(11)
    sampler = paddle.io.DistributedBatchSampler(data, 2, shuffle=True)
    run = fleet.auto_checkpoint(folder, 1, loader=paddle.io.DataLoader(data, batch_sampler=sampler))
    seen: list[int] = []
    for _ in run.epochs(1):
        for number, (_, i) in enumerate(run.batches()):
            if number == num_batches:
                return seen
            seen += i.tolist()
    return seen


@in_job
def batch_norm(rank: int, world_size: int, folder: str) -> list[float]:
    """Running means that each rank has its own of."""
    fleet.init(is_collective=True)
    model = nn.BatchNorm1D(1)
    run = fleet.auto_checkpoint(folder, 1, model=model)
    for _ in run.steps(1):
        with paddle.no_grad():
            model(paddle.full([2, 1], float(rank)))
    return [*model._mean.tolist(), float(len(os.listdir(folder)))]


@in_job
def a_rank_that_cannot_write(rank: int, world_size: int, folder: str) -> list[str]:
    """The others learn of it, and the checkpoint before stays."""
    fleet.init(is_collective=True)
    model = nn.Linear(1, 1)
    state: Any = {"value": 1}

    class Extra:
        def state_dict(self) -> Any:
            return state

        def load_state_dict(self, loaded: Any) -> None:
            state.update(loaded)

    run = fleet.auto_checkpoint(folder, 1, model=model, extra={"mine": Extra()})
    run.step()
    if rank == 1:
        state["value"] = object()
    with pytest.raises(CheckpointError, match="rank 1"):
        run.step()
    fleet.barrier_worker()
    return sorted(os.listdir(folder))


@in_job
def static(
    rank: int, world_size: int, folder: str, begin: int, end: int, is_sharded: bool
) -> tuple[list[float], list[str], list[str]]:
    """Steps ``begin`` to ``end`` of a program, and its files. Worker 0 alone saves it, unless each
    worker has a part of the state.
    """
    paddle.enable_static()
    fleet.init(is_collective=True)
    main, startup = paddle.static.Program(), paddle.static.Program()
    with (
        paddle.static.scope_guard(paddle.static.Scope()),
        paddle.static.program_guard(main, startup),
    ):
        x = paddle.static.data("x", [None, 2], "float64")
        constant = nn.initializer.Constant(0.5)
        weight = paddle.static.create_parameter([2, 1], "float64", default_initializer=constant)
        bias = paddle.static.create_parameter([1], "float64", default_initializer=constant)
        loss = ((paddle.matmul(x, weight) + bias - 1.0) ** 2).mean()
        strategy = fleet.DistributedStrategy()
        strategy.sharding = is_sharded
        strategy.sharding_configs = {"sharding_degree": world_size}
        fleet.distributed_optimizer(paddle.optimizer.Adam(0.1), strategy).minimize(loss)
        exe = paddle.static.Executor(paddle.CPUPlace())
        exe.run(startup)
        if begin:
            paddle.static.load_vars(exe, folder, main, predicate=lambda v: v.persistable)
        losses = []
        size = GLOBAL_BATCH // world_size
        for step in range(begin, end):
            feed = np.random.RandomState(step).rand(GLOBAL_BATCH, 2)[
                rank * size : (rank + 1) * size
            ]
            (value,) = exe.run(main, feed={"x": feed}, fetch_list=[loss])
            losses.append(float(np.mean(value)))
        if is_sharded or fleet.is_first_worker():
            fleet.save_persistables(exe, folder, main)
        fleet.save_inference_model(exe, f"{folder}.infer", ["x"], [loss], main)
        fleet.barrier_worker()
        return losses, sorted(os.listdir(folder)), sorted(os.listdir(f"{folder}.infer"))
