"""A training step between two hosts: argosy's ways to exchange gradients against torch's DDP over
gloo, in turns.

    python benchmarks/bench_hosts.py [--rate 1gbit] [--only synchronous fp16 ...] [--rounds 7]

The hosts are network namespaces of this machine, joined by a cable that ``tc`` holds to a rate; it
takes the rights of root. Each has one process with one thread. The model is an MLP
512-2048-2048-1024-10 (7.4 million parameters, 237 ms of a wire of 1 Gb/s), batch 64 per process.
Bars are printed and decide the exit code at 1 Gb/s; other rates are for the table alone.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import between_hosts
import paddle
import paddle.distributed as dist
import paddle.distributed.fleet as fleet
import pairing
from figures import Figures
from paddle import nn

SIZES = [512, 2048, 2048, 1024, 10]
BATCH = 64
MOST_OVER_LIMIT = 1.05  # of a synchronous step over the larger of computing and sending
DDP, ALONE = "torch DDP", "no synchronisation"
# the strategy of each way, and how many times as fast as DDP it is to be
WAYS: dict[str, tuple[dict[str, Any], float | None]] = {
    "synchronous": ({}, 1.0),
    "factored": ({"factored_allreduce": True}, None),
    "fp16": ({"fp16_allreduce": True}, 1.8),
    "int8": ({"int8_allreduce": True}, 3.3),
    "dgc": ({"dgc": True}, 5.0),
    "powersgd": ({"powersgd": True, "powersgd_configs": {"begin_step": 0}}, None),
    "localsgd": ({"localsgd": True, "localsgd_configs": {"k_steps": 4}}, None),
    "diloco": ({"diloco": True}, None),
}
HOOKS = ("DDP fp16", "DDP PowerSGD")
REPEATS = {ALONE: 50, "diloco": 50, "localsgd": 4}  # steps in a block; others have two
BYTES = {"synchronous": 4.0, "fp16": 2.0, "int8": 1.0 + 4 / 256}  # of an element on the wire
LEAST_OF_ALONE = 0.95  # of the speed without synchronisation, that DiLoCo is to have


def network() -> nn.Layer:
    layers: list[nn.Layer] = []
    for n_in, n_out in itertools.pairwise(SIZES):
        layers += [nn.Linear(n_in, n_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def argosy_step(switches: dict[str, Any] | None) -> Callable[[], object]:
    """A step under these switches of the strategy; None: without Fleet."""
    model: Any = network()
    rule = paddle.optimizer.SGD
    if switches is not None and {"dgc", "localsgd"} & set(switches):
        rule = paddle.optimizer.Momentum
    optimizer: Any = rule(learning_rate=0.001, parameters=model.parameters())
    if switches is not None:
        strategy = fleet.DistributedStrategy()
        for name, value in switches.items():
            setattr(strategy, name, value)
        fleet.init(is_collective=True, strategy=strategy)
        model, optimizer = fleet.distributed_model(model), fleet.distributed_optimizer(optimizer)
    x, y = paddle.randn([BATCH, SIZES[0]]), paddle.randint(0, SIZES[-1], [BATCH])

    def step() -> None:
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.clear_grad()

    return step


def torch_step(hook: str = "") -> Callable[[], object]:
    """A step of DDP, with one of its hooks if named."""
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

    layers: list[torch.nn.Module] = []
    for n_in, n_out in itertools.pairwise(SIZES):
        layers += [torch.nn.Linear(n_in, n_out), torch.nn.ReLU()]
    # that of PowerSGD has each bucket reduced in turns, which gloo may take in another order
    size = {"bucket_cap_mb": 1000} if hook == "DDP PowerSGD" else {}
    model = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(*layers[:-1]), gradient_as_bucket_view=True, **size
    )
    if hook == "DDP fp16":
        model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    elif hook == "DDP PowerSGD":
        state = powerSGD_hook.PowerSGDState(
            None, matrix_approximation_rank=4, start_powerSGD_iter=2
        )
        model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    x, y = torch.randn(BATCH, SIZES[0]), torch.randint(0, SIZES[-1], (BATCH,))

    def step() -> None:
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def steps_of(names: list[str]) -> dict[str, Callable[[], object]]:
    calls = {ALONE: argosy_step(None), DDP: torch_step()}
    for name in names:
        calls[name] = torch_step(name) if name in HOOKS else argosy_step(WAYS[name][0])
    return calls


def measure(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds per step of each way in each round; a round begins with another way each time."""
    for call in calls.values():
        for _ in range(3):
            call()
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    turns = list(calls.items())
    for number in range(rounds):
        for name, call in turns[number % len(turns) :] + turns[: number % len(turns)]:
            dist.barrier()
            start, repeats = time.perf_counter(), REPEATS.get(name, 2)
            for _ in range(repeats):
                call()
            dist.barrier()
            seconds[name].append((time.perf_counter() - start) / repeats)
    return seconds


def worker(names: list[str], rounds: int, address: str) -> None:
    dist.init_parallel_env()
    torch.set_num_threads(1)
    pairing.join_torch(address)
    seconds = measure(steps_of(names), rounds)
    torch.distributed.destroy_process_group()
    if dist.get_rank() == 0:
        Path(between_hosts.RESULT).write_text(json.dumps(seconds))


def wire_s(rate: str, num_bytes: float = 4.0) -> float:
    """What the gradients of the model take on the wire alone, both ways at once, with so many
    bytes for each element.
    """
    units = {"gbit": 1e9, "mbit": 1e6}
    number = sum(a * b + b for a, b in itertools.pairwise(SIZES))
    return number * 8 * num_bytes / (float(rate[:-4]) * units[rate[-4:]])


def report(seconds: dict[str, list[float]], rate: str) -> Figures:
    """The figures, with bars if the cable has the rate for which they were set."""
    figures, is_judged = Figures(), rate == "1gbit"
    for name, times in seconds.items():
        gain, wanted = pairing.ratio(seconds[DDP], times), WAYS.get(name, ({}, None))[1]
        figures.add(
            f"step between two hosts, {rate}, {name}",
            gain,
            "times DDP over gloo",
            least=wanted if is_judged else None,
            beside=f"{statistics.median(times) * 1e3:.1f} ms",
        )
    if "synchronous" in seconds:
        limit = max(statistics.median(seconds[ALONE]), wire_s(rate))
        figures.add(
            f"step between two hosts, {rate}, synchronous",
            statistics.median(seconds["synchronous"]) / limit,
            "of the limit",
            most=MOST_OVER_LIMIT if is_judged else None,
            beside=f"the larger of computing and sending takes {limit * 1e3:.0f} ms",
        )
    forward_s = statistics.median(seconds[ALONE]) / 3  # backward takes twice as long
    for name in (name for name in BYTES if name in seconds):
        limit = forward_s + wire_s(rate, BYTES[name])
        figures.add(
            f"step between two hosts, {rate}, {name}",
            statistics.median(seconds[name]) / limit,
            "of forward and then the wire",
            beside=f"{limit * 1e3:.0f} ms: no gradient is there before",
        )
    if "diloco" in seconds:
        figures.add(
            f"step between two hosts, {rate}, diloco",
            pairing.ratio(seconds[ALONE], seconds["diloco"]),
            "of the speed without synchronisation",
            least=LEAST_OF_ALONE if is_judged else None,
        )
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rate", default="1gbit", help="of the cable, in gbit or mbit")
    parser.add_argument("--only", nargs="*", default=[*HOOKS, *WAYS], choices=[*HOOKS, *WAYS])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--address", default="", help=argparse.SUPPRESS)
    parser.add_argument("--cable", default="", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        os.environ["GLOO_SOCKET_IFNAME"] = args.cable
        worker(args.only, args.rounds, args.address)
        return
    work = ["--worker", "--rounds", str(args.rounds), "--only", *args.only]
    report(between_hosts.run(__file__, work, args.rate), args.rate).exit()


if __name__ == "__main__":
    main()
