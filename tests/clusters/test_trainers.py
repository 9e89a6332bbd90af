"""Trainers that know torch alone, Hugging Face Accelerate and Lightning Fabric, train the same
numbers with the backend ``argosy`` as with gloo.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

LIMIT_S = 240
WORLD_SIZE = 2

# argv: the backend; what each rank has seen goes into <rank>.json
COMMON = """
import json, sys
import torch, torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

backend = sys.argv[1]
torch.manual_seed(0)
rows = torch.randn(22, 8)  # 22: the last batch of a rank is filled up
data = DataLoader(TensorDataset(rows, rows.sum(1, keepdim=True).tanh()), batch_size=4)
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), 0.02)
losses = []

def tell(parameters, **others):
    found = {"backend": dist.get_backend(), "losses": losses,
             "parameters": [p.detach().flatten().tolist() for p in parameters], **others}
    with open(f"{dist.get_rank()}.json", "w") as file:
        json.dump(found, file)
    dist.destroy_process_group()
"""

# Accelerate names gloo itself where it makes the group for CPUs; it takes one that is there
ACCELERATE = (
    COMMON
    + """
dist.init_process_group(backend)
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list

accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model, optimizer, data = accelerator.prepare(model, optimizer, data)
for epoch in range(3):
    for x, y in data:
        with accelerator.accumulate(model):
            loss = nn.functional.mse_loss(model(x), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        losses.append(accelerator.gather_for_metrics(loss.detach()).tolist())
    if epoch == 1:
        accelerator.save_state("state")
trained = [p.detach().clone() for p in model.parameters()]
accelerator.load_state("state")  # what came after is forgotten
assert not all(map(torch.equal, model.parameters(), trained))
seen = accelerator.gather_for_metrics(torch.cat([model(x) for x, _ in data])).flatten().tolist()
objects = broadcast_object_list([{"of": accelerator.process_index}])
mean = accelerator.reduce(torch.tensor(float(accelerator.process_index)), "mean").item()
tell(trained, seen=seen, objects=objects, mean=mean)
"""
)

FABRIC = (
    COMMON
    + """
from lightning_fabric import Fabric
from lightning_fabric.strategies import DDPStrategy

fabric = Fabric(accelerator="cpu", devices=2, strategy=DDPStrategy(process_group_backend=backend))
fabric.launch()
model, optimizer = fabric.setup(model, optimizer)
data = fabric.setup_dataloaders(data)
for epoch in range(3):
    for number, (x, y) in enumerate(data):
        with fabric.no_backward_sync(model, enabled=number % 2 == 0):
            loss = nn.functional.mse_loss(model(x), y)
            fabric.backward(loss)
        if number % 2:
            fabric.clip_gradients(model, optimizer, max_norm=1.0)
            optimizer.step()
            optimizer.zero_grad()
        losses.append(fabric.all_gather(loss.detach()).tolist())
trained = [p.detach().clone() for p in model.parameters()]
fabric.save("state.ckpt", {"model": model, "optimizer": optimizer})
with torch.no_grad():
    for p in model.parameters():
        p.zero_()
fabric.load("state.ckpt", {"model": model, "optimizer": optimizer})
assert all(map(torch.equal, model.parameters(), trained))
objects = fabric.broadcast({"of": fabric.global_rank}, src=1)
mean = fabric.all_reduce(torch.tensor(float(fabric.global_rank)), reduce_op="mean").item()
tell(trained, objects=objects, mean=mean)
"""
)

FABRIC_SHARDED = (
    COMMON
    + """
from lightning_fabric import Fabric
from lightning_fabric.strategies import ModelParallelStrategy
from torch.distributed.fsdp import fully_shard

def shard(model, mesh):
    for layer in (model[0], model[2]):
        fully_shard(layer, mesh=mesh["data_parallel"])
    return fully_shard(model, mesh=mesh["data_parallel"])

strategy = ModelParallelStrategy(
    shard, data_parallel_size=2, tensor_parallel_size=1, process_group_backend=backend)
fabric = Fabric(accelerator="cpu", devices=2, strategy=strategy)
fabric.launch()
model = fabric.setup(model)
optimizer = fabric.setup_optimizers(torch.optim.Adam(model.parameters(), 0.02))
data = fabric.setup_dataloaders(data)
for epoch in range(3):
    for x, y in data:
        loss = nn.functional.mse_loss(model(x), y)
        fabric.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(fabric.all_gather(loss.detach()).tolist())
tell([p.full_tensor() for p in model.parameters()])
"""
)

SCRIPTS = {
    "accelerate": ACCELERATE,
    "fabric": FABRIC,
    "fabric with a sharded model": FABRIC_SHARDED,
}


def run(folder: Path, script: str, backend: str) -> list[dict[str, Any]]:
    """What each rank has told."""
    folder.mkdir()
    (folder / "train.py").write_text(script)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
            *("--nproc_per_node", str(WORLD_SIZE), "train.py", backend),
        ],
        cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1", "HOME": str(folder)}, text=True,
        timeout=LIMIT_S, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(WORLD_SIZE)]


@pytest.mark.parametrize("trainer", SCRIPTS)
def test_it_trains_the_numbers_of_gloo(tmp_path, trainer):
    ours = run(tmp_path / "argosy", SCRIPTS[trainer], "argosy")
    theirs = run(tmp_path / "gloo", SCRIPTS[trainer], "gloo")
    assert ours[0]["parameters"] == ours[1]["parameters"]
    first, last = (sum(ours[0]["losses"][at]) for at in (0, -1))
    assert last < first
    for rank in range(WORLD_SIZE):
        assert ours[rank].pop("backend") == "argosy"
        assert theirs[rank].pop("backend") == "gloo"
        # two numbers have one sum in any order, so that the bits are the same
        assert ours[rank] == theirs[rank]
    assert not os.listdir("/dev/shm")
