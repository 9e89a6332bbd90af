"""What the ranks do in the tests of fleet's strategies; each function runs in the workers of the
pool, some also in the test itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import paddle
import paddle.distributed.fleet as fleet
import paddle.nn as nn
from argosy.runtime.comm.traffic import count_traffic
from multiprocess.fleet_base_workers import in_job
from support.job import joined_job

Switches = dict[str, Any]
Steps = list[list[Any]]
STEPS, ROWS, WIDTH = 4, 12, 5


def batches(steps: int = STEPS) -> np.ndarray:
    return np.random.RandomState(3).rand(steps, ROWS, WIDTH)


def weights(width: int) -> list[np.ndarray]:
    draw = np.random.RandomState(5)
    shapes = [(WIDTH, width), (width,), (width, width), (width,), (width, 1), (1,)]
    return [draw.normal(size=shape) * 0.5 for shape in shapes]


def layer(width: int = 8, dtype: str = "float64", norm: bool = False) -> nn.Layer:
    middle = nn.BatchNorm1D(width) if norm else nn.Tanh()
    model = nn.Sequential(
        nn.Linear(WIDTH, width),
        middle,
        nn.Sequential(nn.Linear(width, width), nn.Tanh()),
        nn.Linear(width, 1),
    ).astype(dtype)
    linears = [model[0], model[2][0], model[3]]
    for linear, (weight, bias) in zip(
        linears, zip(*[iter(weights(width))] * 2, strict=True), strict=True
    ):
        linear.weight.set_value(weight.astype(dtype))
        linear.bias.set_value(bias.astype(dtype))
    return model


def module(width: int = 8, dtype: str = "float64", norm: bool = False) -> torch.nn.Module:
    middle = torch.nn.BatchNorm1d(width) if norm else torch.nn.Tanh()
    model = torch.nn.Sequential(
        torch.nn.Linear(WIDTH, width),
        middle,
        torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.Tanh()),
        torch.nn.Linear(width, 1),
    ).to(getattr(torch, dtype))
    linears = [model[0], model[2][0], model[3]]
    for linear, (weight, bias) in zip(
        linears, zip(*[iter(weights(width))] * 2, strict=True), strict=True
    ):
        linear.weight.data.copy_(torch.from_numpy(weight.T))
        linear.bias.data.copy_(torch.from_numpy(bias))
    return model


def optimizer_of(model: Any, name: str, lr: float) -> Any:
    if isinstance(model, nn.Layer):
        return getattr(paddle.optimizer, name)(lr, parameters=model.parameters())
    if name in ("SGD", "Momentum"):
        return torch.optim.SGD(
            model.named_parameters(), lr, momentum=0.9 if name == "Momentum" else 0.0
        )
    return getattr(torch.optim, name)(model.named_parameters(), lr)


def values(model: Any) -> list[np.ndarray]:
    """Parameters by layer, the matrices of torch turned as Paddle's are."""
    if isinstance(model, nn.Layer):
        return [p.astype("float64").numpy() for p in model.parameters()]
    found = [p.detach() for p in model.parameters()]
    whole = [p.full_tensor() if hasattr(p, "full_tensor") else p for p in found]
    return [p.double().numpy().T.copy() for p in whole]


def strategy_of(switches: Switches) -> fleet.DistributedStrategy:
    strategy = fleet.DistributedStrategy()
    for name, value in switches.items():
        setattr(strategy, name, value)
    return strategy


def loss_of(model: Any, batch: np.ndarray, dtype: str) -> Any:
    batch = batch.astype(dtype)
    if hasattr(model, "_layers") or isinstance(model, nn.Layer):
        return (model(paddle.to_tensor(batch)) ** 2).mean()
    return (model(torch.from_numpy(batch)) ** 2).mean()


def alone(
    kind: str, optimizer: str = "SGD", lr: float = 0.1, scale: float = 1.0, **model: Any
) -> Steps:
    """What one process gets on whole batches."""
    plain = (layer if kind == "layer" else module)(**model)
    rule = optimizer_of(plain, optimizer, lr)
    return train(plain, plain, rule, 0, 1, model.get("dtype", "float64"), scale)[0]


def with_rule(rule: Any, model: nn.Layer) -> Steps:
    """What one process gets on whole batches with an optimizer of ``model``."""
    return train(model, model, rule, 0, 1, "float64")[0]


def simulated(kind: str, lr: float, world_size: int, direction: Any, **model: Any) -> Steps:
    """Ranks one after the other: ``direction(step, name, gradients of all ranks)`` is what each
    parameter steps along.
    """
    plain = (layer if kind == "layer" else module)(**model)
    dtype, seen = model.get("dtype", "float64"), []
    for step, batch in enumerate(batches()):
        by_rank = [_gradients(plain, batch[rank::world_size], dtype) for rank in range(world_size)]
        for number, (param, grads) in enumerate(
            zip(plain.parameters(), zip(*by_rank, strict=True), strict=True)
        ):
            along = direction(step, number, [g.copy() for g in grads])
            raw = param.raw if kind == "layer" else param
            with torch.no_grad():
                raw.sub_(torch.from_numpy(np.ascontiguousarray(along)).to(raw.dtype), alpha=lr)
        seen.append(values(plain))
    return seen


def _gradients(model: Any, batch: np.ndarray, dtype: str) -> list[np.ndarray]:
    loss_of(model, batch, dtype).backward()
    found = [p.grad.numpy().copy() for p in model.parameters()]
    for param in model.parameters():
        (
            param.clear_gradient
            if isinstance(model, nn.Layer)
            else lambda p=param: setattr(p, "grad", None)
        )()
    return found


def train(
    plain: Any,
    model: Any,
    rule: Any,
    rank: int,
    world_size: int,
    dtype: str,
    scale: float = 1.0,
    how: str = "step",
) -> tuple[Steps, list[float]]:
    seen, losses = [], []
    for batch in batches():
        loss = loss_of(model, batch[rank::world_size], dtype) * scale
        loss.backward()
        losses.append(float(loss.detach()))
        if how == "minimize":
            rule.minimize(loss)
        elif how == "loss":
            rule.step(loss=loss)
        else:
            rule.step()
        getattr(
            rule, "clear_grad", rule.zero_grad if isinstance(rule, torch.optim.Optimizer) else None
        )()
        seen.append(values(plain))
    return seen, losses


@in_job
def trained(
    rank: int,
    world_size: int,
    kind: str,
    switches: Switches,
    optimizer: str = "SGD",
    lr: float = 0.1,
    order: str = "model",
    how: str = "step",
    **model: Any,
) -> dict[str, Any]:
    """The weights after each step on this rank's share of each batch, and what else tests ask
    about.
    """
    strategy = strategy_of(switches)
    if order == "late":  # the model is made before anything is known of the strategy
        fleet.init(is_collective=True)
    else:
        fleet.init(is_collective=True, strategy=strategy)
    traffic = count_traffic(fleet.fleet._group())
    plain = (layer if kind == "layer" else module)(**model)
    rule = optimizer_of(plain, optimizer, lr)
    if order == "optimizer":
        rule = fleet.distributed_optimizer(rule)
        wrapped = fleet.distributed_model(plain)
    else:
        wrapped = fleet.distributed_model(plain)
        rule = fleet.distributed_optimizer(rule, strategy if order == "late" else None)
    traffic.reset()
    seen, losses = train(
        plain, wrapped, rule, rank, world_size, model.get("dtype", "float64"), how=how
    )
    load = rule.set_state_dict if kind == "layer" else rule.load_state_dict
    load(rule.state_dict())
    return {
        "steps": seen,
        "losses": losses,
        "notes": [note.switch for note in fleet.plan().notes],
        "stages": [stage.name for stage in fleet.plan()],
        "bytes": dict(traffic.bytes_by_kind),
        "calls": dict(traffic.calls_by_kind),
        "entries": state_entries(rule),
        "grads": sum(p.grad is not None for p in plain.parameters()) if kind == "torch" else 0,
        "is_torch": isinstance(rule, torch.optim.Optimizer)
        and isinstance(wrapped, torch.nn.Module),
        "dtypes": sorted({str(p.dtype) for p in plain.parameters()}),
    }


def state_entries(rule: Any) -> int:
    """How many numbers of optimizer state this rank keeps."""
    state = rule.state_dict()
    if "state" in state:
        tensors = [
            t
            for slots in state["state"].values()
            for t in slots.values()
            if isinstance(t, torch.Tensor)
        ]
        return sum(t.numel() for t in tensors)
    return sum(int(np.prod(t.shape)) for t in state.values() if isinstance(t, paddle.Tensor))


@in_job
def overflowing(rank: int, world_size: int, kind: str) -> dict[str, Any]:
    """float16 as on a GPU. A torch module really computes in it; a Layer on a processor does in
    float32, with scaled losses all the same.

    At the second step the loss of rank 1 is so large that scaled gradients have no place in
    float16.
    """
    strategy = strategy_of(
        {"amp": True, "amp_configs": {"decr_every_n_nan_or_inf": 1, "decr_ratio": 0.5}}
    )
    fleet.init(is_collective=True, strategy=strategy)
    planned = fleet.fleet._planned
    fleet.fleet._planned = lambda *args: as_on_a_gpu(planned(*args))
    try:
        plain = layer(dtype="float32") if kind == "layer" else module(dtype="float32")
        model = fleet.distributed_model(plain)
        rule = fleet.distributed_optimizer(optimizer_of(plain, "SGD", 0.1))
    finally:
        del fleet.fleet._planned
    scales, is_moved, before = [fleet.get_loss_scaling()], [], values(plain)
    for number, batch in enumerate(batches(3)):
        loss = loss_of(model, batch[rank::world_size], "float32")
        (
            loss * (1e6 if kind == "torch" else float("inf")) if number == 1 and rank == 1 else loss
        ).backward()
        rule.step()
        (rule.clear_grad if kind == "layer" else rule.zero_grad)()
        scales.append(fleet.get_loss_scaling())
        is_moved.append(any((a != b).any() for a, b in zip(values(plain), before, strict=True)))
        before = values(plain)
    return {"scales": scales, "is_moved": is_moved, "values": before}


def as_on_a_gpu(plan: Any) -> Any:
    import dataclasses

    stages = [
        dataclasses.replace(stage, dtype="float16") if stage.name == "amp" else stage
        for stage in plan.stages
    ]
    return dataclasses.replace(plan, stages=tuple(stages))


@in_job
def scaled_by_the_script(rank: int, world_size: int, kind: str) -> list[np.ndarray]:
    """The usual loop with a scaler."""
    strategy = strategy_of({"amp": True})
    fleet.init(is_collective=True, strategy=strategy)
    plain = layer(dtype="float32") if kind == "layer" else module(dtype="float32")
    model = fleet.distributed_model(plain)
    rule = fleet.distributed_optimizer(optimizer_of(plain, "SGD", 0.1))
    if kind == "layer":
        made = paddle.amp.GradScaler(init_loss_scaling=1024.0, use_dynamic_loss_scaling=False)
    else:
        made = torch.amp.GradScaler("cpu", init_scale=1024.0)
    scaler = fleet.distributed_scaler(made)
    for batch in batches():
        scaler.scale(loss_of(model, batch[rank::world_size], "float32")).backward()
        scaler.step(rule)
        scaler.update()
        (rule.clear_grad if kind == "layer" else rule.zero_grad)()
    return values(plain)


@in_job
def scheduled(rank: int, world_size: int, switches: Switches, optimizer: str) -> Steps:
    """A scheduler of torch on what fleet returns."""
    fleet.init(is_collective=True, strategy=strategy_of(switches))
    plain = module()
    model = fleet.distributed_model(plain)
    rule = fleet.distributed_optimizer(optimizer_of(plain, optimizer, 0.1))
    return with_schedule(plain, model, rule, rank, world_size)


def with_schedule(plain: Any, model: Any, rule: Any, rank: int = 0, world_size: int = 1) -> Steps:
    schedule, seen = torch.optim.lr_scheduler.StepLR(rule, 2, 0.5), []
    for batch in batches():
        loss_of(model, batch[rank::world_size], "float64").backward()
        rule.step()
        schedule.step()
        rule.zero_grad()
        seen.append(values(plain))
    return seen


def chosen(rank: int, world_size: int, meeting: dict[str, Any], kind: str, backend: str) -> Any:
    """What ``auto`` comes to, and the parameters after a step."""
    with joined_job(rank, world_size, meeting, backend):
        fleet.init(is_collective=True, strategy=strategy_of({"auto": True}))
        plain = layer(8, "float32") if kind == "layer" else module(8, "float32")
        model = fleet.distributed_model(plain)
        rule = fleet.distributed_optimizer(optimizer_of(plain, "SGD", 0.1))
        loss_of(model, batches()[0][rank::world_size], "float32").backward()
        rule.step()
        plan = fleet.plan()
        return plan.choices, [stage.name for stage in plan], plan.describe(), values(plain)
