import dataclasses
import threading

import numpy as np
import pytest
import torch

from argosy.foundation.errors import BadArgument, ServerUnavailable, TableError, UsageError
from argosy.runtime.ps.tables.initial import Initial
from argosy.runtime.ps.tables.rules import Rule
from argosy.runtime.ps.tables.spec import SparseSpec
from argosy.runtime.ps.worker import client as client_module
from argosy.runtime.ps.worker import worker as worker_module
from argosy.runtime.ps.worker.client import Client
from argosy.runtime.ps.worker.placement import place_dense
from argosy.runtime.ps.worker.worker import Mode, Worker
from support.ps_service import TOKEN, in_threads, job

SPEC = SparseSpec(
    "emb", 2, Rule("sgd", 0.1), Initial("uniform", -0.5, 0.5, seed=1), max_rows=1 << 12
)
STEPS = 8
NUM_IDS = 12
RATE = 0.03


def batch(worker, step):
    rng = np.random.default_rng((worker, step))
    return rng.integers(0, NUM_IDS, 6), torch.from_numpy(rng.normal(size=(6, 2)).astype(np.float32))


def model():
    return {"w": torch.full((2, 2), 0.3), "b": torch.full((3,), 0.5)}


def gradients(params, rows, x):
    """Of the mean squared output of a small model."""
    leaves = [p.clone().requires_grad_() for p in (*params.values(), rows)]
    w, b, r = leaves
    loss = (((r * x) @ w + b[:2] + b[2]) ** 2).mean()
    return torch.autograd.grad(loss, leaves), float(loss.detach())


def train(worker, number, start=0, steps=STEPS):
    """``steps`` steps; in ``geo`` with SGD of the worker's own."""
    params = dict(zip(("w", "b"), worker._params, strict=True))
    losses = []
    for step in range(start, start + steps):
        ids, x = batch(number, step)
        unique, inverse = np.unique(ids, return_inverse=True)
        rows = torch.from_numpy(np.array(worker.pull("emb", unique)))
        (dw, db, dr), loss = gradients(params, rows[torch.from_numpy(inverse)], x)
        losses.append(loss)
        worker.push("emb", ids, dr.numpy())
        if worker.mode.trains_locally:
            for param, grad in zip(worker._params, (dw, db), strict=True):
                param.sub_(grad, alpha=RATE)
        worker.end_step([dw, db], RATE)
    return losses


def push(worker, ids, grads):
    """A step in which only rows have gradients."""
    worker.push("emb", ids, grads)
    worker.end_step([torch.zeros(2, 2), torch.zeros(3)], RATE)


def start(services, number, mode, num_workers, folder=None):
    endpoints = [f"127.0.0.1:{s.port}" for s in services]
    worker = Worker(lambda: Client(endpoints, number, TOKEN, 20.0), num_workers, mode, folder)
    params = model() if number == 0 else {k: v + 1 for k, v in model().items()}
    worker.start([SPEC], lambda: params)
    return worker


def run(folder, mode, num_workers=2, num_servers=2):
    with job(folder, num_servers, num_workers, joins=False) as (services, [observer, *_]):

        def work(number):
            worker = start(services, number, mode, num_workers, folder / f"own{number}")
            try:
                losses = train(worker, number)
                worker.flush()
                return losses, [p.clone() for p in worker._params]
            finally:
                worker.close()

        results = in_threads([lambda n=n: work(n) for n in range(num_workers)])
        for result in results:
            if isinstance(result, Exception):
                raise result
        observer._dim_by_table["emb"] = 2
        observer._dense_sizes["dense"] = [0]
        return results, observer.pull("emb", np.arange(NUM_IDS)), observer.pull_dense("dense")


def test_sync_equals_one_process_and_itself(tmp_path):
    results, rows, dense = run(tmp_path / "a", Mode("sync"))
    _, again, dense_again = run(tmp_path / "b", Mode("sync"))
    assert (rows == again).all()
    assert (dense == dense_again).all()
    with job(tmp_path / "c") as (_, [client]):
        client.create_sparse(SPEC, "async")
        table = torch.from_numpy(np.array(client.pull("emb", np.arange(NUM_IDS))))
    params = model()
    for step in range(STEPS):
        total = [torch.zeros_like(t) for t in (*params.values(), table)]
        for number in range(2):
            ids, x = batch(number, step)
            (dw, db, dr), _ = gradients(params, table[ids], x)
            total[0] += dw / 2
            total[1] += db / 2
            total[2].index_add_(0, torch.from_numpy(ids), dr / 2)
        params["w"] -= RATE * total[0]
        params["b"] -= RATE * total[1]
        table -= 0.1 * total[2]
    np.testing.assert_allclose(rows, table, atol=1e-6)
    np.testing.assert_allclose(
        dense, torch.cat([p.reshape(-1) for p in params.values()]), atol=1e-6
    )
    for _, values in results:
        torch.testing.assert_close(values, list(params.values()), atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    "mode",
    [
        Mode("async", queue_size=1),
        Mode("async", queue_size=2, max_merge=2),
        Mode("half_async"),
        Mode("geo", k_steps=2),
    ],
)
def test_other_modes_learn(tmp_path, mode):
    _, rows, dense = run(tmp_path / "job", mode)
    with job(tmp_path / "untrained") as (_, [client]):
        client.create_sparse(SPEC, "async")
        first = client.pull("emb", np.arange(NUM_IDS))

    def loss(rows, params):
        data = [batch(number, step) for number in range(2) for step in range(STEPS)]
        return np.mean(
            [gradients(params, torch.from_numpy(np.array(rows))[ids], x)[1] for ids, x in data]
        )

    after = {
        "w": torch.from_numpy(np.array(dense[:4])).view(2, 2),
        "b": torch.from_numpy(np.array(dense[4:])),
    }
    assert loss(rows, after) < 0.8 * loss(first, model())


@pytest.mark.parametrize("mode", [Mode("sync"), Mode("half_async"), Mode("geo"), Mode("async")])
def test_a_step_is_one_exchange_with_each_server(tmp_path, monkeypatch, mode):
    """Of all tables, dense ones included, beside the pull of rows that the worker has not."""
    asked = []
    send = client_module._Server.send

    def counted(server, op, table, *rest):
        if op != "act":
            asked.append((op, table, server.endpoint))
        send(server, op, table, *rest)

    with job(tmp_path / "servers", num_servers=2, joins=False) as (services, _):
        worker = start(services, 0, mode, 1, tmp_path / "own")
        train(worker, 0, steps=1)
        if worker._sender is not None:
            worker._sender.flush()
        monkeypatch.setattr(client_module._Server, "send", counted)
        train(worker, 0, steps=1)  # with the same ids
        if worker._sender is not None:
            worker._sender.flush()
        worker.close()
        ends = [f"127.0.0.1:{s.port}" for s in services]
        pulls = [] if mode.kind == "geo" else [("pull", "emb", end) for end in ends]
        assert asked == pulls + [("step", ("emb", "dense"), end) for end in ends]


def test_geo_exchanges_differences(tmp_path):
    """One worker alone: its values and the servers' agree after each exchange."""
    with job(tmp_path / "servers", joins=False) as (services, _):
        worker = start(services, 0, Mode("geo", k_steps=3), 1, tmp_path / "own")
        train(worker, 0, steps=3)
        served = worker.client.pull("emb", np.arange(NUM_IDS))
        np.testing.assert_allclose(served, worker.pull("emb", np.arange(NUM_IDS)), atol=1e-6)
        flat = torch.cat([p.reshape(-1) for p in worker._params])
        np.testing.assert_allclose(worker.client.pull_dense("dense"), flat, atol=1e-6)
        worker.close()


def test_prefetched_rows_are_taken_once(tmp_path):
    with job(tmp_path, joins=False) as (services, _):
        worker = start(services, 0, Mode("async"), 1)
        ids = np.arange(5)
        worker.prefetch("emb", ids)
        first = worker.pull("emb", ids)
        push(worker, ids, np.ones((5, 2), np.float32))
        worker.flush()
        assert (worker.pull("emb", ids) != first).all()
        worker.prefetch("emb", ids[:2])
        assert worker.pull("emb", ids).shape == (5, 2)  # other ids: fetched anew
        worker.close()


def test_an_error_of_the_sender_reaches_the_worker(tmp_path):
    with job(tmp_path, joins=False) as (services, _):
        worker = start(services, 0, Mode("async"), 1)
        push(worker, np.arange(2), np.ones((2, 5), np.float32))
        with pytest.raises(TableError, match="of dimension 2"):
            worker.flush()
        worker.close()
        assert not [t for t in threading.enumerate() if t.name.startswith("argosy-ps")]


def test_a_worker_that_comes_back_goes_on(tmp_path):
    with job(tmp_path, joins=False) as (services, _):
        first = start(services, 0, Mode("half_async"), 1)
        train(first, 0, steps=3)
        kept = [p.clone() for p in first._params]
        first.close()
        second = start(services, 0, Mode("half_async"), 1)
        torch.testing.assert_close([p.clone() for p in second._params], kept)
        assert second.client.sequence("emb") == 3
        train(second, 0, start=3, steps=2)
        assert second.client.sequence("emb") == 5
        second.close()


def test_a_worker_that_has_finished_is_not_waited_for(tmp_path):
    """In sync mode with batches that do not divide evenly; later steps are the mean of those who
    are left.
    """
    with job(tmp_path, num_workers=2, joins=False) as (services, _):
        workers = in_threads([lambda n=n: start(services, n, Mode("sync"), 2) for n in range(2)])

        def work(number):
            losses = train(workers[number], number, steps=3 + 2 * number)
            workers[number].stop()
            return losses

        results = in_threads([lambda n=n: work(n) for n in range(2)])
        assert [len(losses) for losses in results] == [3, 5]
        assert services[0].stopped.is_set()


def test_dense_parts_are_equal_or_whole():
    shapes = {"a": (4, 5), "b": (3,), "c": (7,)}
    parts = place_dense("d", shapes, 3)
    assert [sum(p.numel for p in s.pieces) for s in parts] == [10, 10, 10]
    assert [(p.name, p.start, p.stop) for s in parts for p in s.pieces] == [
        ("a", 0, 10), ("a", 10, 20), ("b", 0, 3), ("c", 0, 7),
    ]  # fmt: skip
    whole = place_dense("d", shapes, 2, keeps_whole=True)
    assert all(p.is_whole for s in whole for p in s.pieces)
    assert [[p.name for p in s.pieces] for s in whole] == [["a"], ["b", "c"]]


def test_bad_modes():
    with pytest.raises(BadArgument, match="kind must be one of"):
        Mode("sometimes")
    with pytest.raises(BadArgument, match="k_steps"):
        Mode("geo", k_steps=0)
    with pytest.raises(UsageError, match="needs a folder"):
        Worker(lambda: None, 1, Mode("geo"))._start_geo([dataclasses.replace(SPEC)])


def test_geo_takes_over_what_is_loaded(tmp_path):
    every = np.arange(NUM_IDS)
    with job(tmp_path / "servers", joins=False) as (services, _):
        worker = start(services, 0, Mode("geo", k_steps=2), 1, tmp_path / "own")
        train(worker, 0, steps=2)
        saved = worker.pull("emb", every), [p.clone() for p in worker._params]
        worker.flush()
        worker.client.save(tmp_path / "saved")
        train(worker, 0, start=2, steps=2)
        assert (worker.pull("emb", every) != saved[0]).any()
        worker.client.load(tmp_path / "saved")
        worker.refresh()
        for _ in range(2):  # exchanging nothing changes nothing
            np.testing.assert_allclose(worker.pull("emb", every), saved[0], atol=1e-6)
            np.testing.assert_allclose(worker.client.pull("emb", every), saved[0], atol=1e-6)
            torch.testing.assert_close(
                [p.clone() for p in worker._params], saved[1], atol=1e-6, rtol=0
            )
            worker.flush()
        worker.close()


def test_a_geo_worker_that_finds_its_rows_again_trains_them(tmp_path):
    ids, grads = np.arange(3), np.ones((3, 2), np.float32)
    with job(tmp_path / "servers", joins=False) as (services, _):
        for _ in range(2):
            worker = start(services, 0, Mode("geo", k_steps=2), 1, tmp_path / "own")
            before = worker.pull("emb", ids)
            worker.push("emb", ids, grads)
            np.testing.assert_allclose(worker.pull("emb", ids), before - 0.1, atol=1e-6)
            worker.close()


def test_values_go_where_the_parameters_are_now(tmp_path):
    with job(tmp_path, joins=False) as (services, _):
        held = {"params": model()}
        worker = Worker(
            lambda: Client([f"127.0.0.1:{services[0].port}"], 0, TOKEN, 20.0), 1, Mode("half_async")
        )
        worker.start([SPEC], lambda: held["params"])
        held["params"] = {name: torch.zeros_like(value) for name, value in model().items()}
        worker.end_step([torch.ones(2, 2), torch.ones(3)], RATE)
        np.testing.assert_allclose(held["params"]["w"], 0.3 - RATE, atol=1e-6)
        np.testing.assert_allclose(held["params"]["b"], 0.5 - RATE, atol=1e-6)
        worker.close()


def test_closing_drops_what_waits_to_be_sent(tmp_path, monkeypatch):
    with job(tmp_path, joins=False) as (services, _):
        worker = start(services, 0, Mode("async", queue_size=8), 1)
        sent, may_go = [], threading.Event()
        step = worker._sender._client.step

        def slow(*args):
            sent.append(args[0])
            may_go.wait(20)
            return step(*args)

        monkeypatch.setattr(worker._sender._client, "step", slow)
        for _ in range(5):
            push(worker, np.arange(2), np.ones((2, 2), np.float32))
        while not sent:
            pass
        threading.Timer(0.1, may_go.set).start()
        worker.close()
        assert len(sent) == 1


def test_a_worker_whose_last_push_fails_leaves_nothing_behind(tmp_path):
    with job(tmp_path, joins=False) as (services, _):
        worker = start(services, 0, Mode("async"), 1)
        push(worker, np.arange(2), np.ones((2, 5), np.float32))
        with pytest.raises(TableError, match="of dimension 2"):
            worker.stop()
        assert not [t for t in threading.enumerate() if t.name.startswith("argosy-ps")]
        assert not services[0].stopped.is_set()


def test_a_push_that_waits_for_others_does_not_keep_a_worker_that_closes(tmp_path, monkeypatch):
    monkeypatch.setattr(worker_module, "_END_S", 0.2)
    with job(tmp_path, num_workers=2, bound=0, joins=False) as (services, _):
        worker = start(services, 0, Mode("async", queue_size=1), 2)
        for _ in range(2):  # one that waits for worker 1, and one behind it
            push(worker, np.arange(2), np.ones((2, 2), np.float32))
        worker.close()
        assert not [t for t in threading.enumerate() if t.name.startswith("argosy-ps")]
        with pytest.raises((ServerUnavailable, UsageError)):
            push(worker, np.arange(2), np.ones((2, 2), np.float32))


def test_a_full_queue_does_not_keep_who_pushes_when_the_sender_fails(tmp_path, monkeypatch):
    with job(tmp_path, joins=False) as (services, _):
        worker = start(services, 0, Mode("async", queue_size=1), 1)
        may_fail = threading.Event()

        def fails(*args):
            may_fail.wait(20)
            raise TableError("the table is full")

        monkeypatch.setattr(worker._sender._client, "step", fails)
        for _ in range(2):
            push(worker, np.arange(2), np.ones((2, 2), np.float32))
        threading.Timer(0.2, may_fail.set).start()
        with pytest.raises(TableError, match="full"):
            push(worker, np.arange(2), np.ones((2, 2), np.float32))
        with pytest.raises(TableError, match="full"):
            worker.flush()
        worker.close()
