"""A data-parallel training step: argosy against torch's DistributedDataParallel and against no
synchronisation, in turns.

    python benchmarks/bench_data_parallel.py [--busy] [--rounds 21]

The model is an MLP 512-2048-2048-1024-10 (7.4 million parameters), batch 64 per process, SGD, two
processes with one thread each. ``--busy`` adds a process that wants a core for itself.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import resource
import statistics
from collections.abc import Callable

import torch

import paddle
import paddle.distributed as dist
import pairing
from figures import Figures
from paddle import nn
from torch_nets import MLP_BATCH as BATCH
from torch_nets import MLP_SIZES as SIZES
from torch_nets import mlp

MOST_OVER_NO_SYNC = 1.05
LEAST_GAIN_OVER_DDP = 1.4
ALONE, DDP, OURS = "argosy, no synchronisation", "torch DDP", "argosy DataParallel"


def argosy_step(is_parallel: bool) -> Callable[[], object]:
    layers: list[nn.Layer] = []
    for n_in, n_out in itertools.pairwise(SIZES):
        layers += [nn.Linear(n_in, n_out), nn.ReLU()]
    model = nn.Sequential(*layers[:-1])
    if is_parallel:
        model = paddle.DataParallel(model)
    optimizer = paddle.optimizer.SGD(learning_rate=0.01, parameters=model.parameters())
    x, y = paddle.randn([BATCH, SIZES[0]]), paddle.randint(0, SIZES[-1], [BATCH])

    def step() -> None:
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.clear_grad()

    return step


def torch_step(is_parallel: bool) -> Callable[[], object]:
    model, loss_of = mlp()
    if is_parallel:
        model = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> None:
        loss_of(model).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def worker(rounds: int) -> dict[str, list[float]]:
    dist.init_parallel_env()
    torch.set_num_threads(1)
    pairing.join_torch()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls = {
        ALONE: argosy_step(False),
        "torch, no synchronisation": torch_step(False),
        DDP: torch_step(True),
        OURS: argosy_step(True),
    }
    seconds = pairing.alternate(calls, rounds, 8)
    torch.distributed.destroy_process_group()
    if dist.get_rank() == 0:
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(
            f"peak memory grew by {grown:.0f} MB with all four models; one copy of the gradients "
            "is 29 MB"
        )
    return seconds


def _spin() -> None:
    while True:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--busy", action="store_true", help="run beside a third process that wants a core"
    )
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    neighbour = multiprocessing.get_context("spawn").Process(target=_spin, daemon=True)
    if args.busy:
        neighbour.start()
    context = dist.spawn(worker, args=(args.rounds,), nprocs=2)
    if args.busy:
        neighbour.kill()
        neighbour.join()
    seconds = context.return_queues[0].get()
    base = seconds[ALONE]
    print(f"{'training step':30} {'ms':>8} {'over no synchronisation':>24}")
    for name, times in seconds.items():
        print(
            f"{name:30} {statistics.median(times) * 1e3:>8.1f} {pairing.ratio(times, base):>24.3f}"
        )
    over = pairing.ratio(seconds[OURS], base)
    gain = pairing.ratio(seconds[DDP], seconds[OURS])
    wanted = 1.0 if args.busy else LEAST_GAIN_OVER_DDP
    mine, theirs, alone = (statistics.median(seconds[name]) * 1e3 for name in (OURS, DDP, ALONE))
    figures = Figures()
    what = "DataParallel step of Paddle layers, MLP 7.4M"
    figures.add(what, gain, "times DDP", least=wanted, beside=f"{mine:.1f} ms against {theirs:.1f}")
    most = None if args.busy else MOST_OVER_NO_SYNC
    beside = f"{mine:.1f} ms against {alone:.1f}"
    figures.add(what, over, "of no synchronisation", most=most, beside=beside)
    figures.exit()


if __name__ == "__main__":
    main()
