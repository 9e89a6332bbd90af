"""A click model that workers train in each mode of a parameter-server job: what comes out is how
well it ranks clicks that it has not seen.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch

import paddle.distributed.fleet as fleet

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

import clicks

MODES: dict[str, dict[str, Any]] = {
    "sync": {"a_sync": False},
    "async": {"a_sync": True, "a_sync_configs": {"send_queue_size": 2}},
    "geo": {"a_sync": True, "a_sync_configs": {"k_steps": 8}},
}


class Net(torch.nn.Module):
    """A weight for each id and number, and a small deep part."""

    def __init__(self) -> None:
        super().__init__()
        size = clicks.NUM_SLOTS * clicks.NUM_IDS
        self.wide = torch.nn.Embedding(size, 1, sparse=True)
        self.deep = torch.nn.Embedding(size, 4, sparse=True)
        torch.nn.init.zeros_(self.wide.weight)
        torch.nn.init.normal_(self.deep.weight, std=0.05)
        width = clicks.NUM_SLOTS * 4 + clicks.NUM_NUMBERS
        self.dense = torch.nn.Sequential(
            torch.nn.Linear(width, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)
        )

    def forward(self, ids: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        return self.dense(torch.cat([self.deep(ids).flatten(1), numbers], 1)) + self.wide(ids).sum(
            1
        )


def auc_of(mode: str, steps: int, size: int, rate: float) -> float | None:
    """Train in ``mode``; the AUC of worker 0."""
    fleet.init(is_collective=False)
    torch.manual_seed(0)
    net: Any = Net()
    strategy = fleet.DistributedStrategy()
    for name, value in MODES[mode].items():
        setattr(strategy, name, value)
    optimizer = fleet.distributed_optimizer(torch.optim.Adagrad(net.parameters(), rate), strategy)
    net = fleet.distributed_model(net)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        return None
    fleet.init_worker()
    source = clicks.Clicks(seed=fleet.worker_index())
    for step in range(steps):
        ids, numbers, clicked = (torch.from_numpy(v) for v in source.batch(size, step))
        loss = torch.nn.functional.binary_cross_entropy_with_logits(net(ids, numbers), clicked)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    fleet.barrier_worker()
    net.eval()
    ids, numbers, clicked = clicks.Clicks(seed=1000).batch(20000, 0)
    with torch.no_grad():
        scores = net(torch.from_numpy(ids), torch.from_numpy(numbers)).numpy()
    fleet.barrier_worker()
    fleet.stop_worker()
    return clicks.auc(scores, clicked)
