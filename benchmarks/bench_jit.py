"""Speed of converted layers: a step of ``to_static`` beside the same step eagerly.

    python benchmarks/bench_jit.py [--rounds 21]

A step is forward and backward of an MLP, of a transformer block and of a small network whose ops
cost less than the calls around them; then forward alone. Blocks alternate, and a ratio is the
median over neighbouring blocks, so a slow moment of the machine hits both sides. Exit code 1: a
converted layer is slower than its twin by more than the noise.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import paddle
from figures import Figures
from paddle import nn

Step = Callable[[], Any]

NOISE = 1.03


def mlp() -> tuple[Any, Any]:
    sizes = [512, 1024, 1024, 10]
    layers: list[Any] = []
    for i, size in enumerate(sizes[1:]):
        layers += [nn.Linear(sizes[i], size), nn.ReLU()]
    return nn.Sequential(*layers[:-1]), paddle.randn([64, sizes[0]])


def transformer() -> tuple[Any, Any]:
    block = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.1)
    return block, paddle.randn([8, 32, 128])


def small() -> tuple[Any, Any]:
    layers = [layer for _ in range(4) for layer in (nn.Linear(8, 8), nn.Tanh())]
    return nn.Sequential(*layers), paddle.randn([4, 8])


WORKLOADS: dict[str, tuple[Callable[[], tuple[Any, Any]], int]] = {
    "MLP, batch 64": (mlp, 3),
    "transformer block": (transformer, 3),
    "small layers": (small, 60),
}


def step_of(net: Any, x: Any, trains: bool) -> Step:
    def train() -> None:
        net(x).sum().backward()
        net.clear_gradients()

    def forward() -> None:
        with paddle.no_grad():
            net(x)

    return train if trains else forward


def block(step: Step, repeats: int) -> float:
    """Microseconds per call."""
    start = time.perf_counter()
    for _ in range(repeats):
        step()
    return (time.perf_counter() - start) / repeats * 1e6


def compare(figures: Figures, name: str, trains: bool, rounds: int) -> None:
    """How long the converted step takes beside the other."""
    make, repeats = WORKLOADS[name]
    net, x = make()
    if not trains:
        net.eval()
    static = paddle.jit.to_static(copy.deepcopy(net), full_graph=True)
    eager_step, static_step = step_of(net, x, trains), step_of(static, x, trains)
    for step in (eager_step, static_step):
        for _ in range(3):
            step()
    pairs = [(block(eager_step, repeats), block(static_step, repeats)) for _ in range(rounds)]
    ratio = statistics.median(b / a for a, b in pairs)
    eager, converted = (statistics.median(times) for times in zip(*pairs, strict=True))
    kind = "train" if trains else "forward"
    beside = f"{converted:.1f} us against {eager:.1f}"
    figures.add(f"to_static, {name}, {kind}", ratio, "of eager", most=NOISE, beside=beside)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21)
    rounds = parser.parse_args().rounds
    figures = Figures()
    for name in WORKLOADS:
        for trains in (True, False):
            compare(figures, name, trains, rounds)
    return 1 if figures.missed else 0


if __name__ == "__main__":
    sys.exit(main())
