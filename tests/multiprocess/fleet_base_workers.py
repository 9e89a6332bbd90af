"""What the ranks do in the tests of fleet's frame; each function runs in the workers of the
pool.
"""

from __future__ import annotations

import contextlib
import runpy
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import paddle
import paddle.distributed as dist
import paddle.distributed.fleet as fleet
import paddle.nn as nn
from argosy.foundation import env
from paddle.distributed.fleet.utils.hybrid_parallel_util import (
    broadcast_dp_parameters,
    broadcast_sharding_parameters,
)
from support.job import environment, placed

Meeting = dict[str, Any]


def in_job(body):
    """Run ``body(rank, world_size, **kwargs)`` in the environment of a launched worker that has
    joined nothing yet.
    """

    def worker(
        rank: int, world_size: int, meeting: Meeting, backend: str = "auto", **kwargs: Any
    ) -> Any:
        with placed(rank, world_size, meeting, backend):
            try:
                return body(rank, world_size, **kwargs)
            finally:
                paddle.disable_static()
                dist.destroy_process_group()

    worker.__name__ = body.__name__
    return worker


@in_job
def roles(rank: int, world_size: int, explicit: str) -> None:
    if explicit == "collective":
        fleet.init(is_collective=True)
    elif explicit == "plain":
        fleet.init()  # started as a collective job, so it is one
    else:
        fleet.init(fleet.PaddleCloudRoleMaker(is_collective=True))
    assert (fleet.worker_index(), fleet.worker_num(), fleet.is_first_worker()) == (
        rank,
        world_size,
        rank == 0,
    )
    assert len(fleet.worker_endpoints()) == world_size
    assert dist.is_initialized()
    fleet.barrier_worker()
    fleet.init_worker()
    fleet.stop_worker()


@in_job
def described_by_the_script(rank: int, world_size: int) -> float:
    """UserDefinedRoleMaker: the environment says nothing of the workers."""
    endpoints = env.get("PADDLE_TRAINER_ENDPOINTS").split(",")
    unset = dict.fromkeys(
        (
            "PADDLE_TRAINER_ID",
            "PADDLE_TRAINERS_NUM",
            "PADDLE_CURRENT_ENDPOINT",
            "PADDLE_TRAINER_ENDPOINTS",
        )
    )
    with environment(unset):
        fleet.init(
            fleet.UserDefinedRoleMaker(
                is_collective=True, current_id=rank, worker_endpoints=endpoints
            )
        )
        return float(fleet.util.all_reduce(rank + 1.0))


@in_job
def described_by_arguments(rank: int, world_size: int) -> float:
    """gloo_init_parallel_env: as above, in a call."""
    master = f"{env.get('MASTER_ADDR')}:{env.get('MASTER_PORT')}"
    with environment(
        dict.fromkeys(("PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM", "PADDLE_CURRENT_ENDPOINT"))
    ):
        dist.gloo_init_parallel_env(rank, world_size, master)
        dist.gloo_init_parallel_env(rank, world_size, master)  # this job, so nothing happens
        with pytest.raises(
            ValueError, match=f"this process is rank {rank} of {world_size} already"
        ):
            dist.gloo_init_parallel_env(rank, world_size + 1, master)
        total = paddle.to_tensor([rank + 1.0])
        dist.all_reduce(total)
        dist.gloo_barrier()
        dist.gloo_release()
        assert not dist.is_initialized()
    return float(total)


@in_job
def talk(rank: int, world_size: int) -> None:
    fleet.init(is_collective=True)
    util, n = fleet.util, world_size
    total = util.all_reduce([[rank + 1, 2], [3, 4]])
    assert total.tolist() == [[n * (n + 1) // 2, 2 * n], [3 * n, 4 * n]]
    assert total.dtype == np.int64
    assert util.all_reduce(np.array([rank, -rank], "float32"), "max").tolist() == [n - 1, 0]
    assert util.all_reduce((rank, -rank), "min", "all").tolist() == [0, 1 - n]
    assert util.all_gather(rank * 1.5) == [r * 1.5 for r in range(n)]
    assert util.all_gather(f"rank {rank}") == [f"rank {r}" for r in range(n)]
    util.barrier()
    util.barrier("all")
    with pytest.raises(ValueError, match="no servers"):
        util.barrier("server")
    shards = util.all_gather(util.get_file_shard([f"part-{i}" for i in range(n + 1)]))
    assert [name for shard in shards for name in shard] == [f"part-{i}" for i in range(n + 1)]
    assert len(shards[0]) == 2
    assert fleet.metrics.acc(np.array([rank + 1]), np.array([10])) == pytest.approx((n + 1) / 20)
    assert fleet.metrics.auc(np.array([[0, 1.0 + rank]]), np.array([[1.0, 0]])) == 1.0
    role = fleet.fleet._role_maker
    out = np.zeros(2)
    role.all_reduce_worker(np.array([1.0, rank]), out)
    assert out.tolist() == [n, n * (n - 1) / 2]
    assert role.all_gather(rank) == list(range(n))


@in_job
def topology(rank: int, world_size: int) -> None:
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {"dp_degree": 2, "sharding_degree": world_size // 2}
    fleet.init(is_collective=True, strategy=strategy)
    hcg = fleet.get_hybrid_communicate_group()
    shards = world_size // 2
    assert hcg.get_data_parallel_world_size() == 2
    assert hcg.get_data_parallel_rank() == rank // shards
    assert hcg.get_data_parallel_group().ranks == [rank % shards, rank % shards + shards]
    assert hcg.get_sharding_parallel_rank() == rank % shards
    assert hcg.get_sharding_parallel_group_src_rank() == rank // shards * shards
    assert hcg.get_model_parallel_group().nranks == 1
    assert hcg.get_parallel_mode() == (3 if shards > 1 else 0)
    x = paddle.full([1], float(rank))
    dist.all_reduce(x, group=hcg.get_data_parallel_group())
    assert float(x) == 2 * (rank % shards) + shards
    layer = nn.Linear(
        1, 1, weight_attr=paddle.ParamAttr(initializer=nn.initializer.Constant(float(rank)))
    )
    broadcast_sharding_parameters(layer, hcg)
    assert float(layer.weight) == rank // shards * shards
    broadcast_dp_parameters(layer, hcg)
    assert float(layer.weight) == 0.0
    ranks, group = hcg.create_fuse_group(["data", "sharding"])
    assert ranks == list(range(world_size))
    assert group.nranks == world_size


def _network() -> nn.Layer:
    paddle.seed(7)
    return nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1)).astype("float64")


def _batches(steps: int) -> np.ndarray:
    return np.random.RandomState(3).rand(steps, 12, 5)


@in_job
def dygraph_training(rank: int, world_size: int, scale: str = "avg") -> list[Any]:
    """The weights after a few steps on this rank's share of each batch."""
    strategy = fleet.DistributedStrategy()
    strategy.fuse_grad_size_in_MB = 1
    strategy.gradient_scale_configs = {"scale_strategy": scale}
    fleet.init(is_collective=True, strategy=strategy)
    paddle.seed(rank)
    layer = (
        _network()
        if rank == 0
        else nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1)).astype("float64")
    )
    model = fleet.distributed_model(layer)
    optimizer = fleet.distributed_optimizer(
        paddle.optimizer.Momentum(0.1, parameters=layer.parameters())
    )
    for batch in _batches(5):
        share = batch[rank::world_size]
        loss = (model(paddle.to_tensor(share)) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    assert fleet._get_applied_meta_list() == ["RawProgramOptimizer"]
    return [p.numpy() for p in layer.parameters()]


def alone(scale: float = 1.0) -> list[Any]:
    """What one process gets on whole batches, with gradients times ``scale``."""
    layer = _network()
    optimizer = paddle.optimizer.Momentum(0.1, parameters=layer.parameters())
    for batch in _batches(5):
        loss = (layer(paddle.to_tensor(batch)) ** 2).mean() * scale
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    return [p.numpy() for p in layer.parameters()]


@in_job
def torch_training(rank: int, world_size: int) -> list[Any]:
    fleet.init(is_collective=True)
    torch.manual_seed(rank)
    module = torch.nn.Linear(5, 1).double()
    wrapped = fleet.distributed_model(module)
    optimizer = fleet.distributed_optimizer(torch.optim.SGD(module.parameters(), 0.1))
    for batch in _batches(3):
        (wrapped(torch.from_numpy(batch[rank::world_size])) ** 2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return [p.detach().numpy() for p in module.parameters()]


def torch_alone() -> list[Any]:
    torch.manual_seed(0)
    module = torch.nn.Linear(5, 1).double()
    optimizer = torch.optim.SGD(module.parameters(), 0.1)
    for batch in _batches(3):
        (module(torch.from_numpy(batch)) ** 2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return [p.detach().numpy() for p in module.parameters()]


@in_job
def synchronised_batch_norm(rank: int, world_size: int) -> tuple[str, list[float]]:
    strategy = fleet.DistributedStrategy()
    strategy.sync_batch_norm = True
    fleet.init(is_collective=True, strategy=strategy)
    model = fleet.distributed_model(nn.Sequential(nn.BatchNorm1D(2)))
    model(paddle.to_tensor(np.full((2, 2), float(rank), "float32")))
    layer = model._layers[0]
    return type(layer).__name__, layer._mean.numpy().tolist()


@in_job
def switched(
    rank: int, world_size: int, switches: dict[str, Any], optimizer: str = "SGD"
) -> list[list[Any]]:
    """The weights after each step on this rank's share of each batch."""
    strategy = fleet.DistributedStrategy()
    for name, value in switches.items():
        setattr(strategy, name, value)
    fleet.init(is_collective=True, strategy=strategy)
    layer = _network()
    model = fleet.distributed_model(layer)
    wrapped = fleet.distributed_optimizer(
        getattr(paddle.optimizer, optimizer)(0.1, parameters=layer.parameters())
    )
    assert [note.switch for note in fleet.plan().notes] == []
    seen = []
    for batch in _batches(4):
        (model(paddle.to_tensor(batch[rank::world_size])) ** 2).mean().backward()
        wrapped.step()
        wrapped.clear_grad()
        seen.append([p.numpy() for p in layer.parameters()])
    wrapped.set_state_dict(wrapped.state_dict())
    return seen


def alone_with(merge: int = 1, optimizer: str = "SGD") -> list[list[Any]]:
    """The same in one process on whole batches; an update takes ``merge`` of them."""
    layer = _network()
    plain = getattr(paddle.optimizer, optimizer)(0.1, parameters=layer.parameters())
    seen = []
    for number, batch in enumerate(_batches(4), 1):
        ((layer(paddle.to_tensor(batch)) ** 2).mean() / merge).backward()
        if number % merge == 0:
            plain.step()
            plain.clear_grad()
        seen.append([p.numpy() for p in layer.parameters()])
    return seen


@in_job
def half_gradients(rank: int, world_size: int, is_torch: bool) -> list[float]:
    """Gradients that float16 cannot hold exactly arrive rounded to it."""
    strategy = fleet.DistributedStrategy()
    strategy.fp16_allreduce = True
    fleet.init(is_collective=True, strategy=strategy)
    x = np.full((1, 2), [[0.1, 1 + 2.0**-12]], "float32")
    if is_torch:
        module = torch.nn.Linear(2, 1, bias=False)
        fleet.distributed_optimizer(torch.optim.SGD(module.parameters(), 0.1))
        fleet.distributed_model(module)(torch.from_numpy(x)).sum().backward()
        return module.weight.grad.flatten().tolist()
    layer = nn.Linear(2, 1, bias_attr=False)
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.1, parameters=layer.parameters()))
    fleet.distributed_model(layer)(paddle.to_tensor(x)).sum().backward()
    return layer.weight.grad.numpy().flatten().tolist()


@in_job
def scaler(rank: int, world_size: int) -> tuple[bool, bool]:
    """One rank's gradient overflows: no rank steps."""
    fleet.init(is_collective=True)
    layer = nn.Linear(1, 1)
    optimizer = fleet.distributed_optimizer(
        paddle.optimizer.SGD(0.1, parameters=layer.parameters())
    )
    joined = fleet.distributed_scaler(
        paddle.amp.GradScaler(init_loss_scaling=2.0, use_dynamic_loss_scaling=False)
    )
    before = layer.weight.numpy()
    loss = layer(paddle.full([1, 1], float("inf") if rank == 1 else 1.0)).mean()
    joined.scale(loss).backward()  # without DataParallel: gradients differ
    joined.step(optimizer)
    joined.update()
    return bool(joined._found_inf), bool((layer.weight.numpy() == before).all())


@in_job
def static_training(rank: int, world_size: int) -> tuple[list[Any], list[float]]:
    """Programs whose runs average gradients; every rank's startup program draws other values."""
    paddle.enable_static()
    fleet.init(is_collective=True)
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup):
        paddle.seed(rank)
        x = paddle.static.data("x", [None, 5], "float64")
        attr = paddle.ParamAttr(initializer=nn.initializer.Constant(0.5 + rank))
        paddle.set_default_dtype("float64")
        try:
            loss = (nn.Linear(5, 1, weight_attr=attr)(x) ** 2).mean()
        finally:
            paddle.set_default_dtype("float32")
        fleet.distributed_optimizer(paddle.optimizer.Momentum(0.1)).minimize(loss)
    exe, scope, losses = paddle.static.Executor(paddle.CPUPlace()), paddle.static.Scope(), []
    with paddle.static.scope_guard(scope):
        exe.run(startup)
        for batch in _batches(4):
            [value] = exe.run(main, feed={"x": batch[rank::world_size]}, fetch_list=[loss])
            losses.append(float(value))
        found = [np.array(scope.find_var(p.name).get_tensor()) for p in main.all_parameters()]
    exe.close()
    return found, losses


def static_alone() -> tuple[list[Any], list[float]]:
    layer = nn.Linear(
        5, 1, weight_attr=paddle.ParamAttr(initializer=nn.initializer.Constant(0.5))
    ).astype("float64")
    optimizer, losses = paddle.optimizer.Momentum(0.1, parameters=layer.parameters()), []
    for batch in _batches(4):
        loss = (layer(paddle.to_tensor(batch)) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    return [p.numpy() for p in layer.parameters()], losses


@in_job
def examples(rank: int, world_size: int, paths: list[str], folder: str) -> int:
    """Run scripts one after the other, as workers of one job."""
    with contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in paths:
            runpy.run_path(path)
    assert dist.get_world_size() == world_size
    return fleet.worker_index()
