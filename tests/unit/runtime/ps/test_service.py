import socket
import threading
import time

import numpy as np
import pyarrow.flight as flight
import pytest

from argosy.foundation.account import account
from argosy.foundation.errors import DtypeError, OutOfRange, PsError, ServerUnavailable, TableError
from argosy.runtime.ps.server.port import keep
from argosy.runtime.ps.server.service import Service
from argosy.runtime.ps.server.tables import Tables
from argosy.runtime.ps.tables.dense_table import DenseSpec, Piece
from argosy.runtime.ps.tables.spec import ShowClick, SparseSpec
from argosy.runtime.ps.wire import pulse
from argosy.runtime.ps.worker import client as client_module
from argosy.runtime.ps.worker.client import Client
from support.ps_service import SPEC, TOKEN, in_threads, job, plain_sgd, until_true


@pytest.mark.parametrize("num_servers", [1, 3])
def test_rows_do_not_depend_on_the_number_of_servers(tmp_path, num_servers):
    ids = np.arange(100) * 3
    with job(tmp_path / "one") as (_, [alone]):
        alone.create_sparse(SPEC, "async")
        expected = alone.pull("emb", ids)
    with job(tmp_path / "many", num_servers) as (services, [client]):
        client.create_sparse(SPEC, "async")
        assert (client.pull("emb", ids) == expected).all()
        client.push("emb", ids[:10], np.ones((10, 3), np.float32), learning_rate=0.5)
        np.testing.assert_allclose(client.pull("emb", ids)[:10], expected[:10] - 0.5, rtol=1e-6)
        rows = [answer["tables"][0]["rows"] for answer in client.act("status", {})]
        assert sum(rows) == 100
        assert min(rows) > 0
        client.leave()
        assert all(service.stopped.is_set() for service in services)


def test_dense_parts(tmp_path):
    pieces = [(Piece("w", (2, 2), 0, 3),), (Piece("w", (2, 2), 3, 4), Piece("b", (1,), 0, 1))]
    with job(tmp_path, 2) as (_, [client]):
        client.create_dense([DenseSpec("dense", p) for p in pieces], "async")
        client.fill_dense("dense", np.arange(5, dtype=np.float32))
        client.push_dense("dense", np.ones(5, np.float32), 0.5)
        assert client.pull_dense("dense").tolist() == [-0.5, 0.5, 1.5, 2.5, 3.5]


def test_sync_applies_the_mean_once_in_the_order_of_workers(tmp_path):
    with job(tmp_path, 2, num_workers=3) as (_, clients):
        for client in clients:
            client.create_sparse(SPEC, "sync")
        before = clients[0].pull("emb", np.arange(6))
        grads = [np.full((2, 3), w + 1.0, np.float32) for w in range(3)]

        def step(w):
            clients[w].push("emb", np.array([w, w + 1]), grads[w])
            return clients[w].pull("emb", np.arange(6))

        results = in_threads([lambda w=w: step(w) for w in range(3)])
        change = np.array([1, 1 + 2, 2 + 3, 3, 0, 0], np.float32)[:, None] / 3
        for values in results:
            np.testing.assert_allclose(values, before - change, rtol=1e-6)


def test_a_worker_that_is_ahead_waits(tmp_path):
    with job(tmp_path, num_workers=2, bound=2) as (services, [fast, slow]):
        for client in (fast, slow):
            client.create_sparse(SPEC, "async")
        one = np.ones((1, 3), np.float32)
        reached = []

        def run_ahead():
            for i in range(4):
                fast.push("emb", np.array([1]), one)
                reached.append(i)

        thread = threading.Thread(target=run_ahead, name="fast")
        thread.start()
        thread.join(1.0)
        assert len(reached) == 2
        for _ in range(2):
            slow.push("emb", np.array([1]), one)
        thread.join(20)
        assert len(reached) == 4
        assert services[0].tables["emb"].worst_staleness == 2


def test_a_lost_worker_is_an_error_for_those_who_wait(tmp_path):
    with job(tmp_path, num_workers=2) as (_, [one, other]):
        for client in (one, other):
            client.create_sparse(SPEC, "sync")
        grads = np.ones((1, 3), np.float32)
        results = []

        def push():
            with pytest.raises(PsError) as raised:
                one.push("emb", np.array([1]), grads)
            results.append(str(raised.value))

        waiting = threading.Thread(target=push, name="one")
        waiting.start()
        waiting.join(0.3)
        other.close()
        waiting.join(10)
        assert "worker 1 has gone" in results[0]


def test_a_worker_that_is_back_before_its_old_stream_ends_is_not_lost(tmp_path):
    with job(tmp_path, num_workers=2) as ([service], [one, other]):
        for client in (one, other):
            client.create_sparse(SPEC, "sync")
        with Client([f"127.0.0.1:{service.port}"], 1, TOKEN, 20.0) as again:
            again.join()
            again.create_sparse(SPEC, "sync")
            other.close()
            grads = np.ones((1, 3), np.float32)
            results = in_threads(
                [lambda c=c: c.push("emb", np.array([1]), grads) for c in (one, again)]
            )
            assert results == [None, None]


def test_geo_remembers_what_others_changed(tmp_path):
    with job(tmp_path, num_workers=2) as (_, [one, other]):
        for client in (one, other):
            client.create_sparse(SPEC, "geo")
        one.push("emb", np.array([4, 5, 4]), np.ones((3, 3), np.float32))
        ids, values = other.pull_changed("emb")
        assert ids.tolist() == [4, 5]
        assert (values == other.pull("emb", ids)).all()
        assert other.pull_changed("emb")[0].tolist() == []
        assert one.pull_changed("emb")[0].tolist() == []


def test_shows_and_clicks_travel(tmp_path):
    spec = SparseSpec(
        "ctr", 1, show_click=ShowClick(nonclick_weight=1.0, delete_below=2.0), max_rows=256
    )
    with job(tmp_path) as (_, [client]):
        client.create_sparse(spec, "async")
        shows = np.array([3.0, 1.0], np.float32)
        client.push("ctr", np.array([1, 2]), np.zeros((2, 1), np.float32), shows=shows)
        assert client.act("shrink", {"table": "ctr"}) == [{"dropped": 1}]
        client.act("end_day", {"table": "ctr"})


def test_errors_are_told_and_the_server_goes_on(tmp_path):
    with job(tmp_path) as ([service], [client]):
        client.create_sparse(SPEC, "async")
        with pytest.raises(TableError, match="another description"):
            client.create_sparse(SparseSpec("emb", 4), "async")
        with pytest.raises(TableError, match=r"there is no table 'emp'.*'emb'"):
            client.act("applied", {"table": "emp", "worker": 0})
        with pytest.raises(TableError, match="of dimension 3"):
            client.push("emb", np.array([1]), np.ones((1, 2), np.float32))
        with pytest.raises(
            ServerUnavailable, match=r"refused this process.*the job's token.*ARGOSY_TOKEN"
        ):
            Client([f"127.0.0.1:{service.port}"], 0, "wrong", 1.0).act("status", {})
        with socket.create_connection(("127.0.0.1", service.port)) as noise:
            noise.sendall(b"\x00garbage\r\n" * 100)
        bare = flight.connect(f"grpc://127.0.0.1:{service.port}")
        with pytest.raises(flight.FlightUnauthenticatedError):
            list(bare.do_action(flight.Action("status", b"{}")))
        bare.close()
        assert client.pull("emb", np.array([1])).shape == (1, 3)


def test_a_server_that_is_not_there(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        endpoint = f"127.0.0.1:{taken.getsockname()[1]}"
        with (
            Client([endpoint], 0, TOKEN, 0.3) as client,
            pytest.raises(ServerUnavailable, match=r"did not answer for 0\.3 s"),
        ):
            client.join()


def test_unsigned_ids_keep_their_bits_and_others_are_refused(tmp_path):
    with job(tmp_path, num_servers=2) as (_, [client]):
        client.create_sparse(SPEC, "async")
        ids = np.array([2**64 - 1, 2**63, 5], np.uint64)
        rows = np.array(client.pull("emb", ids))
        assert len(np.unique(rows)) == rows.size
        client.push("emb", ids, np.ones((3, 3), np.float32))
        np.testing.assert_allclose(client.pull("emb", ids.view(np.int64)), rows - 1.0, atol=1e-6)
        with pytest.raises(DtypeError, match="ids must be integers, but are float64"):
            client.pull("emb", np.array([1.0]))


def test_a_stream_that_nobody_ends_does_not_keep_the_server(tmp_path):
    with job(tmp_path) as ([service], [worker]):
        worker.create_sparse(SPEC, "async")
        with Client([f"127.0.0.1:{service.port}"], 7, TOKEN).knowing(worker) as other:
            other.pull("emb", np.arange(4))
            worker.leave()
            worker.close()
            ending = threading.Thread(target=service.serve_to_the_end, name="ending")
            ending.start()
            ending.join(30.0)
            assert not ending.is_alive()


def test_a_server_that_is_started_again_does_not_wait_for_who_has_finished(tmp_path):
    with job(tmp_path, num_workers=2) as ([service], [one, other]):
        for client in (one, other):
            client.create_sparse(SPEC, "sync")
        one.leave()
        assert not service.stopped.is_set()
        marks = list((tmp_path / "0").glob("finished.*"))
        assert [mark.name for mark in marks] == ["finished.0"]
    ended = tmp_path / "0" / "ended"
    ended.unlink()  # a server that was killed has not ended its job
    marks[0].touch()
    with job(tmp_path, num_workers=2, joins=False) as ([service], [_, other]):
        other.join()
        other.create_sparse(SPEC, "sync")
        other.push("emb", np.array([1]), np.ones((1, 3), np.float32))
        other.leave()
        assert service.stopped.is_set()
    ended.unlink()
    marks[0].touch()
    (tmp_path / "0" / "finished.1").touch()
    with job(tmp_path, num_workers=2, joins=False) as ([service], _):
        assert service.stopped.is_set()
    assert not list((tmp_path / "0").glob("finished.*"))
    assert ended.exists()


def test_a_worker_that_comes_back_after_its_goodbye_is_waited_for(tmp_path):
    with job(tmp_path, num_workers=2) as ([service], [one, other]):
        one.leave()
        one.close()
        one.join()
        other.leave()
        assert not service.stopped.is_set()


def test_a_worker_of_another_job_is_refused(tmp_path):
    with job(tmp_path) as ([service], [client]):
        client.create_sparse(SPEC, "sync")
        with Client([f"127.0.0.1:{service.port}"], 1, TOKEN, 20.0).knowing(client) as stranger:
            with pytest.raises(
                OutOfRange, match="worker 1 is not one of this job's 1; PADDLE_TRAINERS_NUM"
            ):
                stranger.join()
            with pytest.raises(OutOfRange, match="worker 1 is not one"):
                stranger.push("emb", np.array([1]), np.ones((1, 3), np.float32))
            with pytest.raises(OutOfRange, match="worker 1 is not one"):
                stranger.leave()
        assert not service.stopped.is_set()
        client.push("emb", np.array([1]), np.ones((1, 3), np.float32))  # and nobody waits for it


def test_a_table_that_is_not_there_yet_is_said_at_once(tmp_path):
    with job(tmp_path) as (_, [client]):
        client._dim_by_table["emb"] = 3
        with pytest.raises(TableError, match="there is no table 'emb'"):
            client.pull("emb", np.arange(3))
        client.create_sparse(SPEC, "async")
        assert client.pull("emb", np.arange(3)).shape == (3, 3)


def test_an_answer_that_nobody_read_is_not_taken_for_the_next(tmp_path, monkeypatch):
    with job(tmp_path, num_servers=2) as (_, [client]):
        client.create_sparse(SPEC, "async")
        ids = np.arange(40)
        expected = client.pull("emb", ids)
        receive = client_module._Server.receive

        def interrupted(self, op, table):
            monkeypatch.setattr(client_module._Server, "receive", receive)
            raise KeyboardInterrupt

        monkeypatch.setattr(client_module._Server, "receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            client.pull("emb", ids[:20])
        np.testing.assert_array_equal(client.pull("emb", ids[20:]), expected[20:])


@pytest.mark.parametrize(("mode", "bound"), [("sync", None), ("async", 0)])
def test_closing_the_tables_ends_pushes_that_wait(tmp_path, mode, bound):
    with job(tmp_path, num_workers=2, bound=bound) as ([service], [one, _]):
        one.create_sparse(SPEC, mode)
        outcome = []

        def push():
            with pytest.raises(ServerUnavailable, match="the server is ending"):
                one.push("emb", np.array([1]), np.ones((1, 3), np.float32))
            outcome.append(True)

        waiting = threading.Thread(target=push, name="one")
        waiting.start()
        until_true(lambda: service.tables["emb"].num_pushes)
        service.tables.close()
        waiting.join(10)
        assert outcome == [True]


def test_goodbyes_are_said_to_the_servers_that_are_left(tmp_path):
    with job(tmp_path, num_servers=2, timeout_s=0.3) as (services, [client]):
        services[0].end()
        with pytest.raises(ServerUnavailable, match="did not answer"):
            client.leave()
        assert services[1].stopped.is_set()


def test_a_push_that_waits_for_others_outlasts_patience(tmp_path):
    with (
        job(tmp_path, num_workers=2) as ([service], [_, other]),
        Client([f"127.0.0.1:{service.port}"], 0, TOKEN, 20.0, patience_s=1.0) as one,
    ):
        one.join()
        for client in (one, other):
            client.create_sparse(SPEC, "sync")

        def late():
            threading.Event().wait(3.0)
            return other.push("emb", np.array([1]), np.ones((1, 3), np.float32))

        begin = time.monotonic()
        results = in_threads(
            [lambda: one.push("emb", np.array([1]), np.ones((1, 3), np.float32)), late]
        )
        assert results == [None, None]
        assert time.monotonic() - begin >= 3.0


def test_a_call_that_waits_can_be_interrupted_and_the_client_used_again(tmp_path):
    with job(tmp_path, num_workers=2) as (_, [one, other]):
        for client in (one, other):
            client.create_sparse(SPEC, "sync")
        interrupting = threading.Timer(0.3, one.interrupt)
        interrupting.start()
        with pytest.raises(ServerUnavailable, match="was ended: the client is closed"):
            one.push("emb", np.array([1]), np.ones((1, 3), np.float32))
        interrupting.join()
        with pytest.raises(ServerUnavailable, match="was closed before it asked"):
            one.act("status", {})
        one.close()
        assert one.pull("emb", np.array([1])).shape == (1, 3)


class Shown:
    """Who looks at this process: where it waits, and when that has ended."""

    def __init__(self):
        self.told = []

    def begin_wait(self, since_ns, place, awaited):
        assert 0 <= time.perf_counter_ns() - since_ns < 10e9
        self.told.append(place)

    def end_wait(self):
        self.told.append("end")

    def look(self): ...


@pytest.fixture
def shown(monkeypatch):
    monkeypatch.setattr(pulse, "_TICK_S", 0.02)
    monkeypatch.setattr(account, "listener", Shown())
    return account.listener.told


def test_a_call_that_waits_is_shown_with_its_table_and_server(tmp_path, shown):
    with job(tmp_path, num_servers=2, num_workers=2) as (services, [one, other]):
        for client in (one, other):
            client.create_sparse(SPEC, "sync")
        pushed = [np.array([1]), np.ones((1, 3), np.float32)]
        results = in_threads(
            [
                lambda: one.push("emb", *pushed),
                lambda: (until_true(lambda: shown), other.push("emb", *pushed)),
            ]
        )
        assert not any(isinstance(result, Exception) for result in results)
        places = [
            f"step of 'emb' at server {n} (127.0.0.1:{s.port})" for n, s in enumerate(services)
        ]
    assert shown[0] == places[0]  # which is asked for its answer first
    assert shown[1] == "end"
    assert set(shown) <= {*places, "end"}


def test_an_action_that_takes_long_is_no_hang(tmp_path, shown):
    with job(tmp_path) as ([service], [client]):
        acted = service._actions["status"]
        service._actions["status"] = lambda body: (time.sleep(0.2), acted(body))[1]
        client.act("status", {})
    assert shown == []


def test_the_wait_for_a_server_that_was_there_is_shown(tmp_path, shown):
    with job(tmp_path, timeout_s=0.5) as ([service], [client]):
        client.create_sparse(SPEC, "async")
        client.pull("emb", np.arange(4))
        service.end()
        with pytest.raises(ServerUnavailable):
            client.pull("emb", np.arange(4))
    where = f"server 0 (127.0.0.1:{service.port})"
    assert shown == [f"pull of 'emb' at {where}, whose connection broke", "end"]


def test_servers_that_have_not_come_yet_are_no_hang(tmp_path, shown):
    client = Client(["127.0.0.1:1"], 0, TOKEN, timeout_s=0.3)
    with client, pytest.raises(ServerUnavailable):
        client.join()
    assert shown == []


def test_a_client_leaves_no_thread_behind(tmp_path):
    with job(tmp_path) as (_, [client]):
        client.create_sparse(SPEC, "async")
        client.close()
        assert not [t for t in threading.enumerate() if t.name.startswith("argosy-ps")]


@pytest.mark.parametrize("is_named", [True, False])
def test_a_server_answers_to_the_names_it_was_given(tmp_path, is_named):
    tables = Tables(tmp_path, 1, plain_sgd)
    with keep("127.0.0.1") as keeper:
        port = keeper.getsockname()[1]
        names = [f"localhost:{port}"] if is_named else []
        service = Service(f"grpc://127.0.0.1:{port}", tables, TOKEN, 1, names=names)
        try:
            with Client([f"localhost:{port}"], 0, TOKEN, 20.0) as client:
                if is_named:
                    assert client.act("status", {}) == [{"tables": []}]
                else:
                    with pytest.raises(
                        ServerUnavailable,
                        match=f"not meant for this server, which is 127.0.0.1:{port}",
                    ):
                        client.act("status", {})
        finally:
            tables.close()
            service.end()
