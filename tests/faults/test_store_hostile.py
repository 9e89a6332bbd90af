"""Strangers, floods and bugs at the store of a job: the job goes on, or ends at once with the
reason.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time

import pytest

from argosy.foundation.endpoints import bind_listener, endpoint_of, parse
from argosy.runtime.comm.store import StoreFailed, StoreServer
from faults import store_acts
from support.job import run_job
from support.launcher import Launcher, assert_nothing_left, script, until, wait_for_workers

FLOOD = 1000
MORTAL = "faults.store_acts:launch_with_a_mortal_store"
WAIT = "print(os.environ['PADDLE_MASTER'])\nnote('ready')\ntime.sleep(600)\n"
LIMIT_S = 2.0


@pytest.fixture
def launch(tmp_path):
    started = []

    def start(*argv, **options):
        folder = options.pop("folder", tmp_path)
        folder.mkdir(exist_ok=True)
        started.append(Launcher(folder, *argv, **options))
        return started[-1]

    yield start
    for launcher in started:
        launcher.close()


def seconds_until(launcher: Launcher, text: str, began_s: float) -> float:
    until(lambda: text in launcher.stderr, f"{text!r} in the launcher's words")
    return time.monotonic() - began_s


@pytest.mark.attack("the store of a launcher dies")
@pytest.mark.parametrize("restarts", [(), ("--max_restart=2",)])
def test_a_job_ends_when_its_store_dies(tmp_path, launch, restarts, record_property):
    launcher = launch("--nproc_per_node=2", *restarts, script(tmp_path, WAIT), entry=MORTAL)
    wait_for_workers(tmp_path, 2)
    began_s = time.monotonic()
    (tmp_path / store_acts.DIE).touch()
    named_s = seconds_until(launcher, "launch: the store of the job at 127.0.0.1:", began_s)
    record_property("named_s", named_s)
    assert launcher.wait() == 1
    assert time.monotonic() - began_s < LIMIT_S + 1.0  # the machine may be busy
    assert (
        "failed: ZeroDivisionError('a bug of the store'); the workers are ended" in launcher.stderr
    )
    assert "roken pipe" not in launcher.stderr
    assert "restarting" not in launcher.stderr
    assert_nothing_left(launcher)


@pytest.mark.attack("the store of a parameter-server job dies")
def test_a_server_job_ends_when_its_store_dies(tmp_path, launch, record_property):
    waiting = script(tmp_path, WAIT.replace("PADDLE_TRAINER_ID", "PADDLE_PORT"))
    launcher = launch("--server_num=1", "--worker_num=1", waiting, entry=MORTAL)
    until(lambda: len(list(tmp_path.glob("ready.*"))) == 2, "the processes of the job")
    began_s = time.monotonic()
    (tmp_path / store_acts.DIE).touch()
    named_s = seconds_until(launcher, "launch: the store of the job at 127.0.0.1:", began_s)
    record_property("named_s", named_s)
    assert launcher.wait() == 1
    assert (
        "failed: ZeroDivisionError('a bug of the store'); all processes are ended"
        in launcher.stderr
    )
    assert "it is started again" not in launcher.stderr
    assert_nothing_left(launcher)


@pytest.fixture
def two_hosts(tmp_path, launch):
    """Two launchers with mortal stores whose workers run; the one that serves the meeting point
    comes first.
    """
    with bind_listener() as listener:
        master = endpoint_of(listener)
    name = str(tmp_path / script(tmp_path, WAIT))
    launchers = [
        launch(
            "--nnodes=2", f"--rank={rank}", "--master", str(master), "--max_restart=2", name,
            folder=tmp_path / str(rank), entry=MORTAL, ARGOSY_TOKEN="the token of this test",
        )
        for rank in range(2)
    ]  # fmt: skip
    for rank, launcher in enumerate(launchers):
        until(
            lambda launcher=launcher, rank=rank: (launcher.folder / f"ready.{rank}").exists(),
            f"worker {rank}",
        )
    until(
        lambda: any("serves the meeting point" in launcher.stderr for launcher in launchers),
        "the meeting point",
    )
    launchers.sort(key=lambda launcher: "serves the meeting point" not in launcher.stderr)
    return master, launchers


@pytest.mark.attack("the meeting point of several hosts dies")
def test_all_hosts_end_when_the_meeting_point_dies(two_hosts, record_property):
    master, (serving, other) = two_hosts
    began_s = time.monotonic()
    (serving.folder / f"{store_acts.DIE}.{master.port}").touch()
    record_property(
        "named_s",
        seconds_until(serving, f"launch: the store of the job at {master} failed: Zero", began_s),
    )
    assert [serving.wait(), other.wait()] == [1, 1]
    assert time.monotonic() - began_s < LIMIT_S + 2.0
    assert f"lost the other hosts at {master}" in other.stderr
    for launcher in (serving, other):
        assert_nothing_left(launcher)


@pytest.mark.attack("the store of the workers of several hosts dies")
def test_all_hosts_name_the_store_of_the_workers_that_died(two_hosts, record_property):
    _, launchers = two_hosts
    first = next(launcher for launcher in launchers if (launcher.folder / "ready.0").exists())
    port = parse((first.folder / "log" / "workerlog.0").read_text().split()[0]).port
    began_s = time.monotonic()
    (first.folder / f"{store_acts.DIE}.{port}").touch()
    for launcher in launchers:
        named_s = seconds_until(
            launcher, f":{port} failed: ZeroDivisionError('a bug of the store')", began_s
        )
    record_property("named_s", named_s)
    assert [launcher.wait() for launcher in launchers] == [1, 1]
    assert time.monotonic() - began_s < LIMIT_S + 2.0
    for launcher in launchers:
        assert_nothing_left(launcher)


@pytest.mark.attack("the store of spawned processes dies")
def test_spawned_processes_are_ended_when_their_store_dies(record_property):
    from argosy.runtime.launch import spawn

    context = spawn.start(store_acts.spawned, (600.0,), 2)
    try:
        server: StoreServer = context._server
        began_s = time.monotonic()

        def fail() -> None:
            raise ZeroDivisionError("a bug of the store")

        server._expire = fail  # type: ignore[method-assign]
        server._wake_write.send(b"x")
        with pytest.raises(StoreFailed, match="a bug of the store"):
            context.join(30)
        record_property("named_s", time.monotonic() - began_s)
        assert not any(process.is_alive() for process in context.processes)
        with pytest.raises(StoreFailed, match="a bug of the store"):
            context.join()
    finally:
        context.terminate()


@pytest.mark.attack("no descriptor is left to accept with")
def test_a_store_without_descriptors_waits_for_one(pool):
    [found] = pool.run("faults.store_acts:out_of_descriptors", 1)
    assert found["greeting"] > 0
    assert 1 <= found["looks"] <= 20  # in half a second; a loop that spins looks thousands of times


@pytest.mark.attack("1,000 silent connections to the store")
def test_a_job_trains_on_under_1000_silent_connections(tmp_path, pool, monkeypatch):
    servers = []
    usual = StoreServer.__init__

    def init(self, *arguments):
        usual(self, *arguments)
        servers.append(self)

    monkeypatch.setattr(StoreServer, "__init__", init)
    most, errors = [], []

    def progress() -> int:
        path = tmp_path / "step.0"
        return int(path.read_text() or 0) if path.exists() else 0

    def flood() -> None:
        with contextlib.ExitStack() as stack:
            try:
                # a cold pool loads torch first
                while progress() <= 3 and not (tmp_path / "over").exists():
                    time.sleep(0.01)
                most.append(hold_silent_connections(servers[0], stack))
                before = progress()
                until(lambda: progress() > before + 20, "steps under the flood")
                most.append(len(servers[0]._peers))
            except BaseException as error:
                errors.append(error)
            finally:
                (tmp_path / "over").touch()

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        steps = run_job(
            pool, "faults.store_acts:train_under_a_flood", 2, folder=str(tmp_path), deadline_s=90
        )
    finally:
        (tmp_path / "over").touch()
        thread.join()
    assert not errors, errors
    assert max(most) < 64 + 10  # strangers, and the connections of two ranks
    assert all(len(of_rank) > 20 for of_rank in steps)


def hold_silent_connections(server: StoreServer, stack: contextlib.ExitStack) -> int:
    """Open FLOOD connections that say nothing; the most that the server held at once."""
    most = 0
    for _ in range(FLOOD):
        stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 30))
        most = max(most, len(server._peers))
    return most


@pytest.mark.attack("a store that is dead from the beginning")
def test_a_store_that_dies_at_once_ends_the_job_too(tmp_path, launch):
    (tmp_path / store_acts.DIE).touch()
    launcher = launch("--nproc_per_node=1", script(tmp_path, "time.sleep(600)\n"), entry=MORTAL)
    assert launcher.wait() == 1
    assert "a bug of the store" in launcher.stderr
    assert_nothing_left(launcher)
