"""fleetrun --nproc_per_node 2 examples/torch_fleet.py    (or: python examples/torch_fleet.py)

A plain PyTorch convolutional network trained with Fleet on drawn digits: batch norm over all
workers, optimizer state split between them (sharding stage 2), a torch scheduler. Nothing but the
calls of fleet differs from a script for one process. Started again, it goes on from its last
checkpoint.
"""

from __future__ import annotations

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import digits
import paddle.distributed.fleet as fleet


def network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 2 * 2, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[2])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--samples", type=int, default=3000)
    parser.add_argument("--checkpoints", default="checkpoints/torch_fleet", help="their folder")
    args = parser.parse_args()
    strategy = fleet.DistributedStrategy()
    strategy.sync_batch_norm = True
    strategy.sharding = True
    strategy.sharding_configs = {"stage": 2}
    fleet.init(is_collective=True, strategy=strategy)
    rank, workers = fleet.worker_index(), fleet.worker_num()
    torch.manual_seed(0)
    model = fleet.distributed_model(network())
    optimizer = fleet.distributed_optimizer(torch.optim.AdamW(model.parameters(), 3e-3))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    if rank == 0:
        fleet.print_plan()
    data = TensorDataset(*(torch.from_numpy(part) for part in digits.make(args.samples, seed=0)))
    sampler = DistributedSampler(data, workers, rank, drop_last=True)
    loader = DataLoader(data, batch_size=64, sampler=sampler, drop_last=True)
    run = fleet.auto_checkpoint(
        args.checkpoints, 20, model=model, optimizer=optimizer, lr=schedule, loader=loader
    )
    loss = torch.tensor(torch.nan)
    for epoch in run.epochs(args.epochs):
        sampler.set_epoch(epoch)
        for images, labels in run.batches():
            loss = nn.functional.cross_entropy(model(images), labels)
            fleet.log(run.num_steps, loss=loss)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
        accuracy = evaluate(model)
        if rank == 0:
            print(f"epoch {epoch}  loss {loss.item():.4f}  accuracy {accuracy:.1%}")
    kept = sum(t.numel() for slots in optimizer.state.values() for t in slots.values())
    print(
        f"worker {rank} keeps {kept} numbers of optimizer state for "
        f"{sum(p.numel() for p in model.parameters())} parameters"
    )


@torch.no_grad()
def evaluate(model: nn.Module) -> float:
    """The share of right answers over the samples of all workers."""
    model.eval()
    images, labels = (
        torch.from_numpy(part) for part in digits.make(500, seed=100 + fleet.worker_index())
    )
    right = (model(images).argmax(1) == labels).sum()
    model.train()
    return float(fleet.metrics.acc(right.numpy(), torch.tensor(len(labels)).numpy()))


if __name__ == "__main__":
    main()
