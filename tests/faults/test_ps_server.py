"""A parameter-server job whose processes are killed at the worst instants: nothing is lost, nothing
is applied twice.
"""

import random
import subprocess
import threading
import time

import numpy as np
import pytest

from argosy.foundation.errors import ServerUnavailable
from argosy.runtime.ps.server import checkpoint
from argosy.runtime.ps.worker.client import Client
from support.hosts import ADDRESSES, cable_of
from support.ps_processes import STEPS, TOKEN, Job, Zygote, specs
from support.seed import SEED

# fault points of a server, and how often it comes by in a run
SERVER_PLACES = {
    "ps.rows.made": 1,
    "ps.journal.kept": 11,
    "ps.journal.marked": 11,
    "ps.journal.changed": 11,
    "ps.journal.applied": 11,
    "ps.pull.asked": 12,
    "ps.pull.done": 12,
    "ps.step.asked": 12,
    "ps.step.done": 12,
    "ps.pull_dense.asked": 12,
    "ps.pull_dense.done": 12,
    "ps.save.asked": 2,
    "ps.save.part": 4,
    "ps.save.done": 2,
}
WORKER_PLACES = {"ps.client.sent": 20, "ps.client.answered": 20}
NUM_SEEDS = 50


@pytest.fixture(scope="module")
def zygote(tmp_path_factory):
    forks = Zygote(tmp_path_factory.mktemp("zygote") / "log")
    yield forks
    forks.close()


@pytest.fixture(scope="module")
def whole(zygote, tmp_path_factory):
    """The outcome of runs without a fault, by mode."""
    outcomes = {}
    for mode in ("sync", "async"):
        job = Job(zygote, tmp_path_factory.mktemp("whole") / mode, mode, {})
        outcomes[mode] = job.run()
        assert set(job.num_starts.values()) == {1}
    return outcomes


def plan(seed):
    """Who dies where: in turn the server, a worker, both."""
    rng = random.Random(seed + 1000 * SEED)
    mode = "async" if seed % 5 == 4 else "sync"
    faults = {}
    if seed % 3 != 1:
        place = sorted(SERVER_PLACES)[seed % len(SERVER_PLACES)]
        faults["server"] = f"{place}:{rng.randint(1, SERVER_PLACES[place])}"
    if seed % 3 != 0:
        place = rng.choice(sorted(WORKER_PLACES))
        faults[f"worker {rng.randrange(2)}"] = f"{place}:{rng.randint(1, WORKER_PLACES[place])}"
    return mode, faults


@pytest.mark.attack("servers and workers killed at seeded instants")
@pytest.mark.parametrize("seed", range(NUM_SEEDS))
def test_killed_processes_change_nothing(zygote, whole, tmp_path, seed):
    mode, faults = plan(seed)
    job = Job(zygote, tmp_path / "job", mode, faults)
    found = job.run()
    # each dies where it was told to; the others wait for it
    assert job.num_starts == {role: 2 if role in faults else 1 for role in job.num_starts}, faults
    for role, expected in whole[mode].items():
        assert (found[role]["emb"], found[role]["dense"]) == (STEPS, STEPS)
        for name, values in expected.items():
            # in async worker 0 ends before worker 1 begins, so both see one state
            np.testing.assert_array_equal(
                found[role][name], values, err_msg=f"{mode} {faults} {role} {name}"
            )
    checkpoint.verify(tmp_path / "job" / "saved")


def test_plans_reach_every_place():
    places = {
        fault.partition(":")[0] for seed in range(NUM_SEEDS) for fault in plan(seed)[1].values()
    }
    assert places == {*SERVER_PLACES, *WORKER_PLACES}


@pytest.mark.attack("a server killed while it saves")
def test_a_save_that_is_cut_off_leaves_the_last_checkpoint(zygote, tmp_path):
    # two tables: the second save
    job = Job(zygote, tmp_path / "job", "async", {"server": "ps.save.part:3"})
    with job.serving() as endpoint, Client([endpoint], 0, TOKEN, 20.0) as client:
        sparse, dense = specs()
        client.create_sparse(sparse, "async")
        client.create_dense([dense], "async")
        ids = np.arange(20)
        saved = client.pull("emb", ids)
        client.save(tmp_path / "saved")
        client.push("emb", ids, np.ones((20, 4), np.float32))
        with Client([endpoint], 0, TOKEN, 0.0) as hasty, pytest.raises(ServerUnavailable):
            hasty.save(tmp_path / "saved")
        job.revive()
        assert [path.name for path in tmp_path.glob("saved*")] == ["saved"]
        assert (client.pull("emb", ids) != saved).any()
        client.load(tmp_path / "saved")
        np.testing.assert_array_equal(client.pull("emb", ids), saved)


# -- servers that are there, but do not answer
# ------------------------------------------------------------------------


def train_alone(client, num_steps, at=lambda step: None):
    """Steps of one worker; the values at the end."""
    sparse, dense = specs()
    client.create_sparse(sparse, "async")
    client.create_dense([dense], "async")
    for step in range(num_steps):
        at(step)
        ids = np.random.default_rng(step).integers(0, 40, 16)
        client.push("emb", ids, client.pull("emb", ids))
        client.push_dense("dense", client.pull_dense("dense") + 1)
    return client.pull("emb", np.arange(40)).copy(), client.pull_dense("dense").copy()


@pytest.mark.attack("A server is frozen (SIGSTOP) and stays so")
@pytest.mark.parametrize(
    "num_ids", [4, 2_000_000], ids=["small request", "request that fills all buffers"]
)
def test_a_frozen_server_is_named_when_patience_is_over(zygote, tmp_path, record_property, num_ids):
    job = Job(zygote, tmp_path / "job", "async", {})
    with job.serving() as endpoint, Client([endpoint], 0, TOKEN, 20.0, patience_s=2.0) as client:
        client.join()
        client.create_sparse(specs()[0], "async")
        client.pull("emb", np.arange(4))
        with job.frozen():
            begin = time.monotonic()
            with pytest.raises(
                ServerUnavailable, match=rf"server {endpoint} has answered nothing for 2 s.*frozen"
            ):
                client.pull("emb", np.zeros(num_ids, np.int64))
            named_s = time.monotonic() - begin
        record_property("named_s", named_s)
        assert 2.0 <= named_s < 8.0
        # it runs again, and so does the client
        assert client.pull("emb", np.arange(4)).shape == (4, 4)


@pytest.mark.attack("A server is frozen when a new stream is opened")
def test_a_frozen_server_is_named_where_a_stream_is_opened(zygote, tmp_path, record_property):
    job = Job(zygote, tmp_path / "job", "async", {})
    with job.serving() as endpoint, Client([endpoint], 0, TOKEN, 20.0, patience_s=2.0) as client:
        client.join()
        with job.frozen():
            begin = time.monotonic()
            with pytest.raises(ServerUnavailable, match=r"answered nothing for 2 s"):
                client.act("status", {})
            record_property("named_s", time.monotonic() - begin)
        assert client.act("status", {}) == [{"tables": []}]


@pytest.mark.attack("A server is frozen (SIGSTOP) and continued in time")
def test_a_server_that_is_continued_in_time_changes_nothing(zygote, tmp_path):
    with (
        Job(zygote, tmp_path / "plain", "async", {}).serving() as endpoint,
        Client([endpoint], 0, TOKEN) as client,
    ):
        expected = train_alone(client, 6)
    job = Job(zygote, tmp_path / "job", "async", {})
    thawing = threading.Event()

    def freeze():
        with job.frozen():
            thawing.set()
            time.sleep(2.5)

    freezing = threading.Thread(target=freeze, name="freezing")

    def at(step):
        if step == 3:
            freezing.start()
            assert thawing.wait(10)

    with job.serving() as endpoint, Client([endpoint], 0, TOKEN, patience_s=20.0) as client:
        begin = time.monotonic()
        found = train_alone(client, 6, at)
        assert time.monotonic() - begin > 2.5
        freezing.join()
    for values, kept in zip(found, expected, strict=True):
        np.testing.assert_array_equal(values, kept)


@pytest.mark.attack("The host of a server, or of a worker, is cut off the network")
@pytest.mark.parametrize("is_busy", [False, True], ids=["worker waits for others", "worker sends"])
def test_a_host_that_is_cut_off_is_known_on_both_sides(
    zygote, tmp_path, request, record_property, is_busy
):
    names = request.getfixturevalue("hosts")
    job = Job(zygote, tmp_path / "job", "async" if is_busy else "sync", {})
    with job.on_hosts(names, ADDRESSES, 29500) as told:
        told.until("worker", "ready")
        subprocess.run(
            ["ip", "-n", names[0], "link", "set", cable_of(names[0]), "down"], check=True
        )
        begin = time.monotonic()
        known = [
            told.until("worker", f"the connection to server {ADDRESSES[0]}:29500 broke") - begin,
            told.until("server", "worker 0 has gone without a goodbye") - begin,
        ]
        record_property("named_s", max(known))
        assert max(known) < 6.0, known  # 5 s, and a second for a busy machine
        told.until("worker", f"ServerUnavailable: server {ADDRESSES[0]}:29500 did not answer")
