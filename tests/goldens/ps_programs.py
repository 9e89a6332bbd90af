"""A model for parameter servers and its batches, which real Paddle and this project train: two
slots that share a table, one of its own, and a dense part.

Rows begin with zeros, because real Paddle's tables cannot begin with given values. In the first
step every row occurs and all gradients are zero: real Paddle trains only the first value of a row
in the first push that it gets.
"""

from __future__ import annotations

import numpy as np

STEPS, NUM_WORKERS, BATCH, RATE = 8, 2, 8, 0.2
DIM_BY_TABLE = {"words": 4, "tags": 3}


def batch(worker, step):
    """What a worker sees in a step."""
    if step == 0:
        places = np.arange(BATCH)[:, None]
        zeros = np.zeros((BATCH, 1), "float32")
        return {"first": places, "second": places % 4 + 8, "tag": places % 6 * 10**11, "y": zeros}
    rng = np.random.default_rng((worker, step))
    return {
        "first": rng.integers(0, 12, (BATCH, 1)),
        "second": rng.integers(0, 12, (BATCH, 1)),
        "tag": rng.integers(0, 6, (BATCH, 1)) * 10**11,
        "y": rng.normal(size=(BATCH, 1)).astype("float32"),
    }


def union(step):
    """What all workers see in a step."""
    parts = [batch(worker, step) for worker in range(NUM_WORKERS)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def build(paddle):
    """Record the model; the loss is a mean over the batch."""
    static, initializer = paddle.static, paddle.nn.initializer
    first, second, tag = (
        static.data(name, [None, 1], "int64") for name in ("first", "second", "tag")
    )
    y = static.data("y", [None, 1], "float32")
    parts = []
    for ids, table in ((first, "words"), (second, "words"), (tag, "tags")):
        attr = paddle.ParamAttr(name=table, initializer=initializer.Constant(0.0))
        rows = static.nn.sparse_embedding(ids, size=[100, DIM_BY_TABLE[table]], param_attr=attr)
        parts.append(paddle.reshape(rows, [-1, DIM_BY_TABLE[table]]))
    weight = np.random.default_rng(1).normal(size=(11, 5)).astype("float32") * 0.6
    hidden = static.nn.fc(
        paddle.concat(parts, axis=1), 5, activation="tanh",
            weight_attr=paddle.ParamAttr(initializer=initializer.Assign(weight))
    )  # fmt: skip
    out = static.nn.fc(
        hidden, 1, weight_attr=paddle.ParamAttr(initializer=initializer.Constant(0.7))
    )
    return paddle.mean((out - y) ** 2)
