"""A rank dies in the middle of training: the launcher starts the job again, and it ends as if nothing had happened."""

from __future__ import annotations

import json

import numpy as np
import pytest

from multiprocess.launcher import Launcher, script

TRAIN = """
import json, random
import numpy as np
import paddle
import paddle.distributed.fleet as fleet

class Noisy(paddle.io.Dataset):
    def __len__(self):
        return 22

    def __getitem__(self, i):
        return np.float32([i / 22, np.random.rand(), random.random()]), np.int64(i)

fleet.init(is_collective=True)
for seed in (random.seed, np.random.seed):
    seed(rank)
paddle.seed(rank)
model = paddle.nn.Sequential(paddle.nn.Linear(3, 8), paddle.nn.Dropout(0.3), paddle.nn.Linear(8, 1))
lr = paddle.optimizer.lr.StepDecay(0.05, 1)
optimizer = fleet.distributed_optimizer(paddle.optimizer.Adam(lr, parameters=model.parameters()))
model = fleet.distributed_model(model)
data = Noisy()
loader = paddle.io.DataLoader(data, batch_sampler=paddle.io.DistributedBatchSampler(data, 2, shuffle=True))
run = fleet.auto_checkpoint("ckpt", 4, model=model, optimizer=optimizer, loader=loader)
for epoch in run.epochs(2):
    for x, i in run.batches():
        if rank == 1 and run.num_steps == KILLED_AT and not os.path.exists("killed"):
            open("killed", "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        with open(f"log.{rank}", "a") as file:
            file.write(json.dumps([run.num_steps, i.tolist(), float(loss)]) + "\\n")
    lr.step()
np.savez(f"final.{rank}", *[p.numpy() for p in model.parameters()])
"""


@pytest.fixture
def launch():
    started = []

    def start(folder, killed_at, **variables):
        folder.mkdir()
        name = script(folder, f"KILLED_AT = {killed_at}\n" + TRAIN)
        started.append(Launcher(folder, "--nproc_per_node", "2", "--max_restart", "1", name, **variables))
        return started[-1]

    yield start
    for launcher in started:
        launcher.close()


def lines(folder, rank):
    return [json.loads(line) for line in (folder / f"log.{rank}").read_text().splitlines()]


def final(folder, rank):
    with np.load(folder / f"final.{rank}.npz") as arrays:
        return [arrays[name] for name in arrays.files]


def assert_as_if_nothing_had_happened(whole, parts, resumed_at):
    for rank in (0, 1):
        expected, found = lines(whole, rank), lines(parts, rank)
        second = next(k for k in range(1, len(found)) if found[k][0] <= found[k - 1][0])
        assert found[:second] == expected[:second]
        assert found[second:] == expected[resumed_at:]
        for a, b in zip(final(whole, rank), final(parts, rank), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("killed_at", [6, 9])
def test_a_rank_is_killed(tmp_path, launch, killed_at):
    """In the first epoch and in the second, between two checkpoints."""
    whole, parts = launch(tmp_path / "whole", -1), launch(tmp_path / "parts", killed_at)
    assert whole.wait() == 0, whole.stderr
    assert parts.wait() == 0, parts.stderr
    assert_as_if_nothing_had_happened(whole.folder, parts.folder, killed_at // 4 * 4)
    assert sorted(p.name for p in (parts.folder / "ckpt").iterdir()) == ["step-0000000008", "step-0000000012"]
