"""What Fleet costs and saves: its wrappers over DataParallel, optimizer memory with sharding, bytes
on the wire, LocalSGD.

    python benchmarks/bench_fleet.py [--rounds 15]

The model is an MLP 512-2048-2048-1024-10 (7.4 million parameters), batch 64 per process, two
processes with one thread each. What the wrappers cost is measured on a small model, as time per
step: in the large one it is lost in the differences between runs, of several per cent in either
direction.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
from collections.abc import Callable
from typing import Any

import torch

import paddle
import paddle.distributed as dist
import paddle.distributed.fleet as fleet
import pairing
from argosy.runtime.comm.traffic import count_traffic
from figures import Figures
from paddle import nn

SIZES = [512, 2048, 2048, 1024, 10]
SMALL_SIZES = [16, 16, 16, 16, 10]
BATCH = 64
# per cent
MOST_OVER_DATA_PARALLEL = 1.0
MOST_SHARE = 55.0


def network(sizes: list[int] = SIZES) -> nn.Layer:
    layers: list[nn.Layer] = []
    for n_in, n_out in itertools.pairwise(sizes):
        layers += [nn.Linear(n_in, n_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def even_network() -> nn.Layer:
    """Many layers of one size, as in models for which sharding is worth it."""
    return nn.Sequential(*(layer for _ in range(24) for layer in (nn.Linear(256, 256), nn.ReLU())))


def fleet_parts(
    switches: dict[str, Any], model: nn.Layer, optimizer: str = "Momentum"
) -> tuple[Any, Any]:
    strategy = fleet.DistributedStrategy()
    for name, value in switches.items():
        setattr(strategy, name, value)
    fleet.init(is_collective=True, strategy=strategy)
    rule = getattr(paddle.optimizer, optimizer)(learning_rate=0.001, parameters=model.parameters())
    return fleet.distributed_model(model), fleet.distributed_optimizer(rule)


def step_of(model: Any, optimizer: Any, width: int = SIZES[0]) -> Callable[[], object]:
    x, y = paddle.randn([BATCH, width]), paddle.randint(0, SIZES[-1], [BATCH])

    def step() -> None:
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.clear_grad()

    return step


def data_parallel_step(sizes: list[int]) -> Callable[[], object]:
    strategy = fleet.DistributedStrategy()
    # buckets of the size that Fleet has: they change the time of a step, and are not what is
    # measured
    model = paddle.DataParallel(network(sizes), comm_buffer_size=strategy.fuse_grad_size_in_MB)
    return step_of(
        model,
        paddle.optimizer.Momentum(learning_rate=0.001, parameters=model.parameters()),
        sizes[0],
    )


def state_bytes(optimizer: Any) -> int:
    values = [v for v in optimizer.state_dict().values() if isinstance(v, paddle.Tensor)]
    return sum(v.raw.numel() * v.raw.element_size() for v in values)


def share_of_state() -> float:
    """The largest part of the optimizer state that a rank keeps in stage 1."""
    sizes = []
    for switches in ({}, {"sharding": True, "sharding_configs": {"stage": 1}}):
        model, optimizer = fleet_parts(switches, even_network(), "Adam")
        step_of(model, optimizer, 256)()
        sizes.append(int(fleet.util.all_reduce(state_bytes(optimizer), "max")))
    return sizes[1] / sizes[0]


def bytes_per_step(switches: dict[str, Any]) -> int:
    fleet.init(is_collective=True)
    traffic = count_traffic(dist.get_group())
    step = step_of(*fleet_parts(switches, network()))
    step()
    traffic.reset()
    step()
    return traffic.total_bytes


def step_worker(rounds: int, sizes: list[int], repeats: int) -> dict[str, list[float]]:
    dist.init_parallel_env()
    torch.set_num_threads(1)
    calls = {
        "DataParallel": data_parallel_step(sizes),
        "fleet": step_of(*fleet_parts({}, network(sizes)), sizes[0]),
    }
    return pairing.alternate(calls, rounds, repeats)


def worker() -> dict[str, Any]:
    dist.init_parallel_env()
    torch.set_num_threads(1)
    found: dict[str, Any] = {"share": share_of_state()}
    found["bytes"] = {
        "float32": bytes_per_step({}),
        "fp16_allreduce": bytes_per_step({"fp16_allreduce": True}),
        "dgc, sparsity 0.999": bytes_per_step({"dgc": True, "dgc_configs": {"sparsity": [0.999]}}),
    }
    return found


def gloo_worker(rounds: int) -> dict[str, list[float]]:
    dist.init_parallel_env()
    torch.set_num_threads(1)
    local = {"localsgd": True, "localsgd_configs": {"k_steps": 4}}
    calls = {
        "synchronous": step_of(*fleet_parts({}, network())),
        "LocalSGD, k=4": step_of(*fleet_parts(local, network())),
    }
    return pairing.alternate(calls, rounds, 8)


def result_of(work: Callable[..., Any], *args: Any) -> Any:
    """What ``work`` returns in the first of two processes."""
    return dist.spawn(work, args=args, nprocs=2).return_queues[0].get()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    small = result_of(step_worker, 8 * args.rounds, SMALL_SIZES, 50)
    seconds = result_of(step_worker, args.rounds, SIZES, 8)
    found = result_of(worker)
    os.environ["PADDLE_DISTRI_BACKEND"] = "gloo"
    gloo = result_of(gloo_worker, args.rounds)
    show(small, "DataParallel", "training step, small")
    show(seconds, "DataParallel", "training step")
    show(gloo, "synchronous", "training step over gloo")
    print()
    figures, base = Figures(), found["bytes"]["float32"]
    for name, count in found["bytes"].items():
        what = f"bytes a rank sends per step, {name}"
        figures.add(what, 100 * count / base, "% of float32", beside=f"{count:,} bytes")
    extra = statistics.median(
        a - b for a, b in zip(small["fleet"], small["DataParallel"], strict=True)
    )
    figures.add(
        "what Fleet's wrappers cost a step",
        100 * extra / statistics.median(seconds["DataParallel"]),
        "% of DataParallel's",
        most=MOST_OVER_DATA_PARALLEL,
        beside=f"{extra * 1e6:.0f} us",
    )
    figures.add(
        "Adam's state on a rank of two, sharding stage 1",
        100 * found["share"],
        "% of the whole",
        most=MOST_SHARE,
    )
    figures.exit()


def show(seconds: dict[str, list[float]], base: str, title: str) -> None:
    print(f"\n{title:30} {'ms':>12} {'over ' + base:>18}")
    for name, times in seconds.items():
        print(
            f"{name:30} {statistics.median(times) * 1e3:>12.2f} "
            f"{pairing.ratio(times, seconds[base]):>18.3f}"
        )


if __name__ == "__main__":
    main()
