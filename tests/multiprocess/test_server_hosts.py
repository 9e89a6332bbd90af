"""Parameter-server jobs of several launchers that meet at ``--master``, on one machine and on three
hosts: who gets which number, who hears of what, how it ends.
"""

from __future__ import annotations

import json
import os
import signal
import socket

import pytest

from argosy.foundation.deadline import Deadline
from argosy.foundation.endpoints import parse
from argosy.runtime.comm.store import StoreClient
from argosy.runtime.launch.servers.other_hosts import PREFIX
from support.launcher import Launcher, script, until

TOKEN = "0123456789abcdef0123456789abcdef"
DUMP = """
import json
role = os.environ["TRAINING_ROLE"]
number = os.environ["PADDLE_TRAINER_ID"] if role == "TRAINER" else os.environ["PADDLE_PSERVER_ID"]
with open(f"seen.{role}.{number}", "w") as file:
    json.dump(dict(os.environ), file)
"""
# workers note that they are at work and wait for a word; servers end when every worker has
WAIT = """
from pathlib import Path
common = Path(os.environ["COMMON"])
if os.environ["TRAINING_ROLE"] == "TRAINER":
    (common / f"at-work.{rank}").touch()
    while not (common / f"go.{rank}").exists():
        time.sleep(0.01)
    (common / f"done.{rank}").touch()
    sys.exit(int((common / f"go.{rank}").read_text() or 0))
(common / f"serves.{os.environ['PADDLE_PSERVER_ID']}").touch()
while len(list(common.glob("done.*"))) < int(os.environ["PADDLE_TRAINERS_NUM"]):
    time.sleep(0.01)
"""


@pytest.fixture
def master():
    """An endpoint of this machine that is free for a moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


@pytest.fixture
def launch(tmp_path, master):
    """Starts a launcher in a folder of its own, as one of several hosts."""
    started = []

    def start(name, text, *argv, **variables):
        folder = tmp_path / name
        folder.mkdir()
        line = [*argv, script(folder, text)]
        variables = {"ARGOSY_TOKEN": TOKEN, "COMMON": str(tmp_path), **variables}
        started.append(Launcher(folder, *line, **variables))
        return started[-1]

    yield start
    for launcher in started:
        launcher.close()


def seen_in(folder):
    return {p.name[5:]: json.loads(p.read_text()) for p in folder.glob("*/seen.*")}


def counts(servers, workers, master, *, rank=None, nnodes=3):
    words = ["--nnodes", str(nnodes), "--master", master]
    words += [] if servers is None else ["--server_num", str(servers)]
    words += [] if workers is None else ["--worker_num", str(workers)]
    return words + ([] if rank is None else ["--rank", str(rank)])


def test_every_host_has_counts_of_its_own(tmp_path, launch, master):
    """The first has only servers; the second has only workers and does not name the other role;
    numbers follow --rank.
    """
    hosts = [
        launch("c", DUMP, *counts(1, 2, master, rank=2)),
        launch("b", DUMP, *counts(None, 1, master, rank=1)),
        launch("a", DUMP, *counts(2, 0, master, rank=0)),
    ]
    assert [host.wait(60) for host in hosts] == [0, 0, 0], [host.stderr for host in hosts]
    seen = seen_in(tmp_path)
    place = {p.name[5:]: p.parent.name for p in tmp_path.glob("*/seen.*")}
    assert place == {
        "PSERVER.0": "a", "PSERVER.1": "a", "PSERVER.2": "c",
        "TRAINER.0": "b", "TRAINER.1": "c", "TRAINER.2": "c",
    }  # fmt: skip
    [servers] = {env["PADDLE_PSERVERS_IP_PORT_LIST"] for env in seen.values()}
    [workers] = {env["PADDLE_TRAINER_ENDPOINTS"] for env in seen.values()}
    assert len({*servers.split(","), *workers.split(",")}) == 6
    for number, endpoint in enumerate(servers.split(",")):
        env = seen[f"PSERVER.{number}"]
        assert f"{env['POD_IP']}:{env['PADDLE_PORT']}" == endpoint
    assert {env["PADDLE_TRAINERS_NUM"] for env in seen.values()} == {"3"}
    assert {env["PADDLE_MASTER"] for env in seen.values()} == {master}
    # all hosts are at a loopback address
    assert not any("ARGOSY_TLS_ROOT" in env for env in seen.values())
    for host in hosts:
        assert "3 servers, 3 workers, on 3 hosts" in host.stderr
        assert list((host.folder / "tmp").iterdir()) == []


def test_the_pods_of_kubeflow(tmp_path, launch, master):
    """Its operator says how many pods there are, where they meet, and on each pod the count of its
    own role only.
    """
    common = {"PADDLE_NNODES": "3", "PADDLE_MASTER": master, "PADDLE_JOB_ID": "paddle-ps"}
    hosts = [
        launch("master-0", DUMP, PADDLE_SERVER_NUM="1", **common),
        launch("worker-0", DUMP, PADDLE_TRAINER_NUM="1", **common),
        launch("worker-1", DUMP, PADDLE_TRAINER_NUM="1", **common),
    ]
    assert [host.wait(60) for host in hosts] == [0, 0, 0], [host.stderr for host in hosts]
    assert sorted(seen_in(tmp_path)) == ["PSERVER.0", "TRAINER.0", "TRAINER.1"]
    assert list(tmp_path.glob("master-0/seen.*")) == [tmp_path / "master-0" / "seen.PSERVER.0"]


def test_the_pods_of_paddle_operator(tmp_path, launch, free_ports):
    """It lists every process, tells each pod which one it is, and names no meeting point."""
    servers, workers = (
        [f"127.0.0.1:{port}" for port in ports] for ports in (free_ports[:2], free_ports[2:])
    )
    common = {
        "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(servers),
        "PADDLE_TRAINER_ENDPOINTS": ",".join(workers),
        "PADDLE_TRAINERS": "127.0.0.1,127.0.0.1",
        "PADDLE_TRAINERS_NUM": "2",
        "TRAINER_PORTS_NUM": "20",
        "POD_IP": "127.0.0.1",
    }
    hosts = []
    for role, word in (("ps", "PSERVER"), ("worker", "TRAINER")):
        for number in range(2):
            variables = {**common, "TRAINING_ROLE": word, "PADDLE_TRAINER_ID": str(number)}
            variables["PADDLE_PORT"] = (servers if role == "ps" else workers)[number].split(":")[1]
            hosts.append(launch(f"{role}-{number}", DUMP, **variables))
    assert [host.wait(60) for host in hosts] == [0] * 4, [host.stderr for host in hosts]
    assert {p.name[5:]: p.parent.name for p in tmp_path.glob("*/seen.*")} == {
        "PSERVER.0": "ps-0", "PSERVER.1": "ps-1", "TRAINER.0": "worker-0", "TRAINER.1": "worker-1",
    }  # fmt: skip


@pytest.fixture
def free_ports():
    probes = [socket.socket() for _ in range(4)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def at_work(folder, *names):
    until(lambda: all((folder / name).exists() for name in names), " ".join(names))


def test_servers_outlast_the_workers_of_their_own_host(tmp_path, launch, master):
    """The servers of a host wait for the workers of the others, and the launcher with them."""
    first = launch("a", WAIT, *counts(1, 1, master, rank=0, nnodes=2))
    second = launch("b", WAIT, *counts(0, 1, master, rank=1, nnodes=2))
    at_work(tmp_path, "at-work.0", "at-work.1", "serves.0")
    (tmp_path / "go.0").touch()
    at_work(tmp_path, "done.0")
    with pytest.raises(AssertionError, match="the launcher still runs"):
        first.wait(1)
    (tmp_path / "go.1").touch()
    assert [first.wait(), second.wait()] == [0, 0], first.stderr + second.stderr


def test_a_worker_that_fails_ends_the_job_on_all_hosts(tmp_path, launch, master):
    first = launch("a", WAIT, *counts(1, 1, master, rank=0, nnodes=2))
    second = launch("b", WAIT, *counts(1, 1, master, rank=1, nnodes=2))
    at_work(tmp_path, "at-work.0", "at-work.1", "serves.0", "serves.1")
    (tmp_path / "go.1").write_text("7")
    assert [first.wait(), second.wait()] == [7, 7]
    assert "worker 1 exited with code 7; the job was ended" in second.stderr
    words = "launch: worker 1 on 127.0.0.1 exited with code 7; the processes of this host are ended"
    assert words in first.stderr
    assert first.descendants() == second.descendants() == []


@pytest.mark.parametrize("stopped", ["a", "b"])
def test_a_launcher_that_is_stopped_ends_the_job_on_all_hosts(tmp_path, launch, master, stopped):
    """Whether it serves the meeting point or not."""
    hosts = {
        "a": launch("a", WAIT, *counts(1, 0, master, rank=0, nnodes=2)),
        "b": launch("b", WAIT, *counts(0, 1, master, rank=1, nnodes=2)),
    }
    at_work(tmp_path, "at-work.0", "serves.0")
    hosts[stopped].signal(signal.SIGTERM)
    assert [host.wait() for host in hosts.values()] == [143, 143]
    [other] = (host for name, host in hosts.items() if name != stopped)
    assert "launch: the launcher on 127.0.0.1 was killed by SIGTERM" in other.stderr


# a worker that saves when it is asked, as a loop of auto_checkpoint does
SAVE = """
from argosy.foundation import notices
if os.environ["TRAINING_ROLE"] == "TRAINER":
    def save(number, frame):
        open(os.environ["COMMON"] + f"/done.{rank}", "w").close()
        notices.tell(notices.SAVED, 3)
        sys.exit(75)
    signal.signal(signal.SIGTERM, save)
    notices.tell(notices.LOOP, 1 << signal.SIGTERM)
"""


def test_a_request_to_a_host_of_servers_is_one_to_all(tmp_path, launch, master):
    """The worker of the other host saves, and all end with the code for it."""
    first = launch("a", SAVE + WAIT, *counts(1, 0, master, rank=0, nnodes=2))
    second = launch("b", SAVE + WAIT, *counts(0, 1, master, rank=1, nnodes=2))
    at_work(tmp_path, "at-work.0", "serves.0")
    where = parse(master)
    with StoreClient(where.host, where.port, TOKEN, Deadline.after(20)) as store:
        until(lambda: store.check([f"{PREFIX}/saves/{int(signal.SIGTERM)}"]), "somebody who saves")
    first.signal(signal.SIGTERM)
    assert [first.wait(), second.wait()] == [75, 75], first.stderr + second.stderr
    assert "launch: asked by SIGTERM to save and to leave" in first.stderr
    assert "launch: pre-empted: saved at step 3, exit 75" in second.stderr
    assert (tmp_path / "done.0").exists()


def test_a_killed_server_comes_back_while_the_other_hosts_go_on(tmp_path, launch, master):
    first = launch("a", WAIT, *counts(1, 0, master, rank=0, nnodes=2))
    second = launch("b", WAIT, *counts(0, 1, master, rank=1, nnodes=2))
    at_work(tmp_path, "at-work.0", "serves.0")
    line = next(line for line in first.stderr.splitlines() if "server 0" in line)
    (tmp_path / "serves.0").unlink()
    os.kill(int(line.split()[2]), signal.SIGKILL)
    at_work(tmp_path, "serves.0")
    (tmp_path / "go.0").touch()
    assert [first.wait(), second.wait()] == [0, 0], first.stderr + second.stderr
    assert "server 0 was killed by SIGKILL" in first.stderr
    assert "SIGKILL" not in second.stderr


def test_hosts_that_want_different_things_are_told_so(launch, master):
    hosts = [
        launch("a", DUMP, *counts(1, 0, master, nnodes=2), "--tls", "true"),
        launch("b", DUMP, *counts(0, 1, master, nnodes=2)),
    ]
    assert [host.wait() for host in hosts] == [2, 2]
    for host in hosts:
        assert "servers and workers must talk in one way" in host.stderr


def test_a_job_without_servers_is_refused_everywhere(launch, master):
    hosts = [launch(name, DUMP, *counts(None, 1, master, nnodes=2)) for name in "ab"]
    assert [host.wait() for host in hosts] == [2, 2]
    assert all("none of the hosts 127.0.0.1, 127.0.0.1 has a server" in h.stderr for h in hosts)
