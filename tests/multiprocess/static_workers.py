"""What the trainers of a static program do; each function runs in the workers of the pool,
``train_whole`` also in the test itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import paddle
from argosy.static.run.contract import PreparedProgram
from support.job import environment, joined_job

Values = dict[str, np.ndarray]

OPTIMIZERS = {
    "sgd": lambda: paddle.optimizer.SGD(0.2),
    "momentum": lambda: paddle.optimizer.Momentum(
        0.1, grad_clip=paddle.nn.ClipGradByGlobalNorm(0.5), weight_decay=0.01
    ),
    "adam": lambda: paddle.optimizer.Adam(0.01, weight_decay=0.01),
}


def build(optimizer: str, is_sparse: bool = False, has_norm: bool = False) -> tuple[Any, Any, Any]:
    """A classifier with or without a looked-up feature and batch normalisation; returns main,
    startup and the loss.
    """
    static = paddle.static
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), paddle.utils.unique_name.guard():
        x, y = static.data("x", [None, 6]), static.data("y", [None, 1], "int64")
        hidden = paddle.nn.functional.tanh(static.nn.fc(x, 8))
        if has_norm:
            hidden = static.nn.batch_norm(hidden)
        if is_sparse:
            word = static.data("word", [None], "int64")
            hidden = hidden + static.nn.embedding(word, [10, 8], is_sparse=True)
        loss = paddle.nn.functional.cross_entropy(static.nn.fc(hidden, 3), y)
        OPTIMIZERS[optimizer]().minimize(loss)
    return main, startup, loss


def first_values(startup: Any, seed: int) -> Values:
    rng = np.random.default_rng(seed)
    found = {}
    for variable in startup.list_vars():
        if isinstance(variable, paddle.static.Variable) and variable.name.endswith(
            (".w_0", ".b_0")
        ):
            found[variable.name] = rng.normal(0.0, 0.5, variable.shape).astype("float32")
    return found


def batch(step: int, rows: int = 8) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(100 + step)
    return {
        "x": rng.normal(size=(rows, 6)).astype("float32"),
        "y": rng.integers(0, 3, (rows, 1)),
        "word": rng.integers(0, 10, rows),
    }


def _start(startup: Any, values: Values) -> Any:
    scope = paddle.static.Scope()
    paddle.static.Executor(paddle.CPUPlace()).run(startup, scope=scope)
    for name, value in values.items():
        scope.find_var(name).get_tensor().set(value)
    return scope


def kept(scope: Any) -> Values:
    return {name: np.array(scope.find_var(name).get_tensor()) for name in scope.local_var_names()}


def _fed(main: Any, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: value for name, value in values.items() if main.global_block().has_var(name)}


def train_whole(steps: int, **model: Any) -> Values:
    """The plain Executor on whole batches."""
    paddle.enable_static()
    try:
        main, startup, loss = build(**model)
        scope = _start(startup, first_values(startup, 0))
        exe = paddle.static.Executor(paddle.CPUPlace())
        for step in range(steps):
            exe.run(main, feed=_fed(main, batch(step)), fetch_list=[loss], scope=scope)
        return kept(scope)
    finally:
        paddle.disable_static()


def train(
    rank: int,
    world_size: int,
    meeting: dict[str, Any],
    *,
    steps: int,
    num_places: int,
    strategy: dict[str, Any],
    model: dict[str, Any],
) -> Values:
    """A ParallelExecutor on this trainer's part of each batch; only trainer 0 has the right first
    values.
    """
    paddle.enable_static()
    try:
        with joined_job(rank, world_size, meeting), environment({"CPU_NUM": str(num_places)}):
            main, startup, loss = build(**model)
            scope = _start(startup, first_values(startup, rank))
            build_strategy = paddle.static.BuildStrategy()
            for field, value in strategy.items():
                setattr(build_strategy, field, value)
            with paddle.static.ParallelExecutor(
                False,
                loss.name,
                main,
                build_strategy=build_strategy,
                num_trainers=world_size,
                trainer_id=rank,
                scope=scope,
            ) as exe:
                for step in range(steps):
                    rows = {
                        n: np.array_split(v, world_size)[rank]
                        for n, v in _fed(main, batch(step)).items()
                    }
                    exe.run([loss.name], feed=rows)
            return kept(scope)
    finally:
        paddle.disable_static()


def train_attached(
    rank: int, world_size: int, meeting: dict[str, Any], *, steps: int, model: dict[str, Any]
) -> Values:
    """The plain Executor on a program that is compiled for several trainers."""
    paddle.enable_static()
    try:
        with joined_job(rank, world_size, meeting):
            main, startup, loss = build(**model)
            scope = _start(startup, first_values(startup, rank))
            strategy = paddle.static.BuildStrategy()
            strategy.num_trainers, strategy.trainer_id = world_size, rank
            main.attachments.put(PreparedProgram, paddle.static.CompiledProgram(main, strategy))
            with paddle.static.Executor(paddle.CPUPlace()) as exe:
                for step in range(steps):
                    rows = {
                        n: np.array_split(v, world_size)[rank]
                        for n, v in _fed(main, batch(step)).items()
                    }
                    [value] = exe.run(main, feed=rows, fetch_list=[loss], scope=scope)
                    assert value.shape == ()
            return kept(scope)
    finally:
        paddle.disable_static()


def fluid_collectives(rank: int, world_size: int, meeting: dict[str, Any]) -> dict[str, Any]:
    """Each of ``fluid.layers.collective`` on ``rank + 1``, and the gradients of three."""
    from paddle import fluid

    calls = fluid.layers.collective
    paddle.enable_static()
    try:
        with joined_job(rank, world_size, meeting):
            main = fluid.Program()
            with fluid.program_guard(main, fluid.Program()), fluid.unique_name.guard():
                x = fluid.data("x", [world_size, 1])
                x.stop_gradient = False
                differentiable = {
                    "sum": calls._c_allreduce(x),
                    "joined": calls._c_allgather(x, world_size, use_calc_stream=True),
                    "part": calls._c_reducescatter(x, world_size),
                }
                scale = fluid.data("scale", [1])
                fetched = {
                    f"grad of {name}": fluid.gradients(out * scale, x)[0]
                    for name, out in differentiable.items()
                }
                kept = fluid.layers.create_tensor("float32")
                fetched |= differentiable | {
                    "max": calls._c_allreduce(x, kept, "max"),
                    "prod": calls._allreduce(x, reduce_type="prod"),
                    "root": calls._c_broadcast(fluid.layers.scale(x), root=1),
                    "same": calls._c_sync_comm_stream(calls._c_sync_calc_stream(x), 0),
                }
            fed = {
                "x": np.full((world_size, 1), rank + 1.0, "float32"),
                "scale": np.full(1, 10.0 * (rank + 1), "float32"),
            }
            found = fluid.Executor(fluid.CPUPlace()).run(
                main, feed=fed, fetch_list=list(fetched.values())
            )
            return {n: v.ravel().tolist() for n, v in zip(fetched, found, strict=True)}
    finally:
        paddle.disable_static()
