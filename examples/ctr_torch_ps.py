"""fleetrun --server_num 1 --worker_num 2 examples/ctr_torch_ps.py

A plain PyTorch click model whose embedding lives on a parameter server: the two calls of fleet turn
``EmbeddingBag`` into a table there, and ``optimizer.step()`` pushes gradients instead of changing
weights. Started again, it goes on from its last checkpoint. With ``--sync`` workers wait for each
other in each step, and two runs give the same bits.
"""

from __future__ import annotations

import argparse
import time

import torch
from torch import nn

import clicks
import paddle.distributed.fleet as fleet


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Embedding(clicks.NUM_SLOTS * clicks.NUM_IDS, 8, sparse=True)
        nn.init.normal_(self.rows.weight, std=0.05)
        self.deep = nn.Sequential(
            nn.Linear(clicks.NUM_SLOTS * 8 + clicks.NUM_NUMBERS, 64), nn.ReLU(), nn.Linear(64, 1)
        )

    def forward(self, ids: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        return self.deep(torch.cat([self.rows(ids).flatten(1), numbers], 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[2])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--sync", action="store_true")
    parser.add_argument("--checkpoints", default="checkpoints/ctr_torch_ps", help="their folder")
    args = parser.parse_args()
    fleet.init(is_collective=False)
    torch.manual_seed(0)
    model = Net()
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = not args.sync
    strategy.a_sync_configs = {"send_queue_size": 2}
    optimizer = fleet.distributed_optimizer(torch.optim.Adam(model.parameters(), 3e-3), strategy)
    model = fleet.distributed_model(model)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        return
    fleet.init_worker()
    source, start = clicks.Clicks(seed=fleet.worker_index()), time.perf_counter()
    run = fleet.auto_checkpoint(args.checkpoints, 20, model=model, optimizer=optimizer)
    for step in run.steps(args.steps):
        ids, numbers, clicked = (torch.from_numpy(v) for v in source.batch(args.batch, step))
        loss = nn.functional.binary_cross_entropy_with_logits(model(ids, numbers), clicked)
        fleet.log(step + 1, loss=loss)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if fleet.is_first_worker() and (step + 1) % max(1, args.steps // 6) == 0:
            done = step + 1 - (run.resumed_from or 0)
            rate = done * args.batch / (time.perf_counter() - start)
            print(
                f"step {step + 1}: loss {loss.item():.3f}, {rate:,.0f} samples/s of this worker",
                flush=True,
            )
    model.eval()
    ids, numbers, clicked = clicks.Clicks(seed=1000).batch(5000, 0)
    with torch.no_grad():
        scores = model(torch.from_numpy(ids), torch.from_numpy(numbers)).numpy()
    if fleet.is_first_worker():
        print(
            f"AUC on unseen clicks: {clicks.auc(scores, clicked):.3f} (0.5 is guessing)", flush=True
        )
    fleet.stop_worker()


if __name__ == "__main__":
    main()
