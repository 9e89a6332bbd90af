"""Eager speed: argosy, torch in the same process and, with ``--paddle INTERPRETER``, Paddle in a
process of its own.

    python benchmarks/bench_eager.py [--paddle PATH_TO_PYTHON_WITH_PADDLE] [--rounds 31]

Each workload is written once in Paddle's API (run by argosy and by Paddle) and once in torch's.
Blocks of argosy and torch alternate; the printed ratio is the median of the ratios of neighbouring
blocks, so a slow moment of the machine hits both.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from figures import Figures

# workload -> (iterations per block, highest ratio to torch that is acceptable)
LIMITS = {
    "a + b, 10x10": (2000, 1.35),
    "Linear(10, 10) forward": (1000, 1.25),
    "train step, MLP 10-10-1": (60, 1.30),
    "train step, MLP 512-2048-2048-1024-10": (2, 1.03),
    "softmax 128x1000, and backward": (20, 1.15),
    "log_softmax 128x1000, and backward": (20, 1.12),
    "cross_entropy 128x1000, and backward": (20, 1.10),
}


def paddle_workloads(paddle: Any) -> dict[str, Callable[[], Any]]:
    nn = paddle.nn
    a, b = paddle.randn([10, 10]), paddle.randn([10, 10])
    linear = nn.Linear(10, 10)

    def trainer(sizes: list[int], batch: int, loss_fn: Any, label: Any) -> Callable[[], Any]:
        layers: list[Any] = []
        for n_in, n_out in itertools.pairwise(sizes):
            layers += [nn.Linear(n_in, n_out), nn.ReLU()]
        model = nn.Sequential(*layers[:-1])
        optimizer = paddle.optimizer.Adam(learning_rate=1e-3, parameters=model.parameters())
        x = paddle.randn([batch, sizes[0]])

        def step() -> None:
            loss = loss_fn(model(x), label)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()

        return step

    logits, ones = paddle.randn([128, 1000]), paddle.ones([128, 1000])
    logits.stop_gradient = False
    classes = paddle.randint(0, 1000, [128])

    def with_backward(fn: Any, *args: Any) -> Callable[[], Any]:
        def run() -> None:
            result = fn(logits, *args)
            result.backward(ones if result.ndim else None)
            logits.clear_gradient()

        return run

    return {
        "a + b, 10x10": lambda: a + b,
        "Linear(10, 10) forward": lambda: linear(a),
        "train step, MLP 10-10-1": trainer([10, 10, 1], 10, nn.MSELoss(), paddle.randn([10, 1])),
        "train step, MLP 512-2048-2048-1024-10": trainer(
            [512, 2048, 2048, 1024, 10], 64, nn.CrossEntropyLoss(), paddle.randint(0, 10, [64])
        ),
        "softmax 128x1000, and backward": with_backward(nn.functional.softmax, -1),
        "log_softmax 128x1000, and backward": with_backward(nn.functional.log_softmax, -1),
        "cross_entropy 128x1000, and backward": with_backward(nn.functional.cross_entropy, classes),
    }


def torch_workloads(torch: Any) -> dict[str, Callable[[], Any]]:
    nn = torch.nn
    a, b = torch.randn(10, 10), torch.randn(10, 10)
    linear = nn.Linear(10, 10)

    def trainer(sizes: list[int], batch: int, loss_fn: Any, label: Any) -> Callable[[], Any]:
        layers: list[Any] = []
        for n_in, n_out in itertools.pairwise(sizes):
            layers += [nn.Linear(n_in, n_out), nn.ReLU()]
        model = nn.Sequential(*layers[:-1])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        x = torch.randn(batch, sizes[0])

        def step() -> None:
            loss = loss_fn(model(x), label)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

        return step

    logits, ones = torch.randn(128, 1000, requires_grad=True), torch.ones(128, 1000)
    classes = torch.randint(0, 1000, (128,))

    def with_backward(fn: Any, *args: Any) -> Callable[[], Any]:
        def run() -> None:
            result = fn(logits, *args)
            result.backward(ones if result.ndim else None)
            logits.grad = None

        return run

    return {
        "a + b, 10x10": lambda: a + b,
        "Linear(10, 10) forward": lambda: linear(a),
        "train step, MLP 10-10-1": trainer([10, 10, 1], 10, nn.MSELoss(), torch.randn(10, 1)),
        "train step, MLP 512-2048-2048-1024-10": trainer(
            [512, 2048, 2048, 1024, 10], 64, nn.CrossEntropyLoss(), torch.randint(0, 10, (64,))
        ),
        "softmax 128x1000, and backward": with_backward(nn.functional.softmax, -1),
        "log_softmax 128x1000, and backward": with_backward(nn.functional.log_softmax, -1),
        "cross_entropy 128x1000, and backward": with_backward(nn.functional.cross_entropy, classes),
    }


def block(fn: Callable[[], Any], n: int) -> float:
    """Microseconds per call over one block of ``n`` calls."""
    start = time.perf_counter()
    for _ in range(n):
        fn()
    return (time.perf_counter() - start) / n * 1e6


def warm_up(fn: Callable[[], Any], n: int) -> None:
    for _ in range(max(3, n // 4)):
        fn()


def measure_paddle_only(name: str, rounds: int) -> float:
    import paddle

    fn, n = paddle_workloads(paddle)[name], LIMITS[name][0]
    warm_up(fn, n)
    return statistics.median(block(fn, n) for _ in range(rounds))


def run_real_paddle(interpreter: str, name: str, rounds: int) -> float:
    done = subprocess.run(
        [interpreter, __file__, "--only-paddle", name, "--rounds", str(rounds)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{interpreter} failed:\n{done.stderr}")
    return float(done.stdout.strip().splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--paddle", help="interpreter that has real Paddle installed")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--only-paddle", metavar="WORKLOAD", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only_paddle:
        print(measure_paddle_only(args.only_paddle, args.rounds))
        return 0

    import torch

    import paddle

    if not hasattr(paddle, "from_torch"):
        raise SystemExit("run this with argosy as `paddle`; name a real Paddle with --paddle")
    ours, theirs = paddle_workloads(paddle), torch_workloads(torch)
    real: dict[str, list[float]] = {name: [] for name in LIMITS} if args.paddle else {}
    figures = Figures()
    for name, (n, limit) in LIMITS.items():
        warm_up(ours[name], n)
        warm_up(theirs[name], n)
        before = run_real_paddle(args.paddle, name, args.rounds) if real else 0.0
        pairs = [(block(ours[name], n), block(theirs[name], n)) for _ in range(args.rounds)]
        ratio = statistics.median(a / b for a, b in pairs)
        mine = statistics.median(a for a, _ in pairs)
        beside = f"{mine:.2f} us against {statistics.median(b for _, b in pairs):.2f}"
        figures.add(name, ratio, "of torch", most=limit, beside=beside)
        if real:
            # measured right before and right after ours, since it cannot share the process
            other = (before + run_real_paddle(args.paddle, name, args.rounds)) / 2
            beside = f"{mine:.2f} us against {other:.2f}"
            figures.add(name, mine / other, "of Paddle", most=1.0, beside=beside)
    return 1 if figures.missed else 0


if __name__ == "__main__":
    sys.exit(main())
