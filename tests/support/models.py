"""Models, weights and data of the data-parallel proofs. Runs with real Paddle as well: ``paddle``
is an argument.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

BATCH = 12  # divisible among 1, 2, 3 and 4 ranks
NAMES = ("mlp", "cnn", "embedding", "transformer")


def build(paddle: Any, name: str, dtype: str, norm: str = "SyncBatchNorm") -> Any:
    """A model with the same weights in every process; ``norm`` is the CNN's normalisation."""
    nn = paddle.nn
    paddle.set_default_dtype(dtype)
    try:
        if name == "mlp":
            model = nn.Sequential(
                nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3)
            )
        elif name == "cnn":
            model = nn.Sequential(
                nn.Conv2D(2, 4, 3),
                getattr(nn, norm)(4),
                nn.Tanh(),
                nn.AvgPool2D(2),
                nn.Flatten(),
                nn.Linear(16, 3),
            )
        elif name == "embedding":
            model = nn.Sequential(nn.Embedding(30, 8, sparse=True), nn.Flatten(), nn.Linear(32, 3))
        else:
            layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, activation="gelu")
            model = nn.Sequential(nn.TransformerEncoder(layer, 2), nn.Flatten(), nn.Linear(40, 3))
    finally:
        paddle.set_default_dtype("float32")
    draw = np.random.RandomState(zlib.crc32(name.encode()))
    for key, param in model.named_parameters():
        if not key.endswith(("_mean", "_variance")):
            param.set_value(draw.uniform(-0.3, 0.3, param.shape).astype(dtype))
    return model


def batch(name: str, step: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """The whole batch of a step: inputs and labels."""
    draw = np.random.RandomState(1000 + step)
    labels = draw.randint(0, 3, BATCH)
    if name == "embedding":
        return draw.randint(0, 30, (BATCH, 4)), labels
    shape = {"mlp": (6,), "cnn": (2, 6, 6), "transformer": (5, 8)}[name]
    return draw.normal(size=(BATCH, *shape)).astype(dtype), labels


def optimizer(paddle: Any, name: str, model: Any) -> Any:
    if name == "mlp":
        return paddle.optimizer.Momentum(0.1, 0.9, parameters=model.parameters())
    return paddle.optimizer.SGD(0.1, parameters=model.parameters())


def train(
    paddle: Any, name: str, model: Any, steps: int, dtype: str, rank: int, world_size: int
) -> list[float]:
    """Train on this rank's part of each batch; returns the losses."""
    step_by = optimizer(paddle, name, model)
    size = BATCH // world_size
    losses = []
    for step in range(steps):
        x, y = (a[rank * size : (rank + 1) * size] for a in batch(name, step, dtype))
        loss = paddle.nn.functional.cross_entropy(model(paddle.to_tensor(x)), paddle.to_tensor(y))
        loss.backward()
        step_by.step()
        step_by.clear_grad()
        losses.append(float(loss.numpy()))
    return losses


def state_of(model: Any) -> dict[str, np.ndarray]:
    return {key: value.numpy() for key, value in model.state_dict().items()}
