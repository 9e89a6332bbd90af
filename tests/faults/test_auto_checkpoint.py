"""A rank dies in the middle of training: the launcher starts the job again, and it ends as if
nothing had happened.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from support.launcher import Launcher, script

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
sampler = paddle.io.DistributedBatchSampler(data, 2, shuffle=True)
loader = paddle.io.DataLoader(data, batch_sampler=sampler)
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


DEADLINE_S = 100.0


def run(folder, killed_at=-1, max_restart=1, **variables):
    """Train in ``folder``; returns the exit code and what the launcher said."""
    name = script(folder, f"KILLED_AT = {killed_at}\n" + TRAIN)
    launcher = Launcher(
        folder, "--nproc_per_node", "2", "--max_restart", str(max_restart), name, **variables
    )
    try:
        return launcher.wait(DEADLINE_S), launcher.stderr
    finally:
        launcher.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a run without a fault."""
    folder = tmp_path_factory.mktemp("whole")
    code, said = run(folder)
    assert code == 0, said
    return folder


def lines(folder, rank):
    return [json.loads(line) for line in (folder / f"log.{rank}").read_text().splitlines()]


def final(folder, rank):
    with np.load(folder / f"final.{rank}.npz") as arrays:
        return [arrays[name] for name in arrays.files]


def assert_as_if_nothing_had_happened(whole, parts, resumed_at):
    for rank in (0, 1):
        expected, found = lines(whole, rank), lines(parts, rank)
        assert sorted({step for step, _, _ in expected}) == list(range(12))
        again = next(k for k in range(1, len(found)) if found[k][0] <= found[k - 1][0])
        assert found[:again] == expected[:again]
        assert found[again:] == expected[resumed_at:]
        for a, b in zip(final(whole, rank), final(parts, rank), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.attack("a rank killed between two checkpoints")
def test_a_rank_is_killed(whole, tmp_path):
    """In the second epoch, between two checkpoints."""
    code, said = run(tmp_path, killed_at=10)
    assert code == 0, said
    assert (tmp_path / "killed").exists()
    assert_as_if_nothing_had_happened(whole, tmp_path, 8)
    assert sorted(p.name for p in (tmp_path / "ckpt").iterdir()) == [
        "step-0000000008",
        "step-0000000012",
    ]


@pytest.mark.attack("a job killed while it saves")
@pytest.mark.parametrize(
    ("point", "resumed_at"), [("checkpoint.file:2", 4), ("checkpoint.rename:2", 4)]
)
def test_the_job_dies_while_it_saves(whole, tmp_path, point, resumed_at):
    """Killed with the files of the second checkpoint written, and then with everything but its
    name: the first one counts.
    """
    assert run(tmp_path, max_restart=0, ARGOSY_FAULT=point)[0] != 0
    assert sorted(p.name for p in (tmp_path / "ckpt").iterdir()) == [
        ".step-0000000008.writing",
        "step-0000000004",
    ]
    code, said = run(tmp_path)
    assert code == 0, said
    assert_as_if_nothing_had_happened(whole, tmp_path, resumed_at)
    assert not list((tmp_path / "ckpt").glob(".*"))


@pytest.mark.attack(
    "the newest checkpoint of a run of two ranks is damaged: both go on from the one before"
)
@pytest.mark.parametrize("name", ["rank-00001.state", "manifest.json"])
def test_a_damaged_checkpoint_gives_way_on_all_ranks(whole, tmp_path, name):
    assert run(tmp_path, killed_at=10, max_restart=0)[0] != 0
    path = tmp_path / "ckpt" / "step-0000000008" / name
    data = path.read_bytes()
    path.write_bytes(data[:40] + bytes([data[40] ^ 4]) + data[41:])
    code, said = run(tmp_path)
    assert code == 0, said
    assert_as_if_nothing_had_happened(whole, tmp_path, 4)
    assert "leaving out step 8" in (tmp_path / "log" / "workerlog.0").read_text()
