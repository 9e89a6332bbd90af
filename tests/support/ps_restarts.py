"""Jobs of Fleet with two servers and two workers, forked from a process that has torch loaded. Who
is killed is started again, as a launcher does.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import secrets
import signal
import sys
import time
import traceback
from multiprocessing.connection import wait
from pathlib import Path

import numpy as np

from support import launcher
from support.ps_jobs import _endpoints

NUM_WORKERS = NUM_SERVERS = 2
DEADLINE_S = 90.0


def _play(function, variables, fault, log):
    for name in [name for name in os.environ if name.startswith(("PADDLE_", "FLAGS_"))]:
        del os.environ[name]
    os.environ.update(variables)
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    import torch

    from argosy.foundation import faultpoint

    torch.set_num_threads(1)
    name, _, count = fault.partition(":")
    faultpoint._plan.name, faultpoint._plan.left = name, int(count or 1)
    code = 1
    try:
        function(Path(variables["FOLDER"]))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


class Job:
    """``function(folder)`` is what every role runs. ``faults``: a fault point by worker."""

    def __init__(self, folder, function, faults=None, may_come_back=True):
        self.folder = folder
        self.function = function
        self.faults = dict(faults or {})
        self.num_starts = {}
        self._may_come_back = may_come_back
        self._running = {}  # (role, number) by process
        folder.mkdir(parents=True)

    def run(self):
        """Until all have ended; the exit codes of the workers' last processes."""
        codes = {}
        with _endpoints(NUM_SERVERS + NUM_WORKERS) as found:
            self._servers, self._workers = found[:NUM_SERVERS], found[NUM_SERVERS:]
            self._token = secrets.token_hex(8)
            try:
                for number in range(NUM_SERVERS):
                    self._start("server", number)
                for number in range(NUM_WORKERS):
                    self._start("worker", number)
                deadline = time.monotonic() + DEADLINE_S
                while self._running:
                    left = deadline - time.monotonic()
                    ended = wait([p.sentinel for p in self._running], left)
                    assert ended, (
                        f"the job does not end: {list(self._running.values())}\n{self.said()}"
                    )
                    for process in [p for p in self._running if p.sentinel in ended]:
                        role, number = self._running.pop(process)
                        process.join()
                        code = process.exitcode
                        process.close()
                        if role == "worker" and code == -signal.SIGKILL and self._may_come_back:
                            self._start(role, number)
                        elif role == "worker":
                            codes[number] = code
                            if code:
                                return codes
            finally:
                for process in self._running:
                    process.kill()
                    process.join()
                    process.close()
        return codes

    def said(self):
        """What the roles wrote to stderr."""
        return "\n".join(
            f"--- {path.name}\n{path.read_text()}" for path in sorted(self.folder.glob("*.err"))
        )

    def steps(self, number):
        """What a worker has noted, in order."""
        path = self.folder / f"steps.{number}"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def _start(self, role, number):
        key = (role, number)
        self.num_starts[key] = self.num_starts.get(key, 0) + 1
        assert self.num_starts[key] < 8, f"{key} dies again and again\n{self.said()}"
        endpoint = (self._servers if role == "server" else self._workers)[number]
        variables = {
            "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(self._servers),
            "PADDLE_TRAINER_ENDPOINTS": ",".join(self._workers),
            "PADDLE_TRAINERS_NUM": str(NUM_WORKERS),
            "POD_IP": "127.0.0.1",
            "ARGOSY_TOKEN": self._token,
            "TRAINING_ROLE": "PSERVER" if role == "server" else "TRAINER",
            "PADDLE_TRAINER_ID": str(number),
            "PADDLE_PORT": endpoint.split(":")[1],
            "ARGOSY_PS_PATIENCE": "60",
            "FOLDER": str(self.folder),
        }
        folder = str(self.folder / f"{role}-{number}")
        variables["ARGOSY_PS_FOLDER" if role == "server" else "ARGOSY_PS_PROGRESS"] = folder
        fault = self.faults.pop(number, "") if role == "worker" else ""
        log = str(self.folder / f"{role}.{number}.err")
        process = launcher._context.Process(
            target=_play, args=(self.function, variables, fault, log)
        )
        process.start()
        self._running[process] = key


# -- what workers do
# ------------------------------------------------------------------------------------------------


def note(folder, number, *what):
    """A line of the worker's log."""
    with open(folder / f"steps.{number}", "a") as file:
        file.write(json.dumps(what) + "\n")


def seed_all(number):
    import paddle

    random.seed(number)
    np.random.seed(number)
    paddle.seed(number)


def served(fleet):
    """Serve to the end, if this is a server; whether it was."""
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
    return fleet.is_server()


def finish(folder, fleet, number, arrays):
    """Keep what this worker ends with; worker 0 has the tables saved."""
    with open(folder / f"final.{number}.new", "wb") as file:
        np.savez(file, **arrays)
    os.replace(folder / f"final.{number}.new", folder / f"final.{number}.npz")
    if number == 0:
        fleet.save_persistables(None, str(folder / "saved"))
    fleet.stop_worker()


def write_data(folder, number, num_samples=22):
    """Lines of two ids and a label, different for each worker."""
    path = folder / f"data.{number}"
    if not path.exists():
        rng = np.random.default_rng(number)
        rows = [
            f"1 {rng.integers(40)} 1 {rng.integers(25)} 1 {rng.normal():.4f}"
            for _ in range(num_samples)
        ]
        fresh = folder / f"data.{number}.{os.getpid()}"
        fresh.write_text("\n".join(rows) + "\n")
        fresh.rename(path)
    return str(path)


def train_dataset(folder, mode="sync", num_passes=2, every=0, on_batch=lambda step: None):
    """Two shuffled passes over a dataset of a program with two tables, batch norm and dropout; with
    ``every``, a checkpoint after as many batches. ``on_batch`` is called before each.
    """
    import torch

    import paddle
    import paddle.distributed.fleet as fleet

    paddle.enable_static()
    fleet.init(is_collective=False)
    number = fleet.worker_index() if fleet.is_worker() else 9
    seed_all(number)
    a, b = (paddle.static.data(n, [None, 1], "int64") for n in "ab")
    y = paddle.static.data("y", [None, 1], "float32")
    parts = [
        paddle.static.nn.sparse_embedding(
            ids, [50, dim], param_attr=paddle.ParamAttr(name=name)
        ).reshape([-1, dim])
        for ids, dim, name in ((a, 4, "first"), (b, 3, "second"))
    ]
    weight = np.random.default_rng(1).normal(size=(7, 5)).astype("float32") * 0.4
    hidden = paddle.static.nn.fc(
        paddle.concat(parts, axis=1),
        5,
        weight_attr=paddle.nn.initializer.Assign(weight),
        name="one",
    )
    hidden = paddle.nn.functional.dropout(paddle.static.nn.batch_norm(hidden), 0.3)
    out = paddle.static.nn.fc(
        hidden, 1, weight_attr=paddle.nn.initializer.Constant(0.3), name="two"
    )
    loss = ((out - y) ** 2).mean()
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = mode != "sync"
    if mode == "half_async":
        strategy.a_sync_configs = {"half_async": True}
    rate = paddle.optimizer.lr.StepDecay(0.1, 1, 0.5)
    fleet.distributed_optimizer(paddle.optimizer.Adam(rate), strategy).minimize(loss)
    exe = paddle.static.Executor(paddle.CPUPlace())
    if served(fleet):
        return
    exe.run(paddle.static.default_startup_program())
    fleet.init_worker()
    main = paddle.static.default_main_program()
    dataset = paddle.distributed.InMemoryDataset()
    dataset.init(batch_size=4, use_var=[a, b, y])
    dataset.set_filelist([write_data(folder, number)])
    dataset.load_into_memory()
    run = exe.run
    if every:
        loop = fleet.auto_checkpoint(str(folder / "ckpt"), every, model=main)

    def noting(program, feed=None, **kwargs):
        on_batch(loop.num_steps if every else None)
        note(folder, number, *(np.asarray(feed[n]).reshape(-1).tolist() for n in "aby"))
        return run(program, feed=feed, **kwargs)

    exe.run = noting
    for _ in range(num_passes):
        dataset.local_shuffle()
        exe.train_from_dataset(main, dataset)
        rate.step()
    scope = paddle.static.global_scope()
    kept = [
        v.name for v in main.list_vars() if v.persistable and scope.find_var(v.name) is not None
    ]
    own = {
        name: np.array(scope.find_var(name).get_tensor()) for name in kept if "batch_norm" in name
    }
    assert len(own) == 4
    finish(folder, fleet, number, {**own, "random": torch.rand(3).numpy()})


class Samples:
    """Samples that depend on the generators, as augmented ones do."""

    def __init__(self, number, size=11):
        self.number, self.size = number, size

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        noise = np.random.rand() + random.random()
        return np.int64([(7 * i + self.number) % 30, i % 11]), np.float32([noise])


def train_loop(folder, mode="sync", every=4, epochs=2, kills_job_at=None):
    """Epochs of ``auto_checkpoint``: a model with two embeddings, batch norm, dropout and a
    scheduler.
    """
    import torch

    import paddle
    import paddle.distributed.fleet as fleet

    strategy = fleet.DistributedStrategy()
    strategy.a_sync = mode != "sync"
    fleet.init(is_collective=False, strategy=strategy)
    number = fleet.worker_index() if fleet.is_worker() else 9
    seed_all(5)

    class Net(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.first = paddle.nn.Embedding(30, 4, sparse=True)
            self.second = paddle.nn.Embedding(11, 3, sparse=True)
            self.norm = paddle.nn.BatchNorm1D(8)
            self.out = paddle.nn.Sequential(
                paddle.nn.Linear(8, 6), paddle.nn.Dropout(0.3), paddle.nn.Linear(6, 1)
            )

        def forward(self, ids, noise):
            rows = paddle.concat([self.first(ids[:, 0]), self.second(ids[:, 1]), noise], axis=1)
            return self.out(self.norm(rows))

    model = Net()
    rate = paddle.optimizer.lr.StepDecay(0.1, 1, 0.5)
    optimizer = paddle.optimizer.Adam(rate, parameters=model.parameters())
    optimizer = fleet.distributed_optimizer(optimizer)
    model = fleet.distributed_model(model)
    if served(fleet):
        return
    fleet.init_worker()
    seed_all(number)
    loader = paddle.io.DataLoader(Samples(number), batch_size=2, shuffle=True, drop_last=False)
    run = fleet.auto_checkpoint(
        str(folder / "ckpt"), every, model=model, optimizer=optimizer, loader=loader
    )
    for _ in run.epochs(epochs):
        for ids, noise in run.batches():
            if kills_job_at == run.num_steps:
                os._exit(7)
            note(folder, number, run.num_steps, ids.numpy().tolist(), noise.numpy().tolist())
            loss = (model(ids, noise) ** 2).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        rate.step()
    own = {name: parameter.numpy() for name, parameter in model.named_parameters()}
    assert {"norm._mean", "norm._variance"} < own.keys()
    finish(
        folder, fleet, number, {**own, "random": torch.rand(3).numpy(), "rate": np.float64(rate())}
    )


def train_by_hand(folder, mode="sync", num_steps=6, grouped=False):
    """A plain loop, which tells nobody where it is; with ``grouped`` one that does, after the
    workers have met.
    """
    import paddle
    import paddle.distributed.fleet as fleet

    strategy = fleet.DistributedStrategy()
    strategy.a_sync = mode != "sync"
    fleet.init(is_collective=False, strategy=strategy)
    model = paddle.nn.Sequential(paddle.nn.Linear(2, 1))
    optimizer = fleet.distributed_optimizer(
        paddle.optimizer.SGD(0.1, parameters=model.parameters())
    )
    model = fleet.distributed_model(model)
    if served(fleet):
        return
    fleet.init_worker()
    if grouped:
        fleet.barrier_worker()
    steps = (
        fleet.auto_checkpoint(str(folder / "ckpt"), 100, model=model, optimizer=optimizer).steps(
            num_steps
        )
        if grouped
        else range(num_steps)
    )
    for step in steps:
        note(folder, fleet.worker_index(), step)
        model(paddle.ones([1, 2])).mean().backward()
        optimizer.step()
        optimizer.clear_grad()
    fleet.stop_worker()


def tables_of(folder):
    """All that servers saved: rows by table and id, dense values by parameter and state."""
    import pyarrow.parquet as parquet

    found = {}
    for path in sorted((folder / "saved").glob("*/*.parquet")):
        for row in parquet.read_table(path).to_pylist():
            if "id" in row:
                found[path.parent.name, row["id"]] = (row["value"], row.get("state"))
            else:
                found[row["parameter"], row["state"], row["start"]] = row["value"]
    return found


def final_of(folder, number):
    with contextlib.closing(np.load(folder / f"final.{number}.npz")) as arrays:
        return {name: arrays[name].tolist() for name in arrays.files}
