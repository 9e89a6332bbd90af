"""Runs of ``paddle.Model`` and its neighbours, with real Paddle and with argosy: what callbacks
were told, what was printed, what came out. Results are plain data.
"""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from typing import Any

import numpy as np

WIDTH, CLASSES = 4, 3


def dataset(paddle: Any, num: int) -> Any:
    random = np.random.RandomState(num)
    x = random.rand(num, WIDTH).astype("float32")
    y = random.randint(0, CLASSES, (num, 1)).astype("int64")

    class Rows(paddle.io.Dataset):
        def __getitem__(self, i):
            return x[i], y[i]

        def __len__(self):
            return num

    return Rows()


def network(paddle: Any) -> Any:
    random = np.random.RandomState(5)

    def layer(inputs: int, outputs: int) -> Any:
        weight = random.rand(inputs, outputs).astype("float32") - 0.5
        return paddle.nn.Linear(inputs, outputs, weight_attr=paddle.nn.initializer.Assign(weight))

    return paddle.nn.Sequential(layer(WIDTH, 6), paddle.nn.Tanh(), layer(6, CLASSES))


def model(paddle: Any, rate: Any = 0.5, optimizer: str = "Momentum", **prepared: Any) -> Any:
    net = network(paddle)
    inputs = [paddle.static.InputSpec([None, WIDTH], "float32", "x")]
    labels = [paddle.static.InputSpec([None, 1], "int64", "y")]
    found = paddle.Model(net, inputs, labels)
    kind = getattr(paddle.optimizer, optimizer)
    found.prepare(
        kind(learning_rate=rate, parameters=net.parameters()),
        paddle.nn.CrossEntropyLoss(),
        **(prepared or {"metrics": [paddle.metric.Accuracy((1, 2))]}),
    )
    return found


def recorder(paddle: Any) -> Any:
    """A callback that writes down what it is told."""

    class Recorder(paddle.callbacks.Callback):
        def __init__(self):
            super().__init__()
            self.events: list[Any] = []

        def told(self, moment, number, logs):
            if moment.startswith("predict"):
                logs = {k: v for k, v in (logs or {}).items() if k in ("step", "batch_size")}
            self.events.append([moment, number, plain(logs)])

        def on_train_begin(self, logs=None):
            self.events.append(["train_begin", plain(self.params), None])

        def on_epoch_begin(self, epoch, logs=None):
            self.told("epoch_begin", epoch, None)

        def on_train_batch_end(self, step, logs=None):
            self.told("train_batch_end", step, logs)

        def on_epoch_end(self, epoch, logs=None):
            self.told("epoch_end", epoch, logs)

        def on_eval_begin(self, logs=None):
            self.told("eval_begin", None, logs)

        def on_eval_batch_end(self, step, logs=None):
            self.told("eval_batch_end", step, logs)

        def on_eval_end(self, logs=None):
            self.told("eval_end", None, logs)

        def on_predict_batch_end(self, step, logs=None):
            self.told("predict_batch_end", step, logs)

        def on_train_end(self, logs=None):
            self.told("train_end", None, None)

    return Recorder()


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(value[key]) for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return [plain(member) for member in value]
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value


def printed(body: Any) -> tuple[Any, list[str]]:
    """What ``body`` returns and prints, with ``T`` for times."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = body()
    text = re.sub(r"\d+(s|ms|us)/(step|part)", r"T/\2", out.getvalue())
    text = re.sub(r"ETA: [\d:]+s?", "ETA: T", text)
    text = re.sub(r"[\d.]+ (sec|samples/sec)", r"T \1", text)
    text = re.sub("\b+", "", text)  # as many as the line before was long, times included
    text = re.sub(" +(?=[\r\n])", "", text)  # over the end of the line before
    return result, text.replace("argosy.", "paddle.").split("\n")


# -- runs
# --------------------------------------------------------------------------------------------------


def fit(paddle: Any) -> Any:
    recorder_ = recorder(paddle)
    found = model(paddle, paddle.optimizer.lr.StepDecay(0.5, 3))
    _, lines = printed(
        lambda: found.fit(
            dataset(paddle, 10),
            dataset(paddle, 5),
            batch_size=4,
            epochs=2,
            shuffle=False,
            log_freq=2,
            callbacks=[recorder_],
        )
    )
    return recorder_.events, lines


def shuffled(paddle: Any) -> Any:
    recorder_ = recorder(paddle)
    model(paddle).fit(
        dataset(paddle, 10), batch_size=[3, 2], epochs=3, drop_last=True, verbose=0,
        eval_data=dataset(paddle, 5), eval_freq=2, callbacks=recorder_,
    )  # fmt: skip
    return recorder_.events


def evaluate(paddle: Any) -> Any:
    found = model(paddle)
    whole = printed(lambda: found.evaluate(dataset(paddle, 7), batch_size=2, log_freq=1))
    part = printed(lambda: found.evaluate(dataset(paddle, 7), 2, verbose=3, num_iters=2))
    return plain(whole), plain(part), found.stop_training


def predict(paddle: Any) -> Any:
    found, recorder_ = model(paddle), recorder(paddle)
    rows, lines = printed(
        lambda: found.predict(dataset(paddle, 5), batch_size=2, callbacks=recorder_)
    )
    stacked = found.predict(dataset(paddle, 5), 2, stack_outputs=True, verbose=0)
    kinds = [type(rows).__name__, type(rows[0]).__name__]
    return plain(rows), kinds, lines, plain(stacked), recorder_.events


def batches(paddle: Any) -> Any:
    """The forms in which the ``*_batch`` methods return, with and without loss and metrics."""
    rows = dataset(paddle, 4)
    x, y = (np.stack(part) for part in zip(*(rows[i] for i in range(4)), strict=True))
    told = []
    for prepared in ({}, {"metrics": None}):
        found = model(paddle, **prepared)
        told += [found.train_batch([x], [y]), found.eval_batch([x], [y]), found.mode]
        told += [found.predict_batch([x]), found.mode]
    found = model(paddle)
    found.prepare(metrics=paddle.metric.Accuracy())
    told.append(found.eval_batch([x], [y]) if paddle.in_dynamic_mode() else None)
    return plain(told)


def limited(paddle: Any) -> Any:
    """``num_iters`` ends in the middle of an epoch."""
    found, recorder_ = model(paddle), recorder(paddle)
    _, lines = printed(
        lambda: found.fit(
            dataset(paddle, 8),
            dataset(paddle, 4),
            batch_size=2,
            shuffle=False,
            log_freq=1,
            num_iters=8,
            callbacks=recorder_,
        )
    )
    return recorder_.events, lines, found.stop_training


def accumulated(paddle: Any) -> Any:
    found, recorder_ = model(paddle), recorder(paddle)
    found.fit(
        dataset(paddle, 10), batch_size=2, epochs=2, shuffle=False, verbose=0,
        accumulate_grad_batches=2, callbacks=recorder_,
    )  # fmt: skip
    return recorder_.events, [plain(p.numpy()) for p in found.parameters()]


def stopped(paddle: Any) -> Any:
    """A rate under which the loss grows."""
    found, recorder_ = model(paddle, 0.6, "Adam"), recorder(paddle)
    stop = paddle.callbacks.EarlyStopping(patience=2, min_delta=0.01)
    data = dataset(paddle, 6)
    _, lines = printed(
        lambda: found.fit(
            data, data, 3, epochs=9, shuffle=False, verbose=0, callbacks=[stop, recorder_]
        )
    )
    return [event for event in recorder_.events if event[0] == "eval_end"], lines


def plateaus(paddle: Any) -> Any:
    """Rates and lines for evaluations with given values."""
    told = []
    for values, options in (
        ([3, 2, 2, 2, 2, 1, 1, 1, 1, 1], {"patience": 2, "factor": 0.5, "cooldown": 1}),
        ([1, 1, 1, 1], {"patience": 1, "min_lr": 0.03125}),
        ([0.1, 0.2, 0.2001, 0.2, 0.5], {"patience": 1, "monitor": "acc", "verbose": 0}),
        ([0.1, 0.2, 0.3, 0.2], {"patience": 1, "mode": "max", "min_delta": 0.15}),
        ([1, 2], {"patience": 1, "monitor": "unknown"}),
    ):
        found = model(paddle, 0.5, "SGD")
        callback = paddle.callbacks.ReduceLROnPlateau(**options)
        callback.set_model(found)
        callback.on_train_begin()
        rates = []

        def evaluations(callback=callback, values=values, rates=rates, found=found):
            for value in values:
                callback.on_eval_end({"loss": [value], "acc": value})
                rates.append(found._optimizer.get_lr())

        told.append([printed(evaluations)[1], rates])
    return told


def bars(paddle: Any) -> Any:
    found = model(paddle)
    data = dataset(paddle, 7)

    def every() -> None:
        found.fit(data, data, batch_size=2, shuffle=False, log_freq=1, verbose=1)
        found.predict(data, batch_size=3)
        bar = paddle.hapi.progressbar.ProgressBar(num=None, verbose=1)
        bar.update(2, [("loss", [0.0002]), ("n", 3), ("word", "w"), ("half", np.float32(0.5))])
        bar = paddle.hapi.progressbar.ProgressBar(num=120, verbose=2, name="part")
        bar.update(7, [("loss", [0.25, 1e-7]), ("array", np.array([0.125]))])

    return printed(every)[1]


def layers(paddle: Any) -> Any:
    """A network with the layers that ``flops`` counts."""
    nn = paddle.nn

    class Block(nn.Layer):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2D(3, 8, 3, padding=1)
            self.norm = nn.BatchNorm2D(8)
            self.pool = nn.AdaptiveAvgPool2D(2)

        def forward(self, x):
            return self.pool(nn.functional.relu(self.norm(self.conv(x))))

    return nn.Sequential(
        Block(), nn.Conv2DTranspose(8, 4, 3, groups=2), nn.AvgPool2D(2), nn.LeakyReLU(),
        nn.Flatten(), nn.Linear(16, 5), nn.Dropout(), nn.LayerNorm(5),
    )  # fmt: skip


def summaries(paddle: Any) -> Any:
    nn, told = paddle.nn, []
    cases = [
        lambda: paddle.summary(layers(paddle), (None, 3, 8, 8)),
        lambda: paddle.summary(nn.LSTM(8, 6, 2), [(-1, 5, 8), ((2, None, 6), (2, -1, 6))]),
        lambda: paddle.summary(nn.Sequential(nn.Linear(4, 8), nn.GRU(8, 3)), (2, 5, 4)),
        lambda: paddle.summary(nn.Embedding(10, 3), (3, 1), dtypes="int64"),
        lambda: paddle.summary(nn.Bilinear(3, 2, 4), [(5, 3), (5, 2)], ["float32", "float32"]),
        lambda: paddle.summary(nn.Linear(4, 2), input=paddle.ones([3, 4])),
        lambda: model(paddle).summary(),
    ]
    for case in cases:
        with paddle.utils.unique_name.guard():
            told.append(plain(printed(case)))
    return told


def operations(paddle: Any) -> Any:
    def doubled(layer, inputs, output):
        layer.total_ops += 2 * output.numel()

    def count(net: Any, size: list[int], detail: bool, **options: Any) -> Any:
        with paddle.utils.unique_name.guard():
            number, lines = printed(lambda: paddle.flops(net, size, print_detail=detail, **options))
        # the modules that classes are in differ
        return number, [line for line in lines if line[:1] in "+|T"]

    with paddle.utils.unique_name.guard():
        net = layers(paddle)
    return [
        count(net, [1, 3, 8, 8], True),
        count(net, [1, 3, 8, 8], False, custom_ops={paddle.nn.LayerNorm: doubled}),
        count(paddle.nn.MaxPool2D(2, return_mask=True), [1, 2, 4, 4], True),
    ]


def static_operations(paddle: Any) -> Any:
    main = paddle.static.Program()
    with paddle.static.program_guard(main), paddle.utils.unique_name.guard():
        x = paddle.static.data("x", [1, 3, 8, 8])
        y = paddle.nn.Conv2D(3, 4, 3)(x)
        y = paddle.nn.functional.avg_pool2d(paddle.nn.BatchNorm2D(4)(y), 2)
        paddle.static.nn.fc(y, 5)
    number, lines = printed(lambda: paddle.flops(main, [1, 3, 8, 8], print_detail=True))
    return int(number), lines


def next_losses(paddle: Any, found: Any) -> Any:
    """The losses of three more steps, which depend on what the optimizer keeps."""
    rows = dataset(paddle, 4)
    x, y = (np.stack(part) for part in zip(*(rows[i] for i in range(4)), strict=True))
    return plain([found.train_batch([x], [y])[0][0] for _ in range(3)])


def saved(paddle: Any, path: Any) -> Any:
    """Save a Model after some training."""
    with paddle.utils.unique_name.guard():
        found = model(paddle, 0.05, "Adam")
        found.fit(dataset(paddle, 8), batch_size=4, shuffle=False, verbose=0)
        found.save(str(path))
        return next_losses(paddle, found)


def loaded(paddle: Any, path: Any) -> Any:
    """Load it into a new one."""
    with paddle.utils.unique_name.guard():
        found = model(paddle, 0.05, "Adam")
        found.load(str(path))
        return next_losses(paddle, found)


BOTH = {"fit": fit, "shuffled": shuffled, "evaluate": evaluate, "predict": predict,
        "batches": batches, "limited": limited, "bars": bars}  # fmt: skip
DYGRAPH = {"accumulated": accumulated, "stopped": stopped, "plateaus": plateaus,
           "summaries": summaries, "operations": operations}  # fmt: skip
CASES = {
    **{f"dygraph/{name}": run for name, run in {**BOTH, **DYGRAPH}.items()},
    **{f"static/{name}": run for name, run in BOTH.items()},
    "static/operations": static_operations,
}


def run(paddle: Any, case: str) -> Any:
    """The result of a case, in its mode."""
    mode = case.partition("/")[0]
    return plain(in_mode(paddle, mode, lambda: CASES[case](paddle)))


def in_mode(paddle: Any, mode: str, body: Any) -> Any:
    if mode == "dygraph":
        return body()
    paddle.enable_static()
    try:
        programs = paddle.static.Program(), paddle.static.Program()
        scope = paddle.static.scope_guard(paddle.static.Scope())
        with paddle.static.program_guard(*programs), scope:
            return body()
    finally:
        paddle.disable_static()
