"""``python examples/resnet_images.py --mode dygraph`` (or ``static``): train a small ResNet on
generated images.

The images show a disc, a square, a triangle or a ring, of any colour, size and place, on a noisy
ground of another colour. The same model function builds both modes: dygraph runs each layer at
once, static records a program first and then runs that. Both start from the same weights and see
the same batches; rounding makes their curves part slowly. Started again, it goes on from its last
checkpoint.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import paddle
import paddle.distributed.fleet as fleet
import paddle.nn.functional as F
from paddle import nn

SHAPES = ["disc", "square", "triangle", "ring"]
SIZE = 24
BATCH = 32


def draw(label: int, rng: np.random.RandomState) -> np.ndarray:
    """One image of the shape ``label``, as float32[3, 24, 24]."""
    radius = rng.uniform(5, 9)
    v, u = np.mgrid[0:SIZE, 0:SIZE] - rng.uniform(radius, SIZE - 1 - radius, size=(2, 1, 1))
    distance = np.hypot(u, v)
    inside = [
        distance < radius,
        np.maximum(abs(u), abs(v)) < 0.8 * radius,
        (v < 0.6 * radius) & (abs(u) < 0.6 * (v + radius)),
        (distance < radius) & (distance > 0.55 * radius),
    ][label]
    ground = rng.uniform(-1, 1, size=(3, 1, 1))
    colour = ground - np.sign(ground) * rng.uniform(0.5, 1, size=(3, 1, 1))
    return (np.where(inside, colour, ground) + rng.normal(0, 0.15, (3, SIZE, SIZE))).astype(
        np.float32
    )


def make(num_samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Images float32[n, 3, 24, 24] and labels int64[n]."""
    rng = np.random.RandomState(seed)
    labels = rng.randint(0, len(SHAPES), num_samples)
    return np.stack([draw(label, rng) for label in labels]), labels.astype(np.int64)


def rows_of(step: int, num_images: int) -> np.ndarray:
    """Which images the batch of a step has: each epoch has its own order."""
    epoch, place = divmod(step, num_images // BATCH)
    order = np.random.RandomState(epoch).permutation(num_images)
    return order[place * BATCH : (place + 1) * BATCH]


class Block(nn.Layer):
    """Two 3x3 convolutions beside a shortcut, which is a 1x1 convolution where the shape
    changes.
    """

    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2D(n_in, n_out, 3, stride=stride, padding=1, bias_attr=False),
            nn.BatchNorm2D(n_out),
            nn.ReLU(),
            nn.Conv2D(n_out, n_out, 3, padding=1, bias_attr=False),
            nn.BatchNorm2D(n_out),
        )
        self.shortcut = (
            nn.Conv2D(n_in, n_out, 1, stride=stride, bias_attr=False)
            if stride > 1
            else nn.Identity()
        )

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x))


def make_model() -> nn.Layer:
    return nn.Sequential(
        nn.Conv2D(3, 16, 3, padding=1, bias_attr=False),
        nn.BatchNorm2D(16),
        nn.ReLU(),
        Block(16, 16, 1),
        Block(16, 32, 2),
        Block(32, 64, 2),
        nn.AdaptiveAvgPool2D(1),
        nn.Flatten(),
        nn.Linear(64, len(SHAPES)),
    )


def make_optimizer(
    num_steps: int, parameters=None
) -> tuple[paddle.optimizer.Optimizer, paddle.optimizer.lr.LRScheduler]:
    schedule = paddle.optimizer.lr.CosineAnnealingDecay(learning_rate=2e-3, T_max=num_steps)
    return paddle.optimizer.AdamW(schedule, parameters=parameters, weight_decay=0.01), schedule


class Trainer(NamedTuple):
    """A training step, a prediction, and what a checkpoint has to hold."""

    step: Callable[[np.ndarray, np.ndarray], float]
    predict: Callable[[np.ndarray], np.ndarray]
    kept: dict[str, Any]


def dygraph(num_steps: int) -> Trainer:
    """Runs layer by layer."""
    model = make_model()
    optimizer, schedule = make_optimizer(num_steps, model.parameters())

    def step(images: np.ndarray, labels: np.ndarray) -> float:
        model.train()
        loss = F.cross_entropy(model(paddle.to_tensor(images)), paddle.to_tensor(labels))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        schedule.step()
        return float(loss)

    def predict(images: np.ndarray) -> np.ndarray:
        model.eval()
        with paddle.no_grad():
            return model(paddle.to_tensor(images)).argmax(axis=-1).numpy()

    return Trainer(step, predict, {"model": model, "optimizer": optimizer})


def static(num_steps: int) -> Trainer:
    """Runs recorded programs."""
    paddle.enable_static()
    image = paddle.static.data("image", [None, 3, SIZE, SIZE])
    label = paddle.static.data("label", [None], "int64")
    scores = make_model()(image)
    answer = scores.argmax(axis=-1)
    test_program = paddle.static.default_main_program().clone(for_test=True)
    loss = F.cross_entropy(scores, label)
    optimizer, schedule = make_optimizer(num_steps)
    optimizer.minimize(loss)
    executor = paddle.static.Executor(paddle.CPUPlace())
    executor.run(paddle.static.default_startup_program())

    def step(images: np.ndarray, labels: np.ndarray) -> float:
        [value] = executor.run(feed={"image": images, "label": labels}, fetch_list=[loss])
        schedule.step()
        return float(value)

    def predict(images: np.ndarray) -> np.ndarray:
        return executor.run(test_program, feed={"image": images}, fetch_list=[answer])[0]

    program = paddle.static.default_main_program()
    return Trainer(step, predict, {"model": program, "lr": schedule})


def train(mode: str, num_images: int, epochs: int, checkpoints: str) -> float:
    """Train, print a line per epoch and a table of the errors; returns the accuracy on unseen
    images.
    """
    fleet.init(is_collective=True)
    paddle.seed(3)
    num_batches = num_images // BATCH
    trainer = (static if mode == "static" else dygraph)(epochs * num_batches)
    images, labels = make(num_images, seed=1)
    unseen, truth = make(400, seed=2)
    run = fleet.auto_checkpoint(checkpoints, 20, **trainer.kept)
    start, losses = time.perf_counter(), []
    for number in run.steps(epochs * num_batches):
        rows = rows_of(number, num_images)
        losses.append(trainer.step(images[rows], labels[rows]))
        if (number + 1) % num_batches == 0:
            loss, accuracy = np.mean(losses), np.mean(trainer.predict(unseen) == truth)
            bar = "#" * round(40 * loss / np.log(len(SHAPES)))
            epoch = (number + 1) // num_batches
            print(f"epoch {epoch:2}  loss {loss:.4f}  accuracy {accuracy:6.1%}  {bar}", flush=True)
            losses.clear()
    seconds = time.perf_counter() - start
    num_done = (run.num_steps - (run.resumed_from or 0)) * BATCH
    print(f"{mode}: {num_done / seconds:,.0f} images/s, {seconds:.1f} s")
    show_confusions(truth, trainer.predict(unseen))
    return float(np.mean(trainer.predict(unseen) == truth))


def show_confusions(truth: np.ndarray, predictions: np.ndarray) -> None:
    """Print how often each shape was taken for which."""
    print("\n" + " " * 14 + "".join(f"{name:>10}" for name in SHAPES) + "   <- taken for")
    for i, name in enumerate(SHAPES):
        counts = np.bincount(predictions[truth == i], minlength=len(SHAPES))
        print(f"{name:>14}" + "".join(f"{count:10}" for count in counts))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mode", choices=["dygraph", "static"], default="dygraph")
    parser.add_argument("--images", type=int, default=2400)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--checkpoints", default="checkpoints/resnet_images", help="their folder")
    arguments = parser.parse_args()
    folder = f"{arguments.checkpoints}/{arguments.mode}"
    train(arguments.mode, arguments.images, arguments.epochs, folder)


if __name__ == "__main__":
    main()
