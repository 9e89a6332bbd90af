"""Speed of the parameter server: a table alone, and training a CTR model through servers, beside
real Paddle with ``--paddle INTERPRETER``.

    python benchmarks/bench_ps.py [--quick] [--paddle PATH_TO_PYTHON_WITH_PADDLE_2.6] [--steps 60]

The job is ``ps_job.py``, on both sides. They take turns, so that a slow moment of the machine hits
both, and the median of the ratios counts.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from figures import Figures

DIM = 16
TIMES_PADDLE = 4.0
HERE = Path(__file__).resolve().parent


# -- a table alone
# ----------------------------------------------------------------------------------------------


def bench_table(figures: Figures, folder: Path, most: int) -> None:
    from argosy.runtime.ps.tables.initial import Initial
    from argosy.runtime.ps.tables.rules import Rule
    from argosy.runtime.ps.tables.sparse_table import SparseTable
    from argosy.runtime.ps.tables.spec import SparseSpec

    spec = SparseSpec(
        "t", DIM, Rule("adagrad", 0.1), Initial("uniform", -0.01, 0.01), max_rows=max(most, 1 << 22)
    )
    rng = np.random.default_rng(0)
    with SparseTable(spec, folder / "t") as table:
        million = 1_000_000
        table.pull(np.arange(million))
        chosen = [rng.integers(0, million, 100_000) for _ in range(8)]
        grads = np.ones((100_000, DIM), np.float32)
        rate = _rows_per_second(lambda i: table.pull(chosen[i % 8]))
        figures.add("pull from a table, dimension 16", rate / 1e6, "million rows/s", least=10.0)
        sequence = iter(range(1, million))
        rate = _rows_per_second(
            lambda i: table.push(chosen[i % 8], grads, worker=0, sequence=next(sequence))
        )
        figures.add("push to a table, Adagrad", rate / 1e6, "million rows/s", least=5.0)
        _bench_snapshot(figures, table, chosen, grads, sequence)
        stall = 0.0
        for start in range(million, most, 100_000):
            ids = np.arange(start, start + 100_000)
            stall = max(stall, _seconds(lambda ids=ids: table.pull(ids)))
        what = f"worst stall, growth 1M to {most / 1e6:.0f}M rows"
        figures.add(what, stall * 1e3, "ms", most=200.0)
        payload = 4 * spec.trained_width
        ratio = table.num_bytes / len(table) / payload
        figures.add("bytes of a row", ratio, "of its payload", most=1.35)


def _bench_snapshot(
    figures: Figures, table: Any, chosen: list[Any], grads: Any, sequence: Any
) -> None:
    """How long a push waits at most while a snapshot is taken, beyond what it takes anyway."""
    usual = statistics.median(
        _seconds(lambda: table.push(chosen[0], grads, worker=0, sequence=next(sequence)))
        for _ in range(9)
    )
    parts = table.snapshot()
    # everything that holds the table's lock for the snapshot happens within next()
    pauses = []
    while True:
        start = time.perf_counter()
        if next(parts, None) is None:
            break
        pauses.append(time.perf_counter() - start)
        table.push(chosen[len(pauses) % 8], grads, worker=0, sequence=next(sequence))
    worst = max(pauses)
    beside = f"a push takes {usual * 1e3:.0f} ms"
    what = "snapshot, longest pause with 1M rows"
    figures.add(what, worst * 1e3, "ms", most=100.0, beside=beside)


def _rows_per_second(call: Callable[[int], Any]) -> float:
    for i in range(8):
        call(i)
    seconds = [_seconds(lambda i=i: call(i)) for i in range(24)]
    return 100_000 / statistics.median(seconds)


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


# -- the job
# --------------------------------------------------------------------------------------------------


def run_job(interpreter: str, num_servers: int, num_workers: int, steps: int) -> float:
    """Samples per second of all workers of ``ps_job.py`` together, each process started as by a
    shell loop.
    """
    servers, workers = ([_free_endpoint() for _ in range(n)] for n in (num_servers, num_workers))
    common = {
        **os.environ, "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(servers),
        "PADDLE_TRAINER_ENDPOINTS": ",".join(workers), "PADDLE_TRAINERS_NUM": str(num_workers),
        "POD_IP": "127.0.0.1", "OMP_NUM_THREADS": "1", "FLAGS_enable_pir_api": "0", "GLOG_v": "0",
        "PADDLE_WITH_GLOO": "0",
    }  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="argosy-bench-") as folder:

        def start(role: str, number: int, endpoint: str) -> Any:
            env = {
                **common,
                "TRAINING_ROLE": role,
                "PADDLE_PORT": endpoint.split(":")[1],
                "PADDLE_TRAINER_ID": str(number),
            }
            command = [interpreter, str(HERE / "ps_job.py"), str(steps)]
            return subprocess.Popen(
                command,
                env=env,
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )

        running = [start("PSERVER", i, e) for i, e in enumerate(servers)]
        trainers = [start("TRAINER", i, e) for i, e in enumerate(workers)]
        try:
            return sum(_rate_of(trainer) for trainer in trainers)
        finally:
            for process in running:  # Paddle's servers do not end by themselves
                process.terminate()
                process.communicate()


def _free_endpoint() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{found.getsockname()[1]}"


def _rate_of(worker: Any) -> float:
    out, _ = worker.communicate()
    if worker.returncode:
        raise SystemExit("a worker of the job failed; run ps_job.py by hand to see why")
    return float(next(line for line in out.splitlines() if line.startswith("samples/s")).split()[1])


def bench_job(figures: Figures, interpreter: str | None, steps: int) -> None:
    for num_servers, num_workers in ((1, 1), (2, 2)):
        what = f"CTR job, {num_servers} server(s) and {num_workers} worker(s)"
        ours, theirs = [], []
        for _ in range(3):
            ours.append(run_job(sys.executable, num_servers, num_workers, steps))
            if interpreter:
                theirs.append(run_job(interpreter, num_servers, num_workers, steps))
        rate = statistics.median(ours)
        if not interpreter:
            figures.add(what, rate, "samples/s")
            continue
        ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
        beside = f"{rate:,.0f} samples/s against {statistics.median(theirs):,.0f}"
        figures.add(what, ratio, "times Paddle 2.6.2", least=TIMES_PADDLE, beside=beside)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--paddle", help="interpreter that has real Paddle 2.6 installed")
    parser.add_argument(
        "--quick", action="store_true", help="grow to 4M rows instead of 20M, fewer steps"
    )
    parser.add_argument("--steps", type=int)
    parser.add_argument("--only", choices=("table", "job"))
    args = parser.parse_args()
    figures = Figures()
    if args.only != "job":
        with tempfile.TemporaryDirectory(prefix="argosy-bench-") as folder:
            bench_table(figures, Path(folder), 4_000_000 if args.quick else 20_000_000)
    if args.only != "table":
        bench_job(figures, args.paddle, args.steps or (40 if args.quick else 120))
    return 1 if figures.missed else 0


if __name__ == "__main__":
    sys.exit(main())
