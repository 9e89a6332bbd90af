"""Speed of static programs: argosy's Executor beside torch, ParallelExecutor on 2 places beside 1,
and Paddle with ``--paddle INTERPRETER``.

    python benchmarks/bench_static.py [--paddle PATH_TO_PYTHON_WITH_PADDLE_2.6] [--rounds 21]

Blocks alternate; a printed ratio or difference is the median over neighbouring blocks, so a slow
moment of the machine hits both sides. Paddle 2.6 has no ParallelExecutor any more: there the
Executor runs the whole batch of 256.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from figures import Figures

Step = Callable[[], Any]

SIZES = [512, 2048, 2048, 1024, 10]
MLP, SMALL, PARALLEL = "MLP, batch 64", "10 operators", "MLP, batch 256, 1 and 2 places"
REPEATS = {MLP: 2, SMALL: 300, PARALLEL: 1}


def build_mlp(paddle: Any) -> tuple[Any, Any, Any]:
    static = paddle.static
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x, y = static.data("x", [None, SIZES[0]]), static.data("y", [None, 1], "int64")
        for n_in, n_out in itertools.pairwise(SIZES):
            x = paddle.nn.Linear(n_in, n_out)(x)
            x = paddle.nn.functional.relu(x) if n_out != SIZES[-1] else x
        loss = paddle.nn.functional.cross_entropy(x, y)
        paddle.optimizer.SGD(0.01).minimize(loss)
    return main, startup, loss


def mlp_feed(batch: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "x": rng.normal(size=(batch, SIZES[0])).astype("float32"),
        "y": rng.integers(0, SIZES[-1], (batch, 1)),
    }


def executor_step(paddle: Any, batch: int) -> Step:
    main, startup, loss = build_mlp(paddle)
    exe = paddle.static.Executor(paddle.CPUPlace())
    exe.run(startup)
    feed = mlp_feed(batch)
    return lambda: exe.run(main, feed=feed, fetch_list=[loss])


def torch_step(batch: int) -> Step:
    import torch

    layers: list[Any] = []
    for n_in, n_out in itertools.pairwise(SIZES):
        layers += [torch.nn.Linear(n_in, n_out), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers[:-1])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    values = mlp_feed(batch)
    x, y = torch.from_numpy(values["x"]), torch.from_numpy(values["y"][:, 0])

    def step() -> float:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def small_step(paddle: Any) -> Step:
    """Ten operators on 4x4 matrices."""
    static = paddle.static
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [4, 4])
        out = x
        for _ in range(5):
            out = paddle.tanh(out + x)
    exe = static.Executor(paddle.CPUPlace())
    feed = {"x": np.ones((4, 4), "float32")}
    return lambda: exe.run(main, feed=feed, fetch_list=[out])


def small_torch_step() -> Step:
    import torch

    array = np.ones((4, 4), "float32")

    def step() -> np.ndarray:
        x = torch.from_numpy(array)
        out = x
        for _ in range(5):
            out = torch.tanh(torch.add(out, x))
        return out.numpy()

    return step


def parallel_step(paddle: Any, num_places: int) -> Step:
    """A ParallelExecutor whose places have a torch thread each."""
    import torch

    main, startup, loss = build_mlp(paddle)
    scope = paddle.static.Scope()
    paddle.static.Executor(paddle.CPUPlace()).run(startup, scope=scope)
    os.environ["CPU_NUM"] = str(num_places)
    exe = paddle.static.ParallelExecutor(False, loss.name, main, scope=scope)
    feed = mlp_feed(256)

    def step() -> Any:
        torch.set_num_threads(num_places)  # the places share them
        return exe.run([loss.name], feed=feed)

    return step


def block(step: Step, repeats: int) -> float:
    """Microseconds per call."""
    start = time.perf_counter()
    for _ in range(repeats):
        step()
    return (time.perf_counter() - start) / repeats * 1e6


def alternate(first: Step, second: Step, rounds: int, repeats: int) -> list[tuple[float, float]]:
    for step in (first, second):
        for _ in range(3):
            step()
    return [(block(first, repeats), block(second, repeats)) for _ in range(rounds)]


def measure_paddle_only(workload: str, rounds: int) -> float:
    import paddle

    paddle.enable_static()
    step = (
        small_step(paddle)
        if workload == SMALL
        else executor_step(paddle, 64 if workload == MLP else 256)
    )
    for _ in range(3):
        step()
    return statistics.median(block(step, REPEATS[workload]) for _ in range(rounds))


def run_real_paddle(interpreter: str, workload: str, rounds: int) -> float:
    done = subprocess.run(
        [interpreter, __file__, "--only-paddle", workload, "--rounds", str(rounds)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "FLAGS_enable_pir_api": "0"},
    )
    if done.returncode:
        raise SystemExit(f"{interpreter} failed:\n{done.stderr}")
    return float(done.stdout.strip().splitlines()[-1])


# what pairs of times show: a figure, its unit, and the bar
Judgement = tuple[float, str, dict[str, float]]


class Report:
    """Compares two steps with each other, and one of them with Paddle."""

    def __init__(self, interpreter: str | None, rounds: int) -> None:
        self._interpreter = interpreter
        self._rounds = rounds
        self.figures = Figures()

    def compare(
        self,
        workload: str,
        first: Step,
        second: Step,
        judge: Callable[[list[tuple[float, float]]], Judgement],
        mine: int,
    ) -> None:
        """Alternate two steps; ``judge`` says what the pairs of times show, ``mine`` which one
        Paddle is compared with.
        """
        # Paddle cannot share the process, so it is measured right before and right after.
        theirs = [self._paddle(workload)]
        pairs = alternate(first, second, self._rounds, REPEATS[workload])
        theirs.append(self._paddle(workload))
        value, unit, bar = judge(pairs)
        own = statistics.median(pair[mine] for pair in pairs)
        self.figures.add(workload, value, unit, **bar, beside=f"{own:.1f} us")
        if self._interpreter:
            other = sum(theirs) / 2
            beside = f"{own:.1f} us against {other:.1f}"
            self.figures.add(workload, own / other, "of Paddle", most=1.0, beside=beside)

    def _paddle(self, workload: str) -> float:
        return (
            run_real_paddle(self._interpreter, workload, self._rounds) if self._interpreter else 0.0
        )


def ratio_to_torch(pairs: list[tuple[float, float]]) -> Judgement:
    return statistics.median(a / b for a, b in pairs), "of torch", {"most": 1.05}


def time_over_torch(pairs: list[tuple[float, float]]) -> Judgement:
    return statistics.median(a - b for a, b in pairs), "us over torch", {"most": 60.0}


def gain_of_places(pairs: list[tuple[float, float]]) -> Judgement:
    return statistics.median(a / b for a, b in pairs), "times 1 place", {"least": 1.6}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--paddle", help="interpreter that has real Paddle 2.6 installed")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--only-paddle", metavar="WORKLOAD", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only_paddle:
        print(measure_paddle_only(args.only_paddle, args.rounds))
        return 0

    import torch

    import paddle

    if not hasattr(paddle, "from_torch"):
        raise SystemExit("run this with argosy as `paddle`; name a real Paddle with --paddle")
    paddle.enable_static()
    threads, report = torch.get_num_threads(), Report(args.paddle, args.rounds)
    report.compare(MLP, executor_step(paddle, 64), torch_step(64), ratio_to_torch, 0)
    report.compare(SMALL, small_step(paddle), small_torch_step(), time_over_torch, 0)
    report.compare(PARALLEL, parallel_step(paddle, 1), parallel_step(paddle, 2), gain_of_places, 1)
    torch.set_num_threads(threads)
    return 1 if report.figures.missed else 0


if __name__ == "__main__":
    sys.exit(main())
