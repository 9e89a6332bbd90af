"""What the ranks do in the tests of sharding stage 3 (split parameters)."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import paddle
from multiprocess import sharding_workers
from paddle.distributed import fleet
from paddle.distributed.fleet.recompute import recompute
from paddle.distributed.sharding import group_sharded_parallel, save_group_sharded_model
from support import models
from support.job import joined_job

Meeting = dict[str, Any]
Arrays = dict[str, np.ndarray]
LEVEL = "p_g_os"
KINDS = ("sgd", "momentum", "adam", "adamw", "groups", "rmsprop")


@contextlib.contextmanager
def joined(
    rank: int, world_size: int, meeting: Meeting | None, backend: str = "auto"
) -> Iterator[None]:
    """Take part in a job, or be alone; parameters are named as in a new process."""
    with contextlib.ExitStack() as stack:
        if meeting is not None:
            stack.enter_context(joined_job(rank, world_size, meeting, backend))
        stack.enter_context(paddle.utils.unique_name.guard())
        yield


def make_optimizer(kind: str, model: Any) -> Any:
    params = model.parameters()
    clip = paddle.nn.ClipGradByGlobalNorm(0.1)
    rates = paddle.optimizer.lr.StepDecay(0.05, step_size=2, gamma=0.5)
    if kind == "adam":
        return paddle.optimizer.Adam(
            rates, parameters=params, weight_decay=0.1, grad_clip=paddle.nn.ClipGradByValue(0.02)
        )
    if kind == "rmsprop":
        return paddle.optimizer.RMSProp(
            rates, parameters=params, momentum=0.9, centered=True, weight_decay=0.1
        )
    if kind == "sgd":
        return paddle.optimizer.SGD(rates, parameters=params, weight_decay=0.1, grad_clip=clip)
    return sharding_workers.make_optimizer(kind, model)


def shard(model: Any, optimizer: Any, scaler: Any = None, **options: Any) -> tuple[Any, Any, Any]:
    """Stage 3 in a job, and nothing where there is one process."""
    if paddle.distributed.get_world_size() < 2:
        return model, optimizer, scaler
    return group_sharded_parallel(model, optimizer, LEVEL, scaler, **{"segment_size": 0, **options})


def arrays(state: dict[str, Any]) -> Arrays:
    return {key: value.numpy() for key, value in state.items() if isinstance(value, paddle.Tensor)}


def whole_state(optimizer: Any) -> Arrays:
    return arrays(
        optimizer.full_state_dict()
        if hasattr(optimizer, "full_state_dict")
        else optimizer.state_dict()
    )


def trained(
    rank: int,
    world_size: int,
    meeting: Meeting | None = None,
    *,
    kinds: Any = KINDS,
    name: str = "mlp",
    backend: str = "auto",
) -> dict[str, tuple[list[float], Arrays, Arrays]]:
    """For each kind of optimizer: losses, the model's state, the whole state of the optimizer."""
    found = {}
    with joined(rank, world_size, meeting, backend):
        for kind in kinds:
            with paddle.utils.unique_name.guard():
                model = models.build(paddle, name, "float64")
                if rank:
                    # the first rank's is what counts
                    model.parameters()[0].set_value(model.parameters()[0] * 0)
                model, optimizer, _ = shard(model, make_optimizer(kind, model))
                losses = sharding_workers.run(
                    model, optimizer, range(4), "float64", rank, world_size, name
                )
                found[kind] = losses, arrays(model.state_dict()), whole_state(optimizer)
    return found


# -- models that are not a chain of layers
# ------------------------------------------------------------------------------


class Block(paddle.nn.Layer):
    """Has a parameter of its own, which it uses twice, and a layer that it calls twice."""

    def __init__(self) -> None:
        super().__init__()
        self.own = self.create_parameter([8, 8])
        self.listed = paddle.nn.ParameterList([self.create_parameter([8, 8]) for _ in range(2)])
        self.inner = paddle.nn.Linear(8, 8)

    def forward(self, x: paddle.Tensor, scale: float = 1.0) -> paddle.Tensor:
        x = paddle.tanh(
            paddle.matmul(x, self.own) + paddle.matmul(x * x, self.own, transpose_y=True)
        )
        x = self.inner(paddle.tanh(self.inner(x))) * scale
        return x + paddle.matmul(x, self.listed[0]) * paddle.matmul(x, self.listed[1])


class Net(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.table = paddle.nn.Embedding(10, 8)
        self.first, self.second, self.third = Block(), Block(), Block()
        self.sometimes = paddle.nn.Linear(8, 8)
        self.frozen = paddle.nn.Linear(8, 8)
        self.frozen.weight.stop_gradient = True
        self.norm = paddle.nn.BatchNorm1D(8)
        self.lstm = paddle.nn.LSTM(8, 8)
        self.excluded = paddle.nn.LayerNorm(8)
        self.extra_parameters = [self.table.weight]  # read in forward although it is the table's

    def forward(self, ids: paddle.Tensor, uses_all: bool) -> dict[str, paddle.Tensor]:
        x = self.first(self.table(ids))
        x = recompute(self.second, x, scale=0.5)  # all of a layer
        x = self._repeated(x)
        if uses_all:
            x = x + self.sometimes(x)
        x = self.frozen(self.norm(x))
        x = self.excluded(x + self.lstm(x.unsqueeze(1))[0].squeeze(1))
        return {"scores": paddle.matmul(x, self.table.weight, transpose_y=True)}

    def _repeated(self, x: paddle.Tensor) -> paddle.Tensor:
        def part(y: paddle.Tensor) -> paddle.Tensor:  # what is inside a layer that runs
            return self.third(y) + paddle.matmul(y, self.table.weight, transpose_y=True).sum(
                -1, keepdim=True
            )

        return recompute(part, x)


def _net() -> Any:
    paddle.set_default_dtype("float64")
    try:
        net = Net()
    finally:
        paddle.set_default_dtype("float32")
    draw = np.random.RandomState(5)
    for name, param in net.named_parameters():
        if not name.endswith(("_mean", "_variance")):
            param.set_value(draw.uniform(-0.4, 0.4, param.shape))
    return net


def awkward(
    rank: int, world_size: int, meeting: Meeting | None = None, *, syncs: bool = True
) -> tuple[list[float], Arrays, Arrays]:
    """Two backwards for each step, on halves of this rank's rows; every other step leaves a layer
    out; evaluation in between.
    """
    with joined(rank, world_size, meeting), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about parameters without a gradient
        net = _net()
        clip = paddle.nn.ClipGradByGlobalNorm(0.5)
        adam = paddle.optimizer.AdamW(
            0.02, parameters=net.parameters(), weight_decay=0.1, grad_clip=clip
        )
        model, adam, _ = shard(net, adam, exclude_layer=["LayerNorm", id(net.norm)])
        losses = []
        for step in range(4):
            rows = np.random.RandomState(step).randint(0, 10, 24)
            for half in range(2):
                # statistics of a batch norm are of the rank's rows: all ranks have the same, so
                # that one process can do as they do
                ids = paddle.to_tensor(rows[12 * half : 12 * half + 12])
                last = half == 1 or syncs
                with contextlib.nullcontext() if last or world_size < 2 else model.no_sync():
                    weight = 1.0 if world_size < 2 else 2.0 * (rank + 1) / (world_size + 1)
                    loss = (model(ids, step % 2 == 0)["scores"] ** 2).mean() * weight
                    loss.backward()
                losses.append(float(loss) / weight)
            adam.step()
            adam.clear_grad()
            model.eval()
            with paddle.no_grad():
                losses.append(float(model(paddle.to_tensor(rows[:4]), True)["scores"].mean()))
            model.train()
        return losses, arrays(model.state_dict()), whole_state(adam)


# -- memory
# --------------------------------------------------------------------------------------------------


class _Allocations(ctypes.Structure):
    """What the allocator of the C library says of itself; ``uordblks`` and ``hblkhd`` are the bytes
    in use.
    """

    _fields_ = [
        *(
            (name, ctypes.c_size_t)
            for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks")
        ),
        *((name, ctypes.c_size_t) for name in ("uordblks", "fordblks", "keepcost")),
    ]


def _held_bytes() -> int:
    """Bytes that this process has allocated; tensors are by far the largest."""
    gc.collect()
    read = ctypes.CDLL(None).mallinfo2
    read.restype = _Allocations
    found = read()
    return int(found.uordblks + found.hblkhd)


def memory(rank: int, world_size: int, meeting: Meeting) -> dict[str, int]:
    """Bytes that are held at some points, beyond those before; ``whole`` are those of the
    parameters.
    """
    with joined(rank, world_size, meeting):
        # what the first use of anything allocates is not the model's
        warm = paddle.nn.Linear(256, 256)
        warm, adam, _ = shard(
            warm, paddle.optimizer.Adam(0.01, parameters=warm.parameters()), segment_size=256
        )
        warm(paddle.ones([1, 256])).sum().backward()
        adam.step()
        before = _held_bytes()
        model = paddle.nn.Sequential(*(paddle.nn.Linear(256, 256) for _ in range(12)))
        found = {"whole": _held_bytes() - before}
        adam = paddle.optimizer.Adam(0.01, parameters=model.parameters())
        model, adam, _ = shard(model, adam, segment_size=256)
        found["split"] = _held_bytes() - before
        x = paddle.ones([1, 256])
        loss = model(x).sum()
        found["graph"] = _held_bytes() - before
        loss.backward()
        del loss
        found["gradients"] = _held_bytes() - before
        adam.step()
        found["stepped"] = _held_bytes() - before
        adam.clear_grad()
        model.get_all_parameters()
        found["gathered"] = _held_bytes() - before
        model(x)
        found["between"] = _held_bytes() - before
        return found


# -- checkpoints
# --------------------------------------------------------------------------------------------------


def save(rank: int, world_size: int, meeting: Meeting, *, folder: str) -> list[float]:
    """Train half of the steps and save; then go on to the end for comparison."""
    with joined(rank, world_size, meeting):
        model = models.build(paddle, "mlp", "float64")
        model, adam, _ = shard(model, make_optimizer("adamw", model))
        sharding_workers.run(model, adam, range(3), "float64", rank, world_size)
        save_group_sharded_model(model, folder, adam)
        model.get_all_parameters()  # and in Paddle's way
        if rank == 0:
            saved = paddle.load(f"{folder}/model.pdmodel")
            assert all(
                np.array_equal(v.numpy(), saved[k].numpy()) for k, v in model.state_dict().items()
            )
        return sharding_workers.run(model, adam, range(3, 6), "float64", rank, world_size)


def resume(
    rank: int, world_size: int, meeting: Meeting | None = None, *, folder: str, before: bool = True
) -> list[float]:
    """Go on from what another number of ranks saved, loaded before or after sharding."""
    with joined(rank, world_size, meeting):
        model = models.build(paddle, "mlp", "float64")
        adam = make_optimizer("adamw", model)
        values, state = paddle.load(f"{folder}/model.pdmodel"), paddle.load(f"{folder}/model.pdopt")
        if before:
            model.set_state_dict(values)
            adam.set_state_dict(state)
        model, adam, _ = shard(model, adam)
        if not before:
            sharding_workers.run(model, adam, range(1), "float64", rank, world_size)
            model.set_state_dict(values)
            adam.set_state_dict(state)
        own = adam.state_dict()
        adam.set_state_dict(own)  # a part fits as well
        return sharding_workers.run(model, adam, range(3, 6), "float64", rank, world_size)


# -- mixed precision, replicas, fleet
# -----------------------------------------------------------------------------------


def scaled(
    rank: int, world_size: int, meeting: Meeting | None = None
) -> tuple[list[float], list[float], Arrays, Arrays]:
    """float32 with a scaler, where one rank overflows in the second step: scales, sums of weights;
    then bfloat16 with masters: the masters, the weights.
    """
    with joined(rank, world_size, meeting):
        model = models.build(paddle, "mlp", "float32")
        scaler = paddle.amp.GradScaler(init_loss_scaling=8.0)
        model, sgd, scaler = shard(
            model, paddle.optimizer.SGD(0.1, parameters=model.parameters()), scaler
        )
        scales, sums = [], []
        for step in range(3):
            x, _ = models.batch("mlp", step, "float32")
            if step == 1 and rank == world_size - 1:
                with np.errstate(over="ignore"):
                    x = x * np.float32(3e38)
            # what a scaler wants to have seen
            with paddle.amp.auto_cast(enable=False, dtype="float16"):
                loss = scaler.scale(model(paddle.to_tensor(x)).square().sum())
            loss.backward()
            scaler.step(sgd)
            scaler.update()
            sgd.clear_grad()
            scales.append(float(scaler._scale))
            sums.append(float(sum(v.numpy().sum() for v in model.state_dict().values())))
        with paddle.utils.unique_name.guard():
            model = models.build(paddle, "mlp", "float32")
            model, rule = paddle.amp.decorate(
                model, make_optimizer("adamw", model), level="O2", dtype="bfloat16"
            )
            model, rule, _ = shard(model, rule)
            for step in range(3):
                x, _ = models.batch("mlp", step, "float32")
                with paddle.amp.auto_cast(level="O2", dtype="bfloat16"):
                    model(paddle.to_tensor(x).astype("bfloat16")).astype(
                        "float32"
                    ).square().mean().backward()
                rule.step()
                rule.clear_grad()
            whole = rule.full_state_dict() if world_size > 1 else rule.state_dict()
            rule.set_state_dict(whole)
            return (
                scales,
                sums,
                arrays(whole["master_weights"]),
                arrays({k: v.astype("float32") for k, v in model.state_dict().items()}),
            )


def hybrid(rank: int, world_size: int, meeting: Meeting) -> tuple[list[float], Arrays, Arrays]:
    """Two sharding groups of two ranks, averaged over both: some parameters are split, others
    whole.
    """
    with joined(rank, world_size, meeting):
        rows = [paddle.distributed.new_group([0, 1]), paddle.distributed.new_group([2, 3])]
        columns = [paddle.distributed.new_group([0, 2]), paddle.distributed.new_group([1, 3])]
        model = models.build(paddle, "mlp", "float64")
        if rank >= 2:
            # the first replica's is what counts
            model[0].weight.set_value(np.zeros(model[0].weight.shape))
        model, adam, _ = shard(
            model,
            make_optimizer("adamw", model),
            group=rows[rank // 2],
            dp_group=columns[rank % 2],
            segment_size=20,
        )
        losses = sharding_workers.run(model, adam, range(4), "float64", rank, world_size)
        return losses, arrays(model.state_dict()), whole_state(adam)


def by_fleet(
    rank: int,
    world_size: int,
    meeting: Meeting | None = None,
    *,
    switches: dict[str, Any],
    model_first: bool = True,
) -> tuple[list[float], Arrays, Arrays]:
    """The same by a strategy, with other switches."""
    with joined(rank, world_size, meeting):
        strategy = fleet.DistributedStrategy()
        if world_size > 1:
            strategy.sharding = True
            strategy.sharding_configs = {"stage": 3, **switches.get("sharding_configs", {})}
        for name, value in switches.items():
            if name != "sharding_configs":
                setattr(strategy, name, value)
        fleet.init(is_collective=True, strategy=strategy)
        return _fleet_run(rank, world_size, model_first)


def _fleet_run(rank: int, world_size: int, model_first: bool) -> tuple[list[float], Arrays, Arrays]:
    paddle.set_default_dtype("float64")
    try:
        model = paddle.nn.Sequential(
            paddle.nn.Linear(6, 700), paddle.nn.Tanh(), paddle.nn.Linear(700, 3)
        )
    finally:
        paddle.set_default_dtype("float32")
    draw = np.random.RandomState(3)
    for param in model.parameters():
        param.set_value(draw.uniform(-0.3, 0.3, param.shape))
    optimizer = make_optimizer("adamw", model)
    makers: list[Callable[[], Any]] = [
        lambda: fleet.distributed_model(model),
        lambda: fleet.distributed_optimizer(optimizer),
    ]
    made = [make() for make in (makers if model_first else makers[::-1])]
    wrapped, optimizer = made if model_first else made[::-1]
    losses = sharding_workers.run(wrapped, optimizer, range(4), "float64", rank, world_size)
    return losses, arrays(wrapped.state_dict()), whole_state(optimizer._inner_opt)


# -- what is refused
# --------------------------------------------------------------------------------------------------


def refusals(rank: int, world_size: int, meeting: Meeting) -> dict[str, str]:
    """The words of each refusal."""
    found = {}

    def note(name: str, call: Callable[[], Any]) -> None:
        try:
            call()
        except (ValueError, AssertionError, RuntimeError, TypeError) as error:
            found[name] = f"{type(error).__name__}: {error}"

    def model(kind: str = "Linear") -> Any:
        return getattr(paddle.nn, kind)(4, 4)

    def rule(layer: Any, kind: str = "SGD", **options: Any) -> Any:
        return getattr(paddle.optimizer, kind)(0.1, parameters=layer.parameters(), **options)

    with joined(rank, world_size, meeting):
        inner = model()
        note("LookAhead", lambda: shard(inner, paddle.incubate.LookAhead(rule(inner))))
        for kind in ("Lamb", "ASGD", "LBFGS"):
            layer = model()
            note(kind, lambda layer=layer, kind=kind: shard(layer, rule(layer, kind)))
        layer = paddle.nn.Embedding(9, 4, sparse=True)
        note("sparse", lambda: shard(layer, rule(layer)))
        one, other = model(), model()
        note("segment", lambda: shard(one, rule(one), segment_size=-1))
        note(
            "optimizer",
            lambda: shard(one, paddle.optimizer.SGD(0.1, parameters=one.parameters()[:1])),
        )
        note(
            "others",
            lambda: shard(
                one, paddle.optimizer.SGD(0.1, parameters=one.parameters() + other.parameters())
            ),
        )
        for name, excluded in (("exclude", "Linear"), ("id", [1])):
            note(name, lambda excluded=excluded: shard(one, rule(one), exclude_layer=excluded))

        class OwnClip(paddle.nn.ClipGradByGlobalNorm):
            pass

        note("clip", lambda: shard(one, rule(one, grad_clip=OwnClip(1.0))))
        layer, sgd, _ = shard(*(lambda m: (m, rule(m)))(model()))
        inner = layer._layers
        note("again", lambda: shard(inner, rule(inner)))
        note("wrapped", lambda: shard(layer, rule(layer)))
        note("read", lambda: inner.weight.numpy())
        note("use", lambda: paddle.matmul(paddle.ones([2, 4]), inner.weight))
        note("write", paddle.no_grad()(lambda: inner.weight.scale_(2.0)))
        note("hook", lambda: inner.weight.register_hook(print))
        note("grad", lambda: setattr(inner.weight, "grad", paddle.ones([4, 4])))
        note("cast", lambda: inner.astype("float64"))
        with layer.no_sync():
            layer(paddle.ones([2, 4])).sum().backward()
        note("no_sync", sgd.step)
        note("clipped", lambda: paddle.nn.utils.clip_grad_norm_(layer.parameters(), 1.0))
        note("stepped", rule(layer).step)
        layer.clear_gradients()
        sgd.step()  # nothing waits any more
        note("fails", lambda: layer(paddle.ones([2, 5])))  # leaves nothing behind
        x = paddle.ones([2, 4])
        x.stop_gradient = False
        y = layer(x)
        (y * y).sum().backward()
        assert x.grad is not None
        h = paddle.tanh(paddle.ones([2, 4]) * x)
        out = layer(h)
        h.scale_(0.0)
        note("in place", lambda: out.sum().backward())
        parts = paddle.nn.LayerList([model(), model()])
        _, sgd, _ = shard(parts, rule(parts))
        first = parts[rank](paddle.ones([2, 4]))  # the ranks disagree about what they run
        parts[1 - rank](first).sum().backward()
        note("order", sgd.step)
    return found
