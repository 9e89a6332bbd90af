"""A data-parallel training step of plain torch modules: argosy's DataParallel against torch's
DistributedDataParallel and against the module's own step without synchronisation, in turns.

    python benchmarks/bench_torch_modules.py [--only gpt lstm] [--rounds 15]

Two processes with one thread each, SGD; the networks are in ``torch_nets.py``. What synchronisation
costs in processor time, that of all threads, is printed per gigabyte of gradients. Beside it stands
the own step with nothing but a barrier after each: no synchronous training is faster, since ranks
wait for the slower one, and want memory at the same moments.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

import paddle
import paddle.distributed as dist
import pairing
from figures import Figures
from torch_nets import NETS

ALONE, DDP, OURS = "no synchronisation", "torch DDP", "argosy DataParallel"
IN_STEP = "no synchronisation but a barrier"
LEAST_GAIN_OVER_DDP = 1.2
# times the own step without synchronisation, at most
MOST_OVER_ALONE = {"mlp": 1.08, "dlrm": 1.4}
MOST_OVER_ALONE_ELSE = 1.15
BLOCK_S = 0.12  # length of a block of steps between two barriers, about


def _ddp(module: torch.nn.Module) -> torch.nn.Module:
    return torch.nn.parallel.DistributedDataParallel(module, gradient_as_bucket_view=True)


WRAPPERS: dict[str, Callable[[Any], Any]] = {
    ALONE: lambda module: module,
    DDP: _ddp,
    OURS: paddle.DataParallel,
}


def train_step(name: str, wrap: Callable[[Any], Any]) -> tuple[Callable[[], None], int]:
    """One step of a network that was wrapped, and the bytes of its gradients."""
    torch.manual_seed(0)  # the same weights and batch in every one
    module, loss_of = NETS[name]()
    model = wrap(module)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01)

    def step() -> None:
        loss_of(model).backward()
        optimizer.step()
        optimizer.zero_grad()

    loss_of(module).backward()
    num_bytes = sum(_num_bytes(p.grad) for p in module.parameters() if p.grad is not None)
    optimizer.zero_grad()
    return step, num_bytes


def _num_bytes(grad: torch.Tensor) -> int:
    if not grad.is_sparse:
        return grad.nbytes
    rows = grad.coalesce()
    return rows.indices().nbytes + rows.values().nbytes


def worker(names: list[str], rounds: int) -> dict[str, Any]:
    dist.init_parallel_env()
    torch.set_num_threads(1)
    pairing.join_torch()
    found: dict[str, Any] = {}
    for name in names:
        made = {label: train_step(name, wrap) for label, wrap in WRAPPERS.items()}
        calls = {label: step for label, (step, _) in made.items()}
        repeats = torch.tensor(_repeats(calls[ALONE]))
        torch.distributed.broadcast(repeats, 0)
        cpu: dict[str, list[float]] = {}
        seconds = pairing.alternate(calls, rounds, int(repeats), cpu)
        alone = calls[ALONE]
        limit = pairing.alternate({ALONE: alone, IN_STEP: _in_step(alone)}, rounds, int(repeats))
        found[name] = seconds, cpu, made[ALONE][1], limit
        del made, calls, alone
    torch.distributed.destroy_process_group()
    return found


def _in_step(step: Callable[[], None]) -> Callable[[], None]:
    def both() -> None:
        step()
        dist.barrier()

    return both


def _repeats(step: Callable[[], None]) -> int:
    """How many steps make a block."""
    for _ in range(3):
        step()
    start = time.perf_counter()
    step()
    return max(2, round(BLOCK_S / (time.perf_counter() - start)))


def report(
    figures: Figures,
    name: str,
    seconds: dict[str, list[float]],
    cpu: Any,
    num_bytes: int,
    limit: dict[str, list[float]],
) -> None:
    """Add the figures of one network."""
    gain = pairing.ratio(seconds[DDP], seconds[OURS])
    over = pairing.ratio(seconds[OURS], seconds[ALONE])
    most = MOST_OVER_ALONE.get(name, MOST_OVER_ALONE_ELSE)
    own = statistics.median(cpu[ALONE])
    per_gb = [(statistics.median(cpu[label]) - own) * 1e9 / num_bytes for label in (OURS, DDP)]
    mine, theirs, alone = (statistics.median(seconds[label]) * 1e3 for label in (OURS, DDP, ALONE))
    what = f"DataParallel step of a torch module, {name}"
    least, beside = LEAST_GAIN_OVER_DDP, f"{mine:.2f} ms against {theirs:.2f}"
    figures.add(what, gain, "times DDP", least=least, beside=beside)
    beside = (
        f"{mine:.2f} ms against {alone:.2f}; {per_gb[0]:.2f} s of processor for a GB of gradients, "
        f"DDP {per_gb[1]:.2f}"
    )
    figures.add(what, over, "of no synchronisation", most=most, beside=beside)
    in_step = pairing.ratio(limit[IN_STEP], limit[ALONE])
    beside = "a barrier after each step and nothing else: no synchronous step is faster"
    figures.add(f"the limit of that, {name}", in_step, "of no synchronisation", beside=beside)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=list(NETS), default=list(NETS))
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    context = dist.spawn(worker, args=(args.only, args.rounds), nprocs=2)
    found = context.return_queues[0].get()
    figures = Figures()
    for name, values in found.items():
        report(figures, name, *values)
    figures.exit()


if __name__ == "__main__":
    main()
