"""Models that every role of a parameter-server job builds, and one process trains as well: what
they return is compared.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import torch

import paddle
import paddle.distributed.fleet as fleet
from goldens import ps_programs

STEPS, NUM_WORKERS, BATCH = 6, 2, 8
NUM_WORDS, NUM_NEGATIVES = 15, 3
Arrays = dict[str, np.ndarray]


def _is_alone() -> bool:
    return fleet.server_num() == 0


def _union(batches: list[Arrays]) -> Arrays:
    return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}


def _seen(batch: Any, step: int) -> Arrays:
    """A worker's batch; all workers' for one process."""
    return (
        _union([batch(w, step) for w in range(NUM_WORKERS)])
        if _is_alone()
        else batch(fleet.worker_index(), step)
    )


@contextlib.contextmanager
def _serving() -> Any:
    """Servers serve in here and get False; workers have joined."""
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        yield False
        return
    fleet.init_worker()
    yield True
    if not _is_alone():
        fleet.barrier_worker()
    fleet.stop_worker()


def _strategy() -> Any:
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = False
    return strategy


# -- programs
# --------------------------------------------------------------------------------------------------


def _train_program(
    build: Any, batch: Any, optimizer: Any, steps: int, rows: Arrays | None = None
) -> Any:
    """Losses, dense parameters and the rows that ``rows`` names; one process starts from those it
    is given there.
    """
    paddle.enable_static()
    fleet.init(is_collective=False)
    loss = build(paddle)
    main = paddle.static.default_main_program()
    fleet.distributed_optimizer(optimizer(), _strategy()).minimize(loss)
    exe = paddle.static.Executor(paddle.CPUPlace())
    if not fleet.is_server():
        exe.run(paddle.static.default_startup_program())
    with _serving() as is_worker:
        if not is_worker:
            return None
        scope = paddle.static.global_scope()
        if _is_alone():
            for name, values in (rows or {}).items():
                scope.find_var(name).get_tensor().set(values, paddle.CPUPlace())
        first = (
            {}
            if _is_alone()
            else {name: _pull(name, values) for name, values in (rows or {}).items()}
        )
        losses = [
            float(exe.run(main, feed=_seen(batch, step), fetch_list=[loss])[0])
            for step in range(steps)
        ]  # each is the mean over what this process sees
        names = [p.name for p in main.all_parameters() if p.name not in (rows or {})]
        found = {name: np.array(scope.find_var(name).get_tensor()) for name in names}
        for name, values in (rows or {}).items():
            found[name] = (
                np.array(scope.find_var(name).get_tensor()) if _is_alone() else _pull(name, values)
            )
        return np.array(losses, np.float32), found, first


def _pull(table: str, like: np.ndarray) -> np.ndarray:
    return np.array(fleet.fleet.servers.runtime.worker.pull(table, np.arange(len(like))))


def golden_program() -> Any:
    """The model that real Paddle trained, too."""
    return _train_program(
        ps_programs.build,
        ps_programs.batch,
        lambda: paddle.optimizer.SGD(ps_programs.RATE),
        ps_programs.STEPS,
    )


def wide_and_deep_batch(worker: int, step: int) -> Arrays:
    rng = np.random.default_rng((worker, step))
    return {
        "ids": rng.integers(0, 20, (BATCH, 3)),
        "numbers": rng.normal(size=(BATCH, 2)).astype("float32"),
        "clicked": rng.integers(0, 2, (BATCH, 1)).astype("float32"),
    }


def _wide_and_deep(paddle: Any) -> Any:
    static, initializer = paddle.static, paddle.nn.initializer
    ids, numbers = static.data("ids", [None, 3], "int64"), static.data("numbers", [None, 2])
    clicked = static.data("clicked", [None, 1])
    spread = initializer.Uniform(-0.5, 0.5)
    wide = static.nn.sparse_embedding(
        ids, [20, 1], param_attr=paddle.ParamAttr(name="wide", initializer=spread)
    )
    deep = static.nn.sparse_embedding(
        ids, [20, 4], param_attr=paddle.ParamAttr(name="deep", initializer=spread)
    )
    weight = np.random.default_rng(2).normal(size=(14, 6)).astype("float32") * 0.5
    hidden = static.nn.fc(
        paddle.concat([deep.reshape([-1, 12]), numbers], axis=1), 6, activation="relu",
            weight_attr=initializer.Assign(weight)
    )  # fmt: skip
    logit = static.nn.fc(hidden, 1, weight_attr=initializer.Constant(0.4)) + wide.sum(axis=1)
    return paddle.nn.functional.binary_cross_entropy_with_logits(logit, clicked)


def wide_and_deep_program(rows: Arrays) -> Any:
    return _train_program(
        _wide_and_deep, wide_and_deep_batch,
        lambda: paddle.optimizer.Adagrad(0.1, initial_accumulator_value=0.1), STEPS, rows,
    )  # fmt: skip


def words_batch(worker: int, step: int) -> Arrays:
    """Pairs of words that stand together, and words drawn for each that do not."""
    rng = np.random.default_rng((worker, step))
    return {
        "word": rng.integers(0, NUM_WORDS, (BATCH, 1)),
        "near": rng.integers(0, NUM_WORDS, (BATCH, 1)),
        "drawn": rng.integers(0, NUM_WORDS, (BATCH, NUM_NEGATIVES)),
    }


def _skip_gram_loss(paddle: Any, word: Any, near: Any, drawn: Any) -> Any:
    """Negative sampling on the rows of the three; each is [batch, words, dim]."""
    others = paddle.concat([near, drawn], axis=1)
    scores = (others * word).sum(axis=2)
    signs = paddle.to_tensor(np.array([[1.0] + [-1.0] * NUM_NEGATIVES], "float32"))
    return -paddle.nn.functional.log_sigmoid(scores * signs).sum(axis=1).mean()


def _word2vec(paddle: Any) -> Any:
    static = paddle.static
    parts = []
    for name, width, table in (
        ("word", 1, "inner"),
        ("near", 1, "outer"),
        ("drawn", NUM_NEGATIVES, "outer"),
    ):
        ids = static.data(name, [None, width], "int64")
        attr = paddle.ParamAttr(name=table, initializer=paddle.nn.initializer.Normal(0.0, 0.5))
        rows = static.nn.embedding(ids, [NUM_WORDS, 4], is_sparse=True, param_attr=attr)
        parts.append(rows.reshape([-1, width, 4]))
    return _skip_gram_loss(paddle, *parts)


def word2vec_program(rows: Arrays) -> Any:
    return _train_program(_word2vec, words_batch, lambda: paddle.optimizer.SGD(0.5), STEPS, rows)


# -- models
# --------------------------------------------------------------------------------------------------


def _train_model(net: Any, optimizer: Any, loss_of: Any, values_of: Any) -> Any:
    """Losses and parameters of a model in ``paddle.nn`` or of plain PyTorch."""
    fleet.init(is_collective=False)
    if not _is_alone():
        optimizer = fleet.distributed_optimizer(optimizer, _strategy())
        net = fleet.distributed_model(net)
    with _serving() as is_worker:
        if not is_worker:
            return None
        losses = []
        for step in range(STEPS):
            loss = loss_of(net, step)
            (optimizer.clear_grad if hasattr(optimizer, "clear_grad") else optimizer.zero_grad)()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        net.eval()
        with torch.no_grad():
            return np.array(losses, np.float32), values_of(net)


def word2vec_layer() -> Any:
    """Skip-gram in ``paddle.nn``."""
    rng = np.random.default_rng(3)

    class Net(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.outer = (
                paddle.nn.Embedding(NUM_WORDS, 4, sparse=True) for _ in range(2)
            )
            for layer in (self.inner, self.outer):
                layer.weight.set_value(rng.normal(size=(NUM_WORDS, 4)).astype("float32") * 0.5)

    def loss_of(net: Any, step: int) -> Any:
        seen = {name: paddle.to_tensor(ids) for name, ids in _seen(words_batch, step).items()}
        return _skip_gram_loss(
            paddle, net.inner(seen["word"]), net.outer(seen["near"]), net.outer(seen["drawn"])
        )

    def values_of(net: Any) -> Arrays:
        ids = paddle.arange(NUM_WORDS)
        return {"inner": net.inner(ids).numpy(), "outer": net.outer(ids).numpy()}

    net = Net()
    return _train_model(
        net, paddle.optimizer.SGD(0.5, parameters=net.parameters()), loss_of, values_of
    )


def wide_and_deep_module() -> Any:
    """Wide & deep in plain PyTorch; the wide part is a bag."""
    torch.manual_seed(4)

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wide = torch.nn.EmbeddingBag(20, 1, mode="sum")
            self.deep = torch.nn.Embedding(20, 4, sparse=True)
            self.dense = torch.nn.Sequential(
                torch.nn.Linear(14, 6), torch.nn.ReLU(), torch.nn.Linear(6, 1)
            )

        def forward(self, ids: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
            return self.dense(torch.cat([self.deep(ids).flatten(1), numbers], 1)) + self.wide(ids)

    def loss_of(net: Any, step: int) -> Any:
        seen = {
            name: torch.from_numpy(values)
            for name, values in _seen(wide_and_deep_batch, step).items()
        }
        logit = net(seen["ids"], seen["numbers"])
        return torch.nn.functional.binary_cross_entropy_with_logits(logit, seen["clicked"])

    def values_of(net: Any) -> Arrays:
        ids = torch.arange(20)
        dense = {name: p.detach().numpy() for name, p in net.dense.named_parameters()}
        return {"wide": net.wide(ids[:, None]).numpy(), "deep": net.deep(ids).numpy(), **dense}

    net = Net()
    return _train_model(
        net,
        torch.optim.Adagrad(net.parameters(), 0.1, initial_accumulator_value=0.1),
        loss_of,
        values_of,
    )
