"""Parameter-server jobs started by the launcher: roles, logs, restarts, the end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket

import pytest

from support.launcher import Launcher, script, until

LAUNCH_PS = "argosy.distributed.launch_ps:launch"
DUMP = """
import json
role = os.environ["TRAINING_ROLE"]
number = os.environ["PADDLE_TRAINER_ID"] if role == "TRAINER" else os.environ["PADDLE_PSERVER_ID"]
json.dump(dict(os.environ), open(f"seen.{role}.{number}", "w"))
print("output of", role, number)
"""
# a server that serves one table, a worker that pushes to it
TRAIN = """
import time
from pathlib import Path
import numpy as np
role, token = os.environ["TRAINING_ROLE"], os.environ["ARGOSY_TOKEN"]
workers = int(os.environ["PADDLE_TRAINERS_NUM"])
if role == "PSERVER":
    from argosy.runtime.ps.server.service import Service
    from argosy.runtime.ps.server.tables import Tables
    tables = Tables(Path(os.environ["ARGOSY_PS_FOLDER"]), workers, lambda *_: None)
    from argosy.runtime.ps.wire import tls
    where = f"{tls.scheme()}://{os.environ['POD_IP']}:{os.environ['PADDLE_PORT']}"
    service = Service(where, tables, token, workers, tls_certificates=tls.server_certificates())
    print("serving", len(tables.items()), "tables", flush=True)
    service.serve_to_the_end()
    sys.exit(0)
from argosy.runtime.ps.wire import tls
from argosy.runtime.ps.worker.client import Client
from argosy.runtime.ps.tables.spec import SparseSpec
from argosy.runtime.ps.tables.rules import Rule
number = int(os.environ["PADDLE_TRAINER_ID"])
with Client(os.environ["PADDLE_PSERVERS_IP_PORT_LIST"].split(","), number, token, 30.0,
    tls.root_certificates()) as client:
    client.join()
    client.create_sparse(SparseSpec("t", 1, Rule("sgd", 1.0), max_rows=1024), "async")
    for step in range(client.sequence("t"), 6):
        client.push("t", np.arange(4), np.ones((4, 1), np.float32))
        open(f"step.{number}.{step}", "w").close()
        if step == 2 and len(sys.argv) > 1:
            while not os.path.exists("go"):
                time.sleep(0.01)
    print("values", client.pull("t", np.arange(4)).ravel().tolist(), flush=True)
    client.leave()
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


def test_roles_know_their_place(tmp_path, launch):
    launcher = launch("--server_num", "2", "--worker_num", "2", script(tmp_path, DUMP))
    assert launcher.wait(100) == 0
    seen = {p.name[5:]: json.loads(p.read_text()) for p in tmp_path.glob("seen.*")}
    assert sorted(seen) == ["PSERVER.0", "PSERVER.1", "TRAINER.0", "TRAINER.1"]
    servers = seen["TRAINER.0"]["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")
    assert len(set(servers)) == 2
    for name, env in seen.items():
        assert env["PADDLE_PSERVERS_IP_PORT_LIST"].split(",") == servers
        assert env["PADDLE_TRAINERS_NUM"] == "2"
        assert env["ARGOSY_TOKEN"] == seen["TRAINER.0"]["ARGOSY_TOKEN"]
        if name.startswith("PSERVER"):
            assert f"{env['POD_IP']}:{env['PADDLE_PORT']}" == servers[int(name[-1])]
    for name in ("serverlog.0", "serverlog.1", "workerlog.0", "workerlog.1"):
        role = "PSERVER" if name.startswith("server") else "TRAINER"
        assert (tmp_path / "log" / name).read_text() == f"output of {role} {name[-1]}\n"
    assert launcher.stdout == "output of TRAINER 0\n"
    assert "2 servers, 2 workers" in launcher.stderr
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_killed_server_comes_back_with_its_tables(tmp_path, launch):
    launcher = launch("--server_num", "1", "--worker_num", "2", script(tmp_path, TRAIN), "waits")
    until(lambda: all((tmp_path / f"step.{w}.2").exists() for w in range(2)), "three pushes")
    pid = int(next(line for line in launcher.stderr.splitlines() if "server 0" in line).split()[2])
    os.kill(pid, signal.SIGKILL)
    (tmp_path / "go").touch()
    assert launcher.wait(100) == 0, launcher.stderr
    assert "server 0 was killed by SIGKILL" in launcher.stderr
    assert (tmp_path / "log" / "serverlog.0").read_text() == "serving 0 tables\nserving 1 tables\n"
    logs = [(tmp_path / "log" / f"workerlog.{w}").read_text().splitlines() for w in range(2)]
    assert f"values {[-12.0] * 4}" in (
        logs[0][-1],
        logs[1][-1],
    )  # the last worker sees all twelve pushes, each applied once
    assert list((tmp_path / "tmp").iterdir()) == []


KILLED_AT_THE_END = TRAIN.replace("    sys.exit(0)\n", "    os.kill(os.getpid(), 9)\n")
KILLED_BEFORE_IT_FORGETS = TRAIN.replace(
    "    service.serve_to_the_end()\n",
    """\
    if not os.path.exists("killed"):
        open("killed", "w").close()
        tables.end_job = lambda: os.kill(os.getpid(), 9)
    service.serve_to_the_end()
""",
)
# the launcher hears of the server's death while a worker still runs
STAYING = """
while "server 0 was killed" not in open("stderr").read():
    time.sleep(0.01)
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (KILLED_AT_THE_END, "its part in the job was over"),
        (KILLED_BEFORE_IT_FORGETS, "it is started again"),
    ],
)
def test_a_server_that_is_killed_after_the_last_goodbye_keeps_nobody_waiting(
    tmp_path, launch, text, told
):
    launcher = launch("--server_num", "1", "--worker_num", "1", script(tmp_path, text + STAYING))
    # were the server to wait for its worker, it would be ended after 30 s
    assert launcher.wait(25) == 0, launcher.stderr
    (line,) = (x for x in launcher.stderr.splitlines() if "server 0 was killed by SIGKILL" in x)
    assert told in line
    assert f"values {[-6.0] * 4}\n" in launcher.stdout
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.attack("Another process takes a server's port before the server, or after its death")
def test_the_port_of_a_server_cannot_be_taken(tmp_path, launch):
    text = TRAIN.replace(
        'if role == "PSERVER":',
        'if role == "PSERVER":\n    while not os.path.exists("serve"):\n        time.sleep(0.01)',
    )
    launcher = launch("--server_num", "1", "--worker_num", "1", script(tmp_path, text), "waits")
    until((tmp_path / "stderr").exists, "the launcher")
    line = until(
        lambda: next((x for x in launcher.stderr.splitlines() if "server 0" in x), None),
        "the table",
    ).split()
    host, _, port = line[3].partition(":")

    def take():
        with socket.socket() as thief:
            thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            thief.bind((host, int(port)))

    with pytest.raises(OSError, match="in use"):
        take()
    (tmp_path / "serve").touch()
    until((tmp_path / "step.0.2").exists, "three pushes")
    os.kill(int(line[2]), signal.SIGKILL)
    for _ in range(20):
        with pytest.raises(OSError, match="in use"):
            take()
    (tmp_path / "go").touch()
    assert launcher.wait(100) == 0, launcher.stderr
    assert f"values {[-6.0] * 4}\n" in launcher.stdout


def test_a_worker_that_fails_ends_the_job(tmp_path, launch):
    text = (
        'if os.environ["TRAINING_ROLE"] == "TRAINER" and rank == 1:\n    sys.exit("no '
        'data")\nimport time\ntime.sleep(60)\n'
    )
    launcher = launch("--server_num", "1", "--worker_num", "2", script(tmp_path, text))
    assert launcher.wait(100) == 1
    assert "worker 1 exited with code 1; the job was ended" in launcher.stderr
    assert "| no data" in launcher.stderr
    assert launcher.descendants() == []


def test_a_worker_may_come_back(tmp_path, launch):
    text = TRAIN.replace(
        "for step in",
        'if not os.path.exists(f"died.{number}"):\n        open(f"died.{number}", "w").close()\n '
        "       os.kill(os.getpid(), 9)\n    for step in",
    )
    launcher = launch(
        "--server_num", "1", "--worker_num", "1", "--max_restart", "1", script(tmp_path, text)
    )
    assert launcher.wait(100) == 0, launcher.stderr
    assert "worker 0 was killed by SIGKILL" in launcher.stderr
    assert f"values {[-6.0] * 4}\n" in launcher.stdout


def test_the_launcher_of_1_x(tmp_path, launch):
    launcher = launch("--worker_num", "1", script(tmp_path, DUMP), entry=LAUNCH_PS)
    assert launcher.wait(100) == 0
    assert sorted(p.name for p in (tmp_path / "logs").iterdir()) == [
        "serverlog.0",
        "serverlog.1",
        "workerlog.0",
    ]


def test_killing_the_launcher_leaves_nothing(tmp_path, launch):
    launcher = launch("--server_num", "1", "--worker_num", "1", script(tmp_path, TRAIN), "waits")
    until(lambda: (tmp_path / "step.0.2").exists(), "three pushes")
    launcher.process.kill()
    until(lambda: launcher.descendants() == [], "the end of all processes")
    until(lambda: list((tmp_path / "tmp").iterdir()) == [], "the removal of the tables")


def test_the_servers_are_seen_in_the_launcher(tmp_path, launch):
    launcher = launch("--server_num", "1", "--worker_num", "1", script(tmp_path, TRAIN), "waits")
    until(lambda: (tmp_path / "step.0.2").exists(), "three pushes")
    shown = "ps: 1 of 1 servers, 1 tables, 4 rows, "  # maybe after lines from before the pushes
    line = until(
        lambda: next((x for x in launcher.stderr.splitlines() if x.startswith(shown)), None),
        "a line",
    )
    assert line.endswith("staleness 0")
    (tmp_path / "go").touch()
    assert launcher.wait() == 0, launcher.stderr


def test_a_quiet_launcher_shows_nothing(tmp_path, launch):
    launcher = launch(
        "--server_num", "1", "--worker_num", "1", "--log_level", "WARNING", script(tmp_path, TRAIN)
    )
    assert launcher.wait() == 0
    assert launcher.stderr == ""


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes certificates")
def test_a_job_with_tls(tmp_path, launch):
    text = TRAIN.replace(
        "if role ==", 'assert os.path.isfile(os.environ["ARGOSY_TLS_ROOT"])\nif role ==', 1
    )
    launcher = launch("--server_num", "1", "--worker_num", "1", "--tls", script(tmp_path, text))
    assert launcher.wait() == 0, launcher.stderr
    assert f"values {[-6.0] * 4}\n" in launcher.stdout
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_certificate_without_its_key_is_refused(tmp_path, launch):
    launcher = launch(
        "--server_num", "1", "--worker_num", "1", "--tls_cert", "cert.pem", script(tmp_path, TRAIN)
    )
    assert launcher.wait() == 2
    assert "servers --tls_cert and --tls_key beside it; given: --tls_cert" in launcher.stderr
