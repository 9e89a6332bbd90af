"""What a worker keeps for a process after it, and workers that are begun again with it."""

import contextlib
import random

import numpy as np
import pytest
import torch

from argosy.foundation.errors import CheckpointError, PositionUnknown
from argosy.runtime.ps.server.service import Service
from argosy.runtime.ps.server.steps import push_step
from argosy.runtime.ps.server.tables import Push, Tables
from argosy.runtime.ps.tables import hashing
from argosy.runtime.ps.tables.initial import Initial
from argosy.runtime.ps.tables.rules import Rule
from argosy.runtime.ps.tables.spec import SparseSpec
from argosy.runtime.ps.worker import tape
from argosy.runtime.ps.worker.client import Client
from argosy.runtime.ps.worker.tape import Tape
from argosy.runtime.ps.worker.worker import Mode, Worker
from support.ps_service import TOKEN, plain_sgd

NO_IDS = np.empty(0, np.int64)


def ids(*numbers):
    return np.array(numbers, np.int64)


def floats(*numbers):
    return np.array(numbers, np.float32)


def never():
    raise AssertionError("this is read from the servers, not from the tape")


def two_steps(folder):
    """A tape with a step that is complete, and one that was about to be pushed."""
    kept = Tape(folder, keeps_reads=True)
    kept.rest(b"state 0", {"emb": 0}, floats(1, 2))
    kept.read("emb", ids(4, 5), lambda: floats(10, 11).reshape(2, 1))
    kept.before_push()
    kept.read("dense", NO_IDS, lambda: floats(3, 4))
    kept.rest(b"state 1", {"emb": 1}, floats(3, 4))
    kept.read("emb", ids(5), lambda: floats(12).reshape(1, 1))
    kept.read("more", ids(7, 8), lambda: floats(1, 2, 3, 4).reshape(2, 2))
    kept.before_push()
    kept.before_push()  # to the second table; nothing was read between
    return kept


def test_the_last_step_is_found_again(tmp_path):
    two_steps(tmp_path)
    again = Tape(tmp_path, keeps_reads=True)
    assert again.found.state == b"state 1"
    rest = again.rewind()
    assert (rest.sequences, rest.dense.tolist(), rest.num_pushes) == ({"emb": 1}, [3, 4], 1)
    assert again.found is None
    assert again.read("emb", ids(5), never).tolist() == [[12]]
    assert again.read("more", ids(7, 8), never).tolist() == [[1, 2], [3, 4]]
    again.before_push()
    assert again.read("dense", NO_IDS, lambda: floats(9)).tolist() == [9]
    again.rest(b"state 2", {"emb": 2}, floats(9))
    # nothing of the next step was pushed
    assert Tape(tmp_path, keeps_reads=True).found.state == b"state 1"
    again.before_push()
    assert Tape(tmp_path, keeps_reads=True).found.state == b"state 2"


@pytest.mark.attack("what a worker keeps is hit or torn: the record before counts, or none")
def test_a_record_that_is_not_whole_does_not_count(tmp_path):
    two_steps(tmp_path)
    newest = tmp_path / "step.0"
    data = newest.read_bytes()
    assert b"state 1" in data
    for place in range(len(data)):
        newest.write_bytes(data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :])
        assert Tape(tmp_path, keeps_reads=True).found.state == b"state 0"
        newest.write_bytes(data[:place])
        assert Tape(tmp_path, keeps_reads=True).found.state == b"state 0"
    newest.write_bytes(data + b"left by a longer one")
    assert Tape(tmp_path, keeps_reads=True).found.state == b"state 1"
    for slot in tmp_path.iterdir():
        slot.write_bytes(b"")
    assert Tape(tmp_path, keeps_reads=True).found is None


@pytest.mark.attack("the data come in another order after a restart")
def test_other_data_are_noticed(tmp_path):
    two_steps(tmp_path)
    for table, numbers in (("emb", ids(6)), ("emb", ids(5, 6)), ("more", ids(5))):
        again = Tape(tmp_path, keeps_reads=True)
        again.rewind()
        with pytest.raises(CheckpointError, match="not the one that was under way"):
            again.read(table, numbers, never)
    again = Tape(tmp_path, keeps_reads=True)
    again.rewind()
    again.read("emb", ids(5), never)
    with pytest.raises(CheckpointError, match="1 reads fewer"):
        again.rest(b"", {}, floats())


def test_a_loop_without_resting_points_is_given_up(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(tape, "_MOST_PUSHES", 3)
    kept = Tape(tmp_path, keeps_reads=True)
    kept.rest(b"state", {"emb": 0}, floats())
    for step in range(4):
        kept.read("emb", ids(step), lambda: floats(1).reshape(1, 1))
        kept.before_push()
    assert "it will not know where in its data it was" in caplog.text
    assert not kept.is_resting
    assert Tape(tmp_path, keeps_reads=True).found is None


def test_without_reads_each_resting_point_is_written(tmp_path):
    kept = Tape(tmp_path, keeps_reads=False)
    kept.rest(b"state 0", {"emb": 0}, floats())
    assert kept.read("emb", ids(1), lambda: floats(7)) == [7]
    kept.rest(b"state 1", {"emb": 3}, floats())
    again = Tape(tmp_path, keeps_reads=False)
    assert again.rewind().state == b"state 1"
    assert again.read("emb", ids(2), lambda: floats(8)) == [8]


# -- workers
# --------------------------------------------------------------------------------------------------

SPECS = [
    SparseSpec(
        name, 2, Rule("adam", 0.1), Initial("uniform", -1.0, 1.0, seed=seed), max_rows=1 << 12
    )
    for seed, name in enumerate(("one", "two"))
]
IDS = np.arange(40)


@contextlib.contextmanager
def servers(folder):
    """Two servers of one worker; ``connect`` makes its clients."""
    with contextlib.ExitStack() as stack:
        services = []
        for number in range(2):
            tables = Tables(folder / str(number), 1, plain_sgd)
            actions = {"give_up": lambda body, tables=tables: tables.give_up(body["reason"]) or {}}
            services.append(Service("grpc://127.0.0.1:0", tables, TOKEN, 1, 20.0, actions=actions))
            stack.callback(services[-1].end)
            stack.callback(tables.close)
        endpoints = [f"127.0.0.1:{service.port}" for service in services]
        yield services, lambda: Client(endpoints, 0, TOKEN, 20.0)


class Training:
    """A worker with two tables and a dense parameter."""

    def __init__(self, connect, folder=None):
        self.weight = torch.tensor([1.0, -1.0, 0.5])
        self.worker = Worker(
            connect, 1, Mode("sync"), tape=None if folder is None else Tape(folder, True)
        )
        self.worker.start(SPECS, lambda: {"w": self.weight})

    def gradients(self, step):
        """Of both tables and the weight; each depends on all."""
        numbers = np.random.default_rng(step).permutation(IDS)[:12]
        rows = [self.worker.pull(spec.name, numbers) for spec in SPECS]
        mixed = rows[0] * rows[1] * self.weight.numpy()[0]
        return numbers, mixed, torch.tensor([mixed.sum(), rows[0].sum(), rows[1].sum()])

    def step(self, step):
        numbers, mixed, grads = self.gradients(step)
        for spec in SPECS:
            self.worker.push(spec.name, numbers, mixed)
        self.worker.end_step([grads], 0.01)
        self.worker.rest(str(step + 1).encode())

    def outcome(self):
        client = self.worker.client
        return [client.pull(spec.name, IDS, creates=False) for spec in SPECS] + [
            client.pull_dense("dense")
        ]


def part_of(server, numbers, mixed):
    order, starts = hashing.split_by_server(numbers, 2)
    mine = order[starts[server] : starts[server + 1]]
    return numbers[mine], mixed[mine]


def all_of_step(services, training, step, places):
    """Have the servers apply some of a step's pushes, as if the worker were killed then: ``places``
    are (table, server).
    """
    numbers, mixed, grads = training.gradients(step)
    training.worker._tape.before_push()
    for table, server in places:
        entry = services[server].tables[table]
        if table == "dense":
            flat, sizes = grads.numpy(), training.worker.client._dense_sizes["dense"]
            part = np.split(flat, np.cumsum(sizes)[:-1])[server]
            push = Push(step + 1, np.ascontiguousarray(part, np.float32), 0.01)
        else:
            own, rows = part_of(server, numbers, mixed)
            push = Push(step + 1, np.ascontiguousarray(rows), ids=own)
        push_step([(entry, push)], 0, 20.0)


ORDER = [("one", 0), ("one", 1), ("two", 0), ("two", 1), ("dense", 0), ("dense", 1)]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    with servers(tmp_path_factory.mktemp("whole")) as (_, connect):
        training = Training(connect)
        for step in range(4):
            training.step(step)
        found = training.outcome()
        training.worker.stop()
    return found


@pytest.mark.attack(
    "a worker is killed when some servers have applied its push to some tables: each push counts "
    "once"
)
@pytest.mark.parametrize(
    "places",
    [ORDER[:n] for n in range(len(ORDER) + 1)] + [ORDER[1:2], [ORDER[1], ORDER[3]]],
    ids=str,
)
def test_every_push_counts_once_wherever_it_was_cut_off(tmp_path, undisturbed, places):
    with servers(tmp_path / "servers") as (services, connect):
        first = Training(connect, tmp_path / "tape")
        first.worker.rest(b"0")
        for step in range(2):
            first.step(step)
        all_of_step(services, first, 2, places)
        first.worker.close()
        second = Training(connect, tmp_path / "tape")
        second.weight.fill_(9.0)  # whatever the script makes of it
        assert second.worker.num_steps_before == (3 if places else 2)
        assert second.worker.resting_point == b"2"
        second.worker.go_on()
        for step in (2, 3):
            second.step(step)
        for ours, theirs in zip(second.outcome(), undisturbed, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        second.worker.stop()


@pytest.mark.attack("a worker that was started again pushes without knowing its place")
def test_a_worker_that_does_not_know_its_place_does_not_push(tmp_path):
    with servers(tmp_path / "servers") as (services, connect):
        first = Training(connect, tmp_path / "tape")
        first.step(0)  # tells its place afterwards
        first.worker.leave_resting_point()
        first.worker.close()
        second = Training(connect, tmp_path / "tape")
        before = second.outcome()
        with pytest.raises(
            PositionUnknown,
            match="worker 0 was started again after 1 step, and this script gives no way",
        ):
            second.step(0)
        for ours, theirs in zip(second.outcome(), before, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        assert "worker 0 was started again" in (tmp_path / "tape" / tape.REFUSED).read_text()
        # and so does everybody else
        nothing = Push(2, np.empty((0, 2), np.float32), ids=NO_IDS)
        with pytest.raises(PositionUnknown, match="was started again"):
            push_step([(services[0].tables["one"], nothing)], 0, 20.0)
        second.worker.close()


@pytest.mark.attack("what a worker kept is older than what the servers have")
def test_an_old_record_is_refused(tmp_path):
    with servers(tmp_path / "servers") as (_, connect):
        first = Training(connect, tmp_path / "tape")
        first.worker.rest(b"0")
        for step in range(random.Random(1).randint(3, 5)):
            first.step(step)
        newest = max((tmp_path / "tape").glob("step.*"), key=lambda path: path.stat().st_mtime_ns)
        newest.write_bytes(b"")
        first.worker.close()
        second = Training(connect, tmp_path / "tape")
        with pytest.raises(PositionUnknown, match="but what it kept is of"):
            second.worker.go_on()
        second.worker.close()


def test_a_server_remembers_notes_until_the_job_ends(tmp_path):
    tables = Tables(tmp_path, 1, plain_sgd)
    tables.create("sparse", SPECS[0].to_json(), "sync")
    assert tables.notes({"a": 1}) == {"a": 1}
    assert tables.notes({"b": [2]}) == {"a": 1, "b": [2]}
    push_step([(tables["one"], Push(1, np.ones((1, 2), np.float32), ids=ids(1)))], 0, 20.0)
    tables.close()
    tables = Tables(tmp_path, 1, plain_sgd)
    assert tables.notes({}) == {"a": 1, "b": [2]}
    assert tables["one"].applied(0) == 1
    tables.end_job()
    assert tables.notes({}) == {}
    assert tables["one"].applied(0) == 0  # who opens the tables next is not a worker that came back
    tables.close()


def test_a_job_that_was_being_forgotten_when_its_server_was_killed_is_forgotten(tmp_path):
    tables = Tables(tmp_path, 1, plain_sgd)
    tables.create("sparse", SPECS[0].to_json(), "sync")
    tables.notes({"a": 1})
    push_step([(tables["one"], Push(1, np.ones((1, 2), np.float32), ids=ids(1)))], 0, 20.0)
    tables.retire(0)
    tables.close()
    (tmp_path / "ended").touch()
    tables = Tables(tmp_path, 1, plain_sgd)
    assert not tables.finished
    assert (tables.notes({}), tables["one"].applied(0)) == ({}, 0)
    tables.notes({"b": 2})
    tables.close()
    tables = Tables(tmp_path, 1, plain_sgd)  # of the job that has begun since
    assert tables.notes({}) == {"b": 2}
    tables.close()
