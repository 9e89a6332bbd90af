"""Speed of a predictor: a run beside the same program under an Executor.

    python benchmarks/bench_inference.py [--rounds 21]

A run fills the input from an array, computes a small MLP and reads the output as an array. Blocks
alternate, and a ratio is the median over neighbouring blocks. The script runs with real Paddle as
well (2.6.2, FLAGS_enable_pir_api=0), for figures to compare with. Exit code 1: a predictor is
slower than the Executor by more than the noise.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import paddle
from figures import Figures
from paddle.inference import Config, create_predictor

Step = Callable[[], Any]

NOISE = 1.1
WORKLOADS = {
    "small MLP, batch 1": ([16, 32, 32, 4], 1, 300),
    "MLP, batch 64": ([512, 1024, 1024, 10], 64, 20),
}


def steps_of(sizes: list[int], rows: int, folder: str) -> tuple[Step, Step, Step]:
    """A run of the Executor, of a predictor by its handles, and of one by Tensors."""
    layers: list[Any] = []
    for i, size in enumerate(sizes[1:]):
        layers += [paddle.nn.Linear(sizes[i], size), paddle.nn.ReLU()]
    net = paddle.nn.Sequential(*layers[:-1])
    net.eval()
    prefix = f"{folder}/mlp{sizes[0]}"
    spec = [paddle.static.InputSpec([None, sizes[0]], "float32", "x")]
    paddle.jit.save(net, prefix, input_spec=spec)
    array = np.random.RandomState(0).randn(rows, sizes[0]).astype("float32")
    config = Config(f"{prefix}.pdmodel", f"{prefix}.pdiparams")
    config.disable_glog_info()
    predictor = create_predictor(config)
    names = predictor.get_output_names()
    given, result = predictor.get_input_handle("x"), predictor.get_output_handle(names[0])
    tensors = [paddle.to_tensor(array)]
    other = predictor.clone()
    exe = paddle.static.Executor(paddle.CPUPlace())
    paddle.enable_static()  # from here on: Paddle's Executor runs in this mode only
    program, _, fetches = paddle.static.load_inference_model(prefix, exe)

    def execute() -> Any:
        return exe.run(program, feed={"x": array}, fetch_list=fetches)[0]

    def predict() -> Any:
        given.copy_from_cpu(array)
        predictor.run()
        return result.copy_to_cpu()

    def predict_tensors() -> Any:
        return other.run(tensors)[0].numpy()

    np.testing.assert_allclose(predict(), execute(), rtol=1e-4, atol=1e-5)
    return execute, predict, predict_tensors


def block(step: Step, repeats: int) -> float:
    """Microseconds per call."""
    start = time.perf_counter()
    for _ in range(repeats):
        step()
    return (time.perf_counter() - start) / repeats * 1e6


def compare(figures: Figures, name: str, rounds: int, folder: str) -> None:
    """How long a predictor takes beside the Executor."""
    sizes, rows, repeats = WORKLOADS[name]
    execute, predict, predict_tensors = steps_of(sizes, rows, folder)
    # Paddle 2.6.2 for CPUs crashes when it is given Tensors.
    takes_tensors = not paddle.__version__.startswith("2.")
    steps = [execute, predict, *([predict_tensors] if takes_tensors else [])]
    for step in steps:
        block(step, 3)
    found = [[block(step, repeats) for step in steps] for _ in range(rounds)]
    medians = [statistics.median(times) for times in zip(*found, strict=True)]
    ratio = statistics.median(times[1] / times[0] for times in found)
    tensors = f", with Tensors {medians[2]:.1f}" if len(medians) > 2 else ""
    beside = f"{medians[1]:.1f} us against {medians[0]:.1f}{tensors}"
    figures.add(f"predictor, {name}", ratio, "of exe.run", most=NOISE, beside=beside)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        figures = Figures()
        for name in WORKLOADS:
            paddle.disable_static()
            compare(figures, name, rounds, folder)
    return 1 if figures.missed else 0


if __name__ == "__main__":
    sys.exit(main())
