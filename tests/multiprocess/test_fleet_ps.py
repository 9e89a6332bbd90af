"""Fleet with parameter servers, dygraph and plain PyTorch: the launcher starts servers and workers
that run one script.
"""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from support.launcher import Launcher, script

# Both models: an embedding that is used twice, one that is not shared, and a dense part.
# ``batch(worker, step)`` is what a worker sees.
COMMON = """
import json
import numpy as np
import torch

NUM_IDS, STEPS = 20, 6

def batch(worker, step):
    rng = np.random.default_rng((worker, step))
    return rng.integers(0, NUM_IDS, (8, 2)), rng.integers(0, NUM_IDS, (8,)), rng.normal(size=(8,
        1)).astype("float32")

def weights():
    rng = np.random.default_rng(9)
    return {k: rng.normal(size=s).astype("float32") * 0.5 for k, s in (("a", (NUM_IDS, 3)), ("b",
        (NUM_IDS, 3)), ("w", (9, 1)))}
"""
PADDLE = (
    COMMON
    + """
import paddle
import paddle.distributed.fleet as fleet

class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.a = paddle.nn.Embedding(NUM_IDS, 3, sparse=True)
        self.b = paddle.nn.Embedding(NUM_IDS, 3, sparse=True)
        self.fc = paddle.nn.Linear(9, 1)
        first = weights()
        self.a.weight.set_value(first["a"])
        self.b.weight.set_value(first["b"])
        self.fc.weight.set_value(first["w"])

    def forward(self, pair, single):
        parts = [self.a(pair).flatten(1), self.b(single)]
        return self.fc(paddle.concat(parts, axis=1))

def make(net):
    return eval(OPTIMIZER)

def loss_of(net, worker, step):
    pair, single, y = (paddle.to_tensor(v) for v in batch(worker, step))
    return ((net(pair, single) - y) ** 2).mean()

def values(net):
    ids = paddle.arange(NUM_IDS)
    net.eval()
    return [v.numpy().tolist() for v in (net.a(ids), net.b(ids), net.fc.weight, net.fc.bias)]
"""
)
TORCH = (
    COMMON
    + """
import paddle.distributed.fleet as fleet

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Embedding(NUM_IDS, 3, sparse=True)
        self.b = torch.nn.EmbeddingBag(NUM_IDS, 3, mode="sum")
        self.fc = torch.nn.Linear(9, 1)
        first = weights()
        with torch.no_grad():
            self.a.weight.copy_(torch.from_numpy(first["a"]))
            self.b.weight.copy_(torch.from_numpy(first["b"]))
            self.fc.weight.copy_(torch.from_numpy(first["w"]).T)
            self.fc.bias.zero_()

    def forward(self, pair, single):
        return self.fc(torch.cat([self.a(pair).flatten(1), self.b(single[:, None])], 1))

def make(net):
    return eval(OPTIMIZER)

def loss_of(net, worker, step):
    pair, single, y = (torch.from_numpy(v) for v in batch(worker, step))
    return ((net(pair, single) - y) ** 2).mean()

def values(net):
    ids = torch.arange(NUM_IDS)
    net.eval()
    with torch.no_grad():
        return [v.detach().numpy().tolist() for v in (net.a(ids), net.b(ids[:, None]),
            net.fc.weight.T, net.fc.bias)]
"""
)
JOB = """
fleet.init(is_collective=False)
together = []
if SAVES:
    together = [fleet.util.all_reduce([1], "sum", "all").tolist(),
        fleet.util.all_gather(fleet.is_server(), "all")]
    if fleet.is_server():
        assert fleet.util.all_reduce([fleet.server_index()], "max", "server").tolist() == [1]
        fleet.util.barrier("server")
net = Net()
strategy = fleet.DistributedStrategy()
strategy.a_sync = MODE != "sync"
if MODE == "geo":
    strategy.a_sync_configs = {"k_steps": 2}
optimizer = fleet.distributed_optimizer(make(net), strategy)
net = fleet.distributed_model(net)
if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
else:
    fleet.init_worker()
    losses = []
    for step in range(STEPS):
        loss = loss_of(net, fleet.worker_index(), step)
        (optimizer.clear_grad if hasattr(optimizer, "clear_grad") else optimizer.zero_grad)()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    fleet.barrier_worker()
    json.dump([losses, values(net)], open(f"result.{fleet.worker_index()}", "w"))
    fleet.barrier_worker()
    if SAVES:
        state = net.state_dict()
        json.dump([together, {k: v.numpy().tolist() for k, v in state.items()}], open("state", "w"))
        fleet.save_persistables(None, "saved")
    fleet.barrier_worker()
    fleet.stop_worker()
"""
ALONE = """
net = Net()
optimizer = make(net)
losses = []
for step in range(STEPS):
    each = [loss_of(net, worker, step) for worker in range(2)]
    (sum(each) / 2).backward()
    optimizer.step()
    (optimizer.clear_grad if hasattr(optimizer, "clear_grad") else optimizer.zero_grad)()
    losses.append([float(loss.detach()) for loss in each])
import os
if not os.path.exists("alone"):
    json.dump([losses, values(net)], open("alone", "w"))
"""


@pytest.fixture
def launch(tmp_path):
    started = []

    def start(*argv, **options):
        started.append(Launcher(tmp_path, *argv, **options))
        return started[-1]

    yield start
    for launcher in started:
        launcher.close()


def run(tmp_path, launch, model, optimizer, mode, num_servers=2, num_workers=2, saves=False):
    head = f"OPTIMIZER, MODE, SAVES = {optimizer!r}, {mode!r}, {saves!r}\n"
    name = script(tmp_path, head + model + JOB)
    flags = ["--tls"] if saves else []
    launcher = launch(
        "--server_num", str(num_servers), "--worker_num", str(num_workers), *flags, name
    )
    assert launcher.wait(100) == 0, launcher.stderr + launcher.stdout
    return [json.loads((tmp_path / f"result.{w}").read_text()) for w in range(num_workers)]


def alone(tmp_path, launch, model, optimizer):
    name = script(tmp_path, f"OPTIMIZER = {optimizer!r}\n" + model + ALONE, "alone.py")
    assert launch(name).wait(100) == 0
    return json.loads((tmp_path / "alone").read_text())


PADDLE_SGD = "paddle.optimizer.SGD(0.1, parameters=net.parameters())"
PADDLE_ADAGRAD = (
    "paddle.optimizer.Adagrad(0.1, parameters=net.parameters(), initial_accumulator_value=0.1)"
)
TORCH_ADAM = "torch.optim.Adam(net.parameters(), 0.05)"
TORCH_SGD = "torch.optim.SGD(net.parameters(), 0.1)"


@pytest.mark.parametrize(
    ("model", "optimizer"),
    [(PADDLE, PADDLE_ADAGRAD), (TORCH, TORCH_SGD)],
    ids=["adagrad", "torch"],
)
def test_sync_equals_one_process_on_all_batches(tmp_path, launch, model, optimizer):
    losses, values = alone(tmp_path, launch, model, optimizer)
    results = run(tmp_path, launch, model, optimizer, "sync")
    for worker, (own, seen) in enumerate(results):
        np.testing.assert_allclose(own, np.array(losses)[:, worker], atol=1e-5)
        for ours, theirs in zip(seen, values, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize(
    ("model", "optimizer", "mode"),
    [
        (PADDLE, PADDLE_SGD, "geo"),
        (TORCH, TORCH_ADAM, "async"),
    ],
    ids=["paddle-geo", "torch-async"],
)
def test_other_modes_train(tmp_path, launch, model, optimizer, mode):
    results = run(tmp_path, launch, model, optimizer, mode, num_servers=1)
    first = np.random.default_rng(9).normal(size=(20, 3)).astype("float32") * 0.5
    for _, (rows, *_) in results:
        assert 0.01 < np.abs(np.array(rows) - first).max() < 10


@pytest.mark.skipif(shutil.which("openssl") is None, reason="--tls makes certificates with openssl")
def test_encrypted_job_in_which_all_talk_saves_its_tables(tmp_path, launch):
    import pyarrow.parquet as parquet

    [(_, (rows, *_))] = run(tmp_path, launch, PADDLE, PADDLE_SGD, "sync", num_workers=1, saves=True)
    names = sorted(p.name for p in (tmp_path / "saved").iterdir())
    assert names[:2] == ["dense", "embedding_0.w_0"]
    table = parquet.read_table(tmp_path / "saved" / "embedding_0.w_0").to_pydict()
    saved = dict(zip(table["id"], table["value"], strict=True))
    np.testing.assert_allclose([saved[i] for i in range(20)], rows, atol=1e-6)
    together, state = json.loads((tmp_path / "state").read_text())
    assert together == [[3], [False, True, True]]
    np.testing.assert_array_equal(state["a.weight"], rows)
    assert sorted(state) == ["a.weight", "b.weight", "fc.bias", "fc.weight"]
