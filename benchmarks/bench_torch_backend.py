"""torch.distributed with the backend argosy against gloo, in turns, in one run: collectives of all
sizes, and a training step of DDP, with and without what ``argosy build`` compiles; it is compiled
first if it is not there.

    python benchmarks/bench_torch_backend.py [--processes 2 3 4] [--rounds 11] [--quick]

The exit code is 1 if a bar is not met.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing
from torch import nn

from argosy.runtime.torch_backend import native
from figures import Figures

SIZES = [1 << 10, 4 << 10, 64 << 10, 1 << 20, 25 << 20, 100 << 20]
# of all_reduce between two ranks: how many times faster than gloo it must be
WANTED = {4 << 10: 15.0, 1 << 20: 10.0, 25 << 20: 4.0}
WANTED_DDP = 1.6
Call = Callable[[Any], Any]


def collectives(size: int, n: int, rank: int) -> dict[str, Call]:
    """A call of each kind on ``size`` bytes of a rank, for a group."""
    whole = torch.ones(size // 4)
    part = torch.ones(max(1, size // 4 // n))
    parts = [torch.ones_like(part) for _ in range(n)]
    joined = torch.ones(part.numel() * n)
    source = torch.ones_like(joined)
    return {
        "all_reduce": lambda g: dist.all_reduce(whole, group=g),
        "broadcast": lambda g: dist.broadcast(whole, 0, group=g),
        "reduce": lambda g: dist.reduce(whole, 0, group=g),
        "all_gather": lambda g: dist.all_gather(parts, part, group=g),
        "all_gather_single": lambda g: dist.all_gather_single(joined, part, group=g),
        "reduce_scatter": lambda g: dist.reduce_scatter_single(part, joined, group=g),
        "all_to_all": lambda g: dist.all_to_all_single(joined, source, group=g),
        # of a large one nearly all is the copy, into memory that the kernel has to clear first
        "all_to_all_of_a_copy": lambda g: dist.all_to_all_single(joined, joined.clone(), group=g),
        "gather": lambda g: dist.gather(part, parts if rank == 0 else None, 0, group=g),
        "scatter": lambda g: dist.scatter(part, parts if rank == 0 else None, 0, group=g),
    }


def alternate(calls: dict[str, Callable[[], Any]], rounds: int, repeats: int) -> dict[str, float]:
    """Median seconds of each; in a round every entry runs ``repeats`` times, after a barrier."""
    for call in calls.values():
        call()
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    turns = list(calls.items())
    for number in range(rounds):
        for name, call in turns[number % 2 :] + turns[: number % 2]:
            dist.barrier()
            began = time.perf_counter()
            for _ in range(repeats):
                call()
            seconds[name].append((time.perf_counter() - began) / repeats)
    return {name: statistics.median(values) for name, values in seconds.items()}


def step_of(group: Any, communicates: bool = True, is_view: bool = False) -> Callable[[], None]:
    """A training step of DDP in ``group``: 7.4 million parameters, 64 samples of a rank, SGD.
    Without communication DDP still copies gradients into its buckets and, unless they become views
    of them, back. Without a group there is no DDP.
    """
    torch.manual_seed(0)
    widths = [512, 2048, 2048, 1024, 10]
    layers: list[nn.Module] = []
    for i, (a, b) in enumerate(itertools.pairwise(widths)):
        layers += [nn.Linear(a, b), *([nn.ReLU()] if i < 3 else [])]
    model: nn.Module = nn.Sequential(*layers)
    if group is not None:
        model = nn.parallel.DistributedDataParallel(
            model, process_group=group, gradient_as_bucket_view=is_view
        )
        if not communicates:
            model.register_comm_hook(None, keep)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    x, y = torch.randn(64, 512), torch.randint(10, (64,))

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def keep(state, bucket):  # type: ignore[no-untyped-def]  # DDP refuses annotations that are text
    """A hook of DDP that leaves gradients as they are."""
    future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


def worker(rank: int, n: int, path: str, rounds: int, sizes: list[int], kinds: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("argosy", init_method=f"file://{path}", rank=rank, world_size=n)
    groups = {"argosy": dist.group.WORLD, "gloo": dist.new_group(backend="gloo")}
    figures = Figures()
    for kind in collectives(1 << 10, n, rank):
        if kinds and kind not in kinds.split(","):
            continue
        for size in sizes:
            call = collectives(size, n, rank)[kind]
            repeats = 100 if size <= 64 << 10 else 10 if size <= 1 << 20 else 1
            found = alternate(
                {name: lambda g=g, call=call: call(g) for name, g in groups.items()},
                rounds,
                repeats,
            )
            gain = found["gloo"] / found["argosy"]
            wanted = WANTED.get(size, 1.0) if kind == "all_reduce" and n == 2 else 1.0
            if rank == 0:
                mine, theirs = (found[name] * 1e6 for name in ("argosy", "gloo"))
                what = f"{kind} of {size >> 10} KB, {n} ranks"
                beside = f"{mine:.0f} us against {theirs:.0f}"
                figures.add(what, gain, "times gloo", least=wanted, beside=beside)
    if not kinds or "ddp" in kinds:
        os.environ["ARGOSY_NATIVE"] = "0"
        groups["not built"] = dist.new_group(backend="argosy")
        found = alternate({name: step_of(g) for name, g in groups.items()}, rounds, 3)
        gain = found["gloo"] / found["argosy"]
        wanted = WANTED_DDP if n == 2 else 1.0
        if rank == 0:
            mine, theirs = (found[name] * 1e3 for name in ("argosy", "gloo"))
            beside = f"{mine:.1f} ms against {theirs:.1f}"
            figures.add(f"DDP step, {n} ranks", gain, "times gloo", least=wanted, beside=beside)
            what = f"DDP step without `argosy build`, {n} ranks"
            beside = f"{found['not built'] * 1e3:.1f} ms against {theirs:.1f}"
            figures.add(what, found["gloo"] / found["not built"], "times gloo", beside=beside)
        limits(figures, groups, rounds)
    if rank == 0:
        Path(f"{path}-missed").write_text(str(figures.missed))
    dist.destroy_process_group()


def limits(figures: Figures, groups: dict[str, Any], rounds: int) -> None:
    """What a step of DDP could be if a backend took no time, and if DDP took none either."""
    world, n = groups["argosy"], dist.get_world_size()
    steps = {
        "gloo": step_of(groups["gloo"]),
        "DDP step that communicates nothing": step_of(world, False),
        "the same, gradients being views": step_of(world, False, is_view=True),
        "step without DDP": step_of(None),
    }
    found = alternate(steps, rounds, 3)
    gloo_s = found.pop("gloo")
    if dist.get_rank() == 0:
        for what, seconds in found.items():
            beside = f"{seconds * 1e3:.1f} ms against {gloo_s * 1e3:.1f}: no backend is faster"
            figures.add(f"{what}, {n} ranks", gloo_s / seconds, "times gloo", beside=beside)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--processes", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--kinds", default="", help="names with commas; ddp among them")
    parser.add_argument("--quick", action="store_true", help="5 rounds")
    args = parser.parse_args()
    native.build()
    rounds, missed = 5 if args.quick else args.rounds, 0
    for n in args.processes:
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder) / "store"
            torch.multiprocessing.spawn(worker, (n, str(store), rounds, args.sizes, args.kinds), n)
            missed += int(Path(f"{store}-missed").read_text())
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
