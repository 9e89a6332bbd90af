"""Parameter-server jobs as a shell loop starts them: no launcher, no token, only the variables that
Paddle's scripts set.
"""

from __future__ import annotations

import json
import os
import runpy
import sys

import pytest

from argosy.foundation.endpoints import bind_listener
from support.launcher import _context, script

# sequences of ids and labels from files; what a run makes of them is written to result.<worker>
TRAIN = """
import json
import numpy as np
import paddle
import paddle.distributed.fleet as fleet

paddle.enable_static()
fleet.init(is_collective=False)
ids = paddle.static.data("ids", [None, 1], "int64", lod_level=1)
label = paddle.static.data("label", [None, 1], "int64")
constant = paddle.nn.initializer.Constant
table = paddle.ParamAttr(name="emb", initializer=constant(0.1))
pooled = paddle.static.nn.sequence_pool(paddle.static.nn.sparse_embedding(ids, [50, 2],
    param_attr=table), "sum")
score = paddle.nn.functional.sigmoid(paddle.static.nn.fc(pooled, 1, weight_attr=constant(0.2)))
loss = paddle.nn.functional.binary_cross_entropy(score, label.astype("float32"))
_, _, [_, _, positive, negative] = paddle.static.auc(paddle.concat([1 - score, score], axis=1),
    label)
main = paddle.static.default_main_program()
forward = main.clone(for_test=True)
strategy = fleet.DistributedStrategy()
strategy.a_sync = True
strategy.a_sync_configs = {"half_async": True}
fleet.distributed_optimizer(paddle.optimizer.SGD(0.5), strategy).minimize(loss)
if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
    sys.exit()
exe = paddle.static.Executor()
exe.run(paddle.static.default_startup_program())
fleet.init_worker()
number = fleet.worker_index()


def dataset(kind, name, lines):
    with open(name, "w") as file:
        file.writelines(f"{line}\\n" for line in lines)
    made = kind()
    made.init(batch_size=2, use_var=[ids, label])
    made.set_filelist([name])
    return made


def rows():
    return sum(r["rows"]
        for r in fleet.fleet.servers.runtime.status()
        if r["table"] == "emb") if fleet.server_num() else 0


samples = [f"2 {10 * number + i} {10 * number + i + 1} 1 {i % 2}" for i in range(1, 9)]
memory = dataset(paddle.distributed.InMemoryDataset, f"train.{number}", samples)
memory.load_into_memory()
memory.global_shuffle(fleet)
held = memory.get_memory_data_size()
exe.train_from_dataset(main, memory, fetch_list=[loss], fetch_info=["loss"], print_period=2)
fleet.barrier_worker()
before = rows()
auc = fleet.metrics.auc(positive, negative)
counted = float(fleet.metrics.sum(positive).sum() + fleet.metrics.sum(negative).sum())
if fleet.server_num():
    strange = dataset(paddle.distributed.QueueDataset, f"infer.{number}",
        [f"1 {10**9 + number} 1 1"])
    exe.infer_from_dataset(main, strange, fetch_list=[score], print_period=1)
    fleet.barrier_worker()
result = {
    "held": fleet.util.all_gather(held), "rows": [before, rows()], "auc": auc, "counted": counted,
    "largest": fleet.util.all_reduce([number], "max").tolist(),
}
json.dump(result, open(f"result.{number}", "w"))
fleet.barrier_worker()
fleet.stop_worker()
"""


def _role(folder, name, variables):
    os.chdir(folder)
    for stream, fd in (("out", 1), ("err", 2)):
        os.dup2(
            os.open(
                f"{variables.get('TRAINING_ROLE', 'ALONE')}.{os.getpid()}.{stream}",
                os.O_WRONLY | os.O_CREAT,
            ),
            fd,
        )
    for known in [n for n in os.environ if n.startswith(("PADDLE_", "ARGOSY_", "TRAINING_"))]:
        del os.environ[known]
    os.environ.update(variables)
    sys.argv = [name]
    runpy.run_path(name, run_name="__main__")


@pytest.fixture
def start(tmp_path):
    started = []

    def run(name, **variables):
        process = _context.Process(target=_role, args=(str(tmp_path), name, variables))
        process.start()
        started.append(process)
        return process

    yield run
    for process in started:
        if process.is_alive():
            process.kill()
        process.join()
        process.close()


def output(tmp_path, kind):
    return {p.name: p.read_text() for p in sorted(tmp_path.glob(f"*.{kind}"))}


def test_roles_meet_through_the_servers(tmp_path, start):
    with bind_listener() as first, bind_listener() as second:
        servers = ",".join(f"127.0.0.1:{listener.getsockname()[1]}" for listener in (first, second))
    job = {"PADDLE_PSERVERS_IP_PORT_LIST": servers, "PADDLE_TRAINERS_NUM": "2"}
    name = script(tmp_path, TRAIN)
    processes = [
        start(
            name,
            **job,
            TRAINING_ROLE="PSERVER",
            POD_IP="127.0.0.1",
            PADDLE_PORT=server.split(":")[1],
        )
        for server in servers.split(",")
    ]
    processes += [
        start(name, **job, TRAINING_ROLE="TRAINER", PADDLE_TRAINER_ID=str(i)) for i in range(2)
    ]
    for process in processes[::-1]:
        process.join(110)
        assert process.exitcode == 0, output(tmp_path, "err")
    results = [json.loads((tmp_path / f"result.{i}").read_text()) for i in range(2)]
    assert results[0] == results[1]
    assert sum(results[0]["held"]) == 16
    assert results[0]["rows"] == [18, 18]  # ids 1 to 9 and 11 to 19; inference made none
    assert results[0]["counted"] == 16
    assert results[0]["largest"] == [1]
    assert 0 <= results[0]["auc"] <= 1
    printed = "".join(output(tmp_path, "out").values())
    assert "loss[1]:[" in printed
    assert "sigmoid_0.tmp_0[1]:[" in printed


def test_without_servers_one_process_trains_the_same_model(tmp_path, start):
    name = script(tmp_path, TRAIN)
    process = start(name)
    process.join(110)
    assert process.exitcode == 0, output(tmp_path, "err")
    result = json.loads((tmp_path / "result.0").read_text())
    assert result["held"] == [8]
    assert result["counted"] == 8
