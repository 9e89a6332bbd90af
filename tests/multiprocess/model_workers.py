"""A Model trained by workers of the pool, or by the test alone."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

import paddle
from multiprocess.fleet_base_workers import in_job

NUM_TRAIN, NUM_EVAL = 24, 7  # of which the second has no equal shares


class Rows(paddle.io.Dataset):
    """Samples that encode their number, with a label of two classes."""

    def __init__(self, num: int) -> None:
        random = np.random.RandomState(num)
        self.x = random.rand(num, 5).astype("float32")
        self.y = (self.x.sum(1, keepdims=True) > 2.5).astype("int64")

    def __getitem__(self, i: int) -> Any:
        return self.x[i], self.y[i]

    def __len__(self) -> int:
        return len(self.x)


class Losses(paddle.callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.train: list[float] = []
        self.sizes: list[int] = []

    def on_train_batch_end(self, step, logs=None):
        self.train.append(logs["loss"][0])

    def on_eval_batch_end(self, step, logs=None):
        self.sizes.append(logs["batch_size"])


def new_model(is_static: bool) -> Any:
    weight = np.random.RandomState(3).rand(5, 2).astype("float32")
    net = paddle.nn.Linear(5, 2, weight_attr=paddle.nn.initializer.Assign(weight))
    inputs = [paddle.static.InputSpec([None, 5], "float32", "x")]
    labels = [paddle.static.InputSpec([None, 1], "int64", "y")]
    model = paddle.Model(net, inputs, labels)
    rate = paddle.optimizer.lr.StepDecay(0.2, 4)
    optimizer = paddle.optimizer.Adam(rate, parameters=None if is_static else net.parameters())
    model.prepare(optimizer, paddle.nn.CrossEntropyLoss(), paddle.metric.Accuracy((1, 2)))
    return model


def values_of(model: Any) -> list[np.ndarray]:
    return [np.array(p.get_value() if hasattr(p, "get_value") else p) for p in model.parameters()]


def trained(batch_size: int, is_static: bool, accumulate: int = 1, path: str = "") -> Any:
    paddle.enable_static() if is_static else paddle.disable_static()
    try:
        with contextlib.ExitStack() as stack:
            for guard in (
                paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()),
                paddle.static.scope_guard(paddle.static.Scope()),
                paddle.utils.unique_name.guard(),
            ):
                stack.enter_context(guard)
            model, losses = new_model(is_static), Losses()
            model.fit(
                Rows(NUM_TRAIN), Rows(NUM_EVAL), batch_size, epochs=2, shuffle=False, verbose=0,
                callbacks=losses, accumulate_grad_batches=accumulate,
            )  # fmt: skip
            told = model.evaluate(Rows(NUM_EVAL), batch_size, verbose=0)
            if path:
                model.save(path)
            return losses.train, losses.sizes, told, values_of(model)
    finally:
        paddle.disable_static()


@in_job
def train(rank: int, world_size: int, **options: Any) -> Any:
    return trained(**options)
