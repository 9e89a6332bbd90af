"""Start-up: processor time (user and system) of a whole process that imports paddle, builds a small
program with an optimizer, runs its startup program and one step, and ends.

    python benchmarks/bench_startup.py [--paddle PATH_TO_PYTHON_WITH_PADDLE] [--rounds 9]

Beside it stand ``import torch`` alone, and with ``--paddle`` the same script by a real Paddle. The
kinds of process take turns, and a ratio is the median of the ratios within a round, so a slow
moment of the machine hits all. Bytecode is compiled first, as pip does for what it installs.
"""

from __future__ import annotations

import argparse
import compileall
import importlib.util
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path

from figures import Figures

FIRST_PROGRAM = """
import numpy as np
import paddle

paddle.enable_static()
main, startup = paddle.static.Program(), paddle.static.Program()
with paddle.static.program_guard(main, startup):
    x = paddle.static.data("x", [None, 13], "float32")
    y = paddle.static.data("y", [None, 1], "float32")
    hidden = paddle.static.nn.fc(x, 16, activation="relu")
    predicted = paddle.static.nn.fc(hidden, 1)
    loss = paddle.mean(paddle.nn.functional.square_error_cost(predicted, y))
    paddle.optimizer.SGD(0.01).minimize(loss)
exe = paddle.static.Executor(paddle.CPUPlace())
exe.run(startup)
feed = {"x": np.ones((4, 13), "float32"), "y": np.ones((4, 1), "float32")}
exe.run(main, feed=feed, fetch_list=[loss])
"""

LIMIT = 1.3  # of Paddle's


def processor_seconds(interpreter: str, code: str) -> float:
    """User and system time of a process, from its start to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Paddle 2.6 and 3.x then make the same kind of program
    surroundings = {**os.environ, "FLAGS_enable_pir_api": "0"}
    done = subprocess.run(
        [interpreter, "-c", code], capture_output=True, text=True, env=surroundings, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{interpreter} failed:\n{done.stderr}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--paddle", help="interpreter that has real Paddle installed")
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    found = importlib.util.find_spec("argosy")
    assert found is not None
    assert found.origin is not None
    compileall.compile_dir(Path(found.origin).parent, quiet=2)
    kinds = {
        "argosy, first program": (sys.executable, FIRST_PROGRAM),
        "argosy, import alone": (sys.executable, "import paddle; paddle.Tensor"),
        "import torch alone": (sys.executable, "import torch"),
    }
    if args.paddle:
        kinds["Paddle, first program"] = (args.paddle, FIRST_PROGRAM)
    for command in kinds.values():  # files come into the page cache
        processor_seconds(*command)
    seconds: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(args.rounds):
        for kind, command in kinds.items():
            seconds[kind].append(processor_seconds(*command))
    ours, base = seconds["argosy, first program"], list(seconds)[-1]
    for kind, taken in seconds.items():
        print(f"{kind:24} {statistics.median(taken):6.2f} s")
    ratio = statistics.median(a / b for a, b in zip(ours, seconds[base], strict=True))
    figures = Figures()
    figures.add(
        "processor time to the end of a first program",
        ratio,
        f"of '{base}'",
        most=LIMIT if args.paddle else None,
        beside=f"{statistics.median(ours):.2f} s against {statistics.median(seconds[base]):.2f}",
    )
    figures.exit()


if __name__ == "__main__":
    main()
