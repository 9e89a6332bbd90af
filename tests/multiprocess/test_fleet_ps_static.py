"""Fleet with parameter servers and static programs: lookups pull, gradients are pushed, and the
numbers are those of one process.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from support.launcher import Launcher, script

# A table that two slots share, one of its own through sparse_embedding, and a dense part.
PROGRAM = """
import json
import numpy as np
import paddle
import paddle.distributed.fleet as fleet

STEPS = 6
paddle.enable_static()

def batch(worker, step):
    rng = np.random.default_rng((worker, step))
    return {
        "a": rng.integers(0, 30, (8, 1)), "b": rng.integers(0, 30, (8, 1)), "c": rng.integers(0,
            10**12, (8, 1)) // 10**11,
        "y": rng.normal(size=(8, 1)).astype("float32"),
    }

def build():
    a, b, c = (paddle.static.data(n, [None, 1], "int64") for n in "abc")
    y = paddle.static.data("y", [None, 1], "float32")
    shared = paddle.ParamAttr(name="shared", initializer=paddle.nn.initializer.Constant(0.1))
    own = paddle.ParamAttr(name="own", initializer=paddle.nn.initializer.Constant(-0.2))
    parts = [paddle.static.nn.embedding(v, [30, 4], is_sparse=True, param_attr=shared).reshape([-1,
        4]) for v in (a, b)]
    parts.append(paddle.static.nn.sparse_embedding(c, [30, 3], param_attr=own))
    weight = np.random.default_rng(1).normal(size=(11, 5)).astype("float32") * 0.4
    hidden = paddle.static.nn.fc(paddle.concat(parts, axis=1), 5, activation="tanh",
        weight_attr=paddle.nn.initializer.Assign(weight))
    out = paddle.static.nn.fc(hidden, 1, weight_attr=paddle.nn.initializer.Constant(0.3))
    return ((out - y) ** 2).mean()

def run(exe, program, loss, feed):
    [value] = exe.run(program, feed=feed, fetch_list=[loss])
    return float(value)

fleet.init(is_collective=False)
loss = build()
test = paddle.static.default_main_program().clone(for_test=True)
strategy = fleet.DistributedStrategy()
strategy.a_sync = MODE != "sync"
if MODE == "geo":
    strategy.a_sync_configs = {"k_steps": 2}
elif MODE == "async":
    # or the few steps are over before the first values come back
    strategy.a_sync_configs = {"send_queue_size": 1}
rate = paddle.optimizer.lr.StepDecay(0.2, 3, 0.5) if SCHEDULED else 0.2
fleet.distributed_optimizer(eval(OPTIMIZER), strategy).minimize(loss)
exe = paddle.static.Executor(paddle.CPUPlace())
if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
else:
    if FIRST:
        fleet.init_worker()
    exe.run(paddle.static.default_startup_program())
    if not FIRST:
        fleet.init_worker()
    main, losses = paddle.static.default_main_program(), []
    workers = range(2) if fleet.server_num() == 0 else [fleet.worker_index()]
    for step in range(STEPS):
        feeds = [batch(w, step) for w in workers]
        losses.append(run(exe, main, loss, {k: np.concatenate([f[k] for f in feeds])
            for k in feeds[0]}))
        if SCHEDULED:
            rate.step()
    if fleet.server_num():
        fleet.barrier_worker()
    for_test = main.clone(for_test=True)
    seen = run(exe, for_test, loss, batch(0, 0))
    scope = paddle.static.global_scope()
    dense = {p.name: np.array(scope.find_var(p.name).get_tensor()).tolist()
        for p in main.all_parameters() if "fc" in p.name}
    name = f"result.{fleet.worker_index()}" if fleet.server_num() else "alone"
    json.dump([losses, seen, dense, [o.type for o in main.global_block().ops]], open(name, "w"))
    if fleet.server_num():
        fleet.barrier_worker()
    fleet.stop_worker()
"""
SGD = "paddle.optimizer.SGD(rate)"
ADAGRAD = "paddle.optimizer.Adagrad(rate, initial_accumulator_value=0.1)"


@pytest.fixture
def launch(tmp_path):
    started = []

    def start(*argv, **options):
        started.append(Launcher(tmp_path, *argv, **options))
        return started[-1]

    yield start
    for launcher in started:
        launcher.close()


def run(tmp_path, launch, optimizer, mode="sync", servers=2, scheduled=False, first=False):
    head = (
        f"OPTIMIZER, MODE, SCHEDULED, FIRST = {optimizer!r}, {mode!r}, {scheduled!r}, {first!r}\n"
    )
    name = script(tmp_path, head + PROGRAM)
    flags = ("--server_num", str(servers), "--worker_num", "2") if servers else ()
    launcher = launch(*flags, name)
    assert launcher.wait(100) == 0, launcher.stderr + launcher.stdout
    found = [tmp_path / "alone"] if not servers else [tmp_path / f"result.{w}" for w in range(2)]
    return [json.loads(path.read_text()) for path in found]


@pytest.mark.parametrize(
    ("optimizer", "options"), [(ADAGRAD, {"first": True, "scheduled": True})], ids=["adagrad"]
)
def test_sync_equals_one_process_on_all_batches(tmp_path, launch, optimizer, options):
    [(losses, seen, dense, types)] = run(tmp_path, launch, optimizer, servers=0, **options)
    assert "sgd" in types or "adagrad" in types
    results = run(tmp_path, launch, optimizer, **options)
    np.testing.assert_allclose(np.mean([r[0] for r in results], axis=0), losses, atol=1e-5)
    for _, own_seen, own_dense, own_types in results:
        assert own_seen == pytest.approx(seen, abs=1e-5)
        for name, value in dense.items():
            np.testing.assert_allclose(own_dense[name], value, atol=1e-5, err_msg=name)
        assert own_types.count("ps_pull") == 2  # one for each table
        assert own_types[-1] == "send_barrier"
        assert not {"sgd", "adagrad"}.intersection(own_types)


@pytest.mark.parametrize("mode", ["geo"])
def test_other_modes_train(tmp_path, launch, mode):
    for losses, _, dense, types in run(tmp_path, launch, SGD, mode, servers=1):
        assert np.isfinite(losses).all()
        assert abs(np.array(dense["fc_1.w_0"]) - 0.3).max() > 1e-3
        assert ("sgd" in types) == (mode == "geo")  # geo trains dense parameters in the worker
