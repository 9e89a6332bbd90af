"""Programs that workers train with Fleet's strategies; functions run in the workers of the pool,
``alone`` also in the test itself.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

import paddle
import paddle.distributed as dist
import paddle.distributed.fleet as fleet
import paddle.nn as nn
from argosy.distributed.fleet.planning.settings import Amp
from argosy.distributed.fleet.stages.program_optimizer import full_state
from argosy.foundation.errors import CollectiveMismatch
from argosy.runtime.comm.traffic import count_traffic
from multiprocess.fleet_base_workers import in_job
from multiprocess.fleet_stage_workers import as_on_a_gpu

Values = dict[str, np.ndarray]

OPTIMIZERS = {
    "sgd": lambda: paddle.optimizer.SGD(0.1),
    "momentum": lambda: paddle.optimizer.Momentum(0.1, 0.9),
    "decayed": lambda: paddle.optimizer.Momentum(
        0.1,
        0.9,
        grad_clip=nn.ClipGradByGlobalNorm(0.3),
        weight_decay=paddle.regularizer.L2Decay(0.01),
    ),
    "adam": lambda: paddle.optimizer.Adam(0.05, grad_clip=nn.ClipGradByGlobalNorm(0.3)),
    "scheduled": lambda: paddle.optimizer.SGD(paddle.optimizer.lr.StepDecay(0.4, 2, 0.25)),
}


def strategy_of(switches: dict[str, Any]) -> Any:
    strategy = fleet.DistributedStrategy()
    for name, value in switches.items():
        setattr(strategy, name, value)
    return strategy


@contextlib.contextmanager
def static_mode():
    paddle.enable_static()
    try:
        yield
    finally:
        paddle.disable_static()


class Model:
    """A small classifier with its programs, a scope of its own and an executor."""

    def __init__(
        self,
        optimizer: str,
        switches: dict[str, Any],
        shift: float = 0.0,
        width: int = 8,
        has_norm: bool = False,
        freezes: bool = False,
    ):
        static = paddle.static
        self.main, self.startup = static.Program(), static.Program()
        with static.program_guard(self.main, self.startup), paddle.utils.unique_name.guard():
            x, y = static.data("x", [None, 6]), static.data("y", [None, 1], "int64")
            hidden = nn.functional.tanh(
                static.nn.fc(x, width, name="first", weight_attr=_values(6, width, shift))
            )
            if has_norm:
                hidden = static.nn.batch_norm(hidden)
            again = nn.functional.tanh(
                static.nn.fc(hidden, 5, name="second", weight_attr=_values(width, 5, shift))
            )
            scores = static.nn.fc(again, 3, name="third", weight_attr=_values(5, 3, shift))
            self.loss = nn.functional.cross_entropy(scores, y)
            if freezes:
                self.main.global_block().var("second.b_0").stop_gradient = True
            self.test = self.main.clone(for_test=True)
            switches = dict(switches)
            if switches.pop("recompute", False):
                switches |= {
                    "recompute": True,
                    "recompute_configs": {"checkpoints": [hidden.name, again.name]},
                }
            self.given = OPTIMIZERS[optimizer]()
            self.optimizer = fleet.distributed_optimizer(self.given, strategy_of(switches))
            self.optimizer.minimize(self.loss, self.startup)
        self.scope, self.exe = static.Scope(), static.Executor(paddle.CPUPlace())
        self.exe.run(self.startup, scope=self.scope)

    def train(self, batches: list[dict[str, np.ndarray]]) -> list[float]:
        losses = []
        for batch in batches:
            [value] = self.exe.run(self.main, feed=batch, fetch_list=[self.loss], scope=self.scope)
            losses.append(float(value))
            if isinstance(self.given._learning_rate, paddle.optimizer.lr.LRScheduler):
                self.given._learning_rate.step()
        return losses

    def values(self, name: str) -> np.ndarray:
        return np.array(self.scope.find_var(name).get_tensor())

    def parameters(self) -> Values:
        return {p.name: _widened(self.values(p.name)) for p in self.main.all_parameters()}

    def kept(self) -> list[str]:
        """What persists in the scope beside the parameters."""
        own = {p.name for p in self.main.all_parameters()}
        return sorted(v.name for v in self.main.list_vars() if v.persistable and v.name not in own)


def _widened(value: np.ndarray) -> np.ndarray:
    """As float32; bfloat16 comes as the upper halves of its numbers."""
    return (
        (value.astype("uint32") << 16).view("float32")
        if value.dtype == np.uint16
        else value.astype("float32")
    )


def _values(rows: int, columns: int, shift: float) -> Any:
    value = np.random.RandomState(rows).normal(0.0, 0.5, (rows, columns)) + shift
    return paddle.ParamAttr(initializer=nn.initializer.Assign(value.astype("float32")))


def batches(steps: int, rows: int = 12) -> list[dict[str, np.ndarray]]:
    rng = np.random.RandomState(5)
    return [
        {"x": rng.normal(size=(rows, 6)).astype("float32"), "y": rng.randint(0, 3, (rows, 1))}
        for _ in range(steps)
    ]


def share(batch: dict[str, np.ndarray], rank: int, world_size: int) -> dict[str, np.ndarray]:
    return {name: value[rank::world_size] for name, value in batch.items()}


def alone(
    optimizer: str, switches: dict[str, Any], steps: int, **model: Any
) -> tuple[Values, list[float]]:
    """One process on whole batches: the parameters and losses."""
    with static_mode():
        fleet.init(is_collective=True)
        made = Model(optimizer, switches, **model)
        losses = made.train(batches(steps))
        return made.parameters(), losses


class Simulated:
    """Workers one after the other in this process: each with a model that nothing connects to the
    others.
    """

    def __init__(self, optimizer: str, world_size: int, **model: Any) -> None:
        fleet.init(is_collective=True)
        self.models = [Model(optimizer, {}, **model) for _ in range(world_size)]

    def step(self, batch: dict[str, np.ndarray]) -> list[float]:
        return [
            m.train([share(batch, rank, len(self.models))])[0] for rank, m in enumerate(self.models)
        ]

    def average(self) -> None:
        for name in self.models[0].parameters():
            mean = np.mean([m.values(name) for m in self.models], axis=0)
            for m in self.models:
                m.scope.find_var(name).get_tensor().set(mean)

    def gradients(self, batch: dict[str, np.ndarray]) -> list[Values]:
        """What each worker's share gives at the parameters of the first model, which stay as they
        are.
        """
        first = self.models[0]
        names = list(first.parameters())
        before, found = first.parameters(), []
        for rank in range(len(self.models)):
            given = share(batch, rank, len(self.models))
            fetched = first.exe.run(
                first.main, feed=given, fetch_list=[f"{n}@GRAD" for n in names], scope=first.scope
            )
            found.append(dict(zip(names, fetched, strict=True)))
            self.set(before)
        return found

    def set(self, values: Values) -> None:
        for name, value in values.items():
            self.models[0].scope.find_var(name).get_tensor().set(value)


@contextlib.contextmanager
def planned_for_a_gpu():
    """Plans say float16, as they do for other devices than a processor; what follows from that runs
    here too.
    """
    planned = fleet.fleet._planned
    fleet.fleet._planned = lambda *args: as_on_a_gpu(planned(*args))
    try:
        yield
    finally:
        del fleet.fleet._planned


@in_job
def train(
    rank: int,
    world_size: int,
    optimizer: str,
    switches: dict[str, Any],
    steps: int,
    as_on_a_gpu: bool = False,
    **model: Any,
) -> dict[str, Any]:
    """This worker's share of each batch; only worker 0 has the right first values."""
    paddle.enable_static()
    fleet.init(is_collective=True)
    with planned_for_a_gpu() if as_on_a_gpu else contextlib.nullcontext():
        made = Model(optimizer, switches, shift=float(rank), **model)
    if switches.get("amp"):
        made.optimizer.amp_init(paddle.CPUPlace(), made.scope, made.test, use_fp16_test=True)
    started = made.parameters()
    history, losses = [], []
    for batch in batches(steps):
        losses += made.train([share(batch, rank, world_size)])
        history.append(made.parameters())
    [tested] = made.exe.run(
        made.test, feed=batches(1)[0], fetch_list=[made.loss.name], scope=made.scope
    )
    return {
        "start": started,
        "history": history,
        "parameters": made.parameters(),
        "losses": losses,
        "kept": made.kept(),
        "stages": [stage.name for stage in fleet.plan()],
        "tested": float(tested),
        "amp": fleet.plan()[Amp].dtype if "amp" in fleet.plan() else "",
        "casts": _low_dtype(made.main),
    }


def _low_dtype(program: Any) -> str:
    """The 16-bit type that the program computes in."""
    found = {str(v.dtype).rpartition(".")[2].lower() for v in program.list_vars()} & {
        "float16",
        "bfloat16",
        "fp16",
        "bf16",
    }
    return ",".join(sorted(found))


@in_job
def amp_state(
    rank: int, world_size: int, switches: dict[str, Any], optimizer: str = "adam"
) -> dict[str, Any]:
    """A run with good numbers, then one in which the data of worker 1 overflow."""
    paddle.enable_static()
    fleet.init(is_collective=True)
    configs = {
        "init_loss_scaling": 256.0,
        "decr_every_n_nan_or_inf": 1,
        "incr_every_n_steps": 2,
        "decr_ratio": 0.5,
    }
    with planned_for_a_gpu():
        made = Model(
            optimizer, {"amp": True, "amp_configs": configs, **switches}, shift=float(rank)
        )
    made.optimizer.amp_init(paddle.CPUPlace(), scope=made.scope)
    good = [share(batch, rank, world_size) for batch in batches(2)]
    made.train(good)
    scale = made.optimizer.get_loss_scaling().name
    grown, before = float(made.values(scale)[0]), made.parameters()
    bad = {**good[0], "x": good[0]["x"] * (np.inf if rank == 1 else 1.0)}
    made.train([bad])
    after = made.parameters()
    return {
        "grown": grown,
        "shrunk": float(made.values(scale)[0]),
        "stays": all(np.array_equal(before[name], after[name]) for name in before),
        "parameters": after,
    }


@in_job
def compiled(rank: int, world_size: int, switches: dict[str, Any], places: int) -> dict[str, Any]:
    """The script compiles the program itself, in the older way for ``places`` places, or, with 0,
    without any.
    """
    paddle.enable_static()
    fleet.init(is_collective=True)
    made = Model("momentum", switches, shift=float(rank))
    own = paddle.static.CompiledProgram(made.main)
    if places:
        own = own.with_data_parallel(made.loss.name, places=paddle.static.cpu_places(places))
    for batch in batches(4):
        made.exe.run(
            own, feed=share(batch, rank, world_size), fetch_list=[made.loss], scope=made.scope
        )
    made.exe.close()
    return {"parameters": made.parameters()}


@in_job
def unequal(rank: int, world_size: int, **of_second: Any) -> str:
    """The second worker has another program: the error that a worker gets."""
    paddle.enable_static()
    fleet.init(is_collective=True)
    try:
        made = Model("sgd", {}, **(of_second if rank == 1 else {}))
        made.train([share(batch, rank, world_size) for batch in batches(1)])
    except CollectiveMismatch as error:
        return str(error)
    return "trained"


@in_job
def sharded_state(
    rank: int, world_size: int, stage: int
) -> tuple[list[str], dict[str, np.ndarray]]:
    """The names of this worker's state, and the gathered whole."""
    paddle.enable_static()
    fleet.init(is_collective=True)
    made = Model(
        "adam", {"sharding": True, "sharding_configs": {"stage": stage}}, shift=float(rank)
    )
    made.train([share(batch, rank, world_size) for batch in batches(3)])
    whole = full_state(made.main, made.scope)
    return [name for name in made.kept() if "moment" in name], {
        name: t.numpy() for name, t in whole.items()
    }


def state_alone(steps: int) -> dict[str, np.ndarray]:
    with static_mode():
        fleet.init(is_collective=True)
        made = Model("adam", {})
        made.train(batches(steps))
        return {name: made.values(name) for name in made.kept() if "moment" in name}


@in_job
def sent_bytes(rank: int, world_size: int, switches: dict[str, Any]) -> int:
    """What this worker sends in one run, after a first one."""
    paddle.enable_static()
    fleet.init(is_collective=True)
    traffic = count_traffic(dist.get_group())
    made = Model("momentum", switches, width=4096)
    steps = [share(batch, rank, world_size) for batch in batches(2)]
    made.train(steps[:1])
    traffic.reset()
    made.train(steps[1:])
    return traffic.total_bytes
