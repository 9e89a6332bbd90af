"""What exchanging less costs in accuracy: the GPT of ``examples/gpt_fleet.py``, trained between two
hosts in each way, against synchronous training on the same samples.

    python benchmarks/bench_losses.py [--only int8 diloco ...] [--steps 400] [--seeds 3]

The hosts are network namespaces of this machine; it takes the rights of root. A loss is that of
2048 sequences that nobody has trained on, under the mean of the ranks' parameters; a figure is the
mean over seeds.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import torch

import between_hosts
import paddle
import paddle.distributed as dist
import paddle.distributed.fleet as fleet
from figures import Figures
from paddle import nn

SYNCHRONOUS = "synchronous"
RATE = 4e-3  # the example's
# the strategy of each way, and by how much of the synchronous loss it may be worse
WAYS: dict[str, tuple[dict[str, Any], float | None]] = {
    SYNCHRONOUS: ({}, None),
    "fp16": ({"fp16_allreduce": True}, 0.5),
    "int8": ({"int8_allreduce": True}, 0.5),
    "powersgd": ({"powersgd": True}, 0.5),
    "diloco": ({"diloco": True}, 1.0),
}


def trained(switches: dict[str, Any], steps: int, seed: int) -> float:
    """The loss after ``steps`` of both ranks."""
    from gpt_fleet import GPT, sequences  # from the folder of the examples

    strategy = fleet.DistributedStrategy()
    for name, value in switches.items():
        setattr(strategy, name, value)
    fleet.init(is_collective=True, strategy=strategy)
    paddle.seed(seed)
    net = GPT()
    model: Any = fleet.distributed_model(net)
    rule = paddle.optimizer.AdamW(RATE, parameters=net.parameters())
    optimizer: Any = fleet.distributed_optimizer(rule)
    rng = np.random.RandomState(1000 * seed + fleet.worker_index())
    for _ in range(steps):
        loss_of(model, sequences(24, rng)).backward()
        optimizer.step()
        optimizer.clear_grad()
    with paddle.no_grad():
        for parameter in net.parameters():
            dist.all_reduce(parameter, op=dist.ReduceOp.AVG)
        return float(loss_of(net, sequences(2048, np.random.RandomState(7))))


def loss_of(model: Any, batch: Any) -> Any:
    logits = model(paddle.to_tensor(batch[:, :-1]))
    return nn.functional.cross_entropy(logits, paddle.to_tensor(batch[:, 1:]))


def worker(names: list[str], steps: int, seeds: int) -> None:
    torch.set_num_threads(1)
    losses = {
        name: [trained(WAYS[name][0], steps, 1 + seed) for seed in range(seeds)] for name in names
    }
    if dist.get_rank() == 0:
        Path(between_hosts.RESULT).write_text(json.dumps(losses))


def report(losses: dict[str, list[float]], steps: int) -> Figures:
    figures, exact = Figures(), statistics.fmean(losses[SYNCHRONOUS])
    for name, found in losses.items():
        if name == SYNCHRONOUS:
            continue
        mean = statistics.fmean(found)
        figures.add(
            f"loss of the GPT after {steps} steps, {name}",
            100.0 * (mean / exact - 1.0),
            "% above synchronous training",
            most=WAYS[name][1],
            beside=f"{mean:.4f} against {exact:.4f}",
        )
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--address", default="", help=argparse.SUPPRESS)
    parser.add_argument("--cable", default="", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        worker(args.only, args.steps, args.seeds)
        return
    names = [SYNCHRONOUS, *(name for name in args.only if name != SYNCHRONOUS)]
    work = ["--worker", "--steps", str(args.steps), "--seeds", str(args.seeds), "--only", *names]
    report(between_hosts.run(__file__, work), args.steps).exit()


if __name__ == "__main__":
    main()
