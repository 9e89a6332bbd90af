"""What servers and workers are told, and when they come back."""

from __future__ import annotations

from argosy.runtime.launch.hosts import Rendezvous
from argosy.runtime.launch.machine import Machine
from argosy.runtime.launch.planners.servers import ServerFiles, plan
from argosy.runtime.launch.roster import SERVER, WORKER, Member, Roster
from argosy.runtime.launch.servers.tls import TlsFiles
from argosy.runtime.launch.spec import LaunchSpec

ROSTER = Roster(
    (
        Member(SERVER, 0, "10.0.0.2:5", host=1),
        Member(SERVER, 1, "10.0.0.1:6"),
        Member(WORKER, 0, "10.0.0.1:7"),
        Member(WORKER, 1, "10.0.0.2:8", host=1),
    ),
    Rendezvous("10.0.0.1:9", "secret"),
)
COMMON = {
    "HOME": "/h",
    "OMP_NUM_THREADS": "2",
    "MKL_NUM_THREADS": "2",
    "PADDLE_MASTER": "10.0.0.1:9",
    "PADDLE_JOB_ID": "default",
    "PADDLE_WITH_GLOO": "0",
    "PADDLE_LOG_DIR": "/work/log",
    "ARGOSY_TOKEN": "secret",
    "ARGOSY_STORE_SERVED": "1",
    "ARGOSY_REQUEUE_CODE": "75",
    "PADDLE_PSERVERS_IP_PORT_LIST": "10.0.0.2:5,10.0.0.1:6",
    "PADDLE_TRAINER_ENDPOINTS": "10.0.0.1:7,10.0.0.2:8",
    "PADDLE_TRAINERS_NUM": "2",
    "POD_IP": "10.0.0.1",
    "ARGOSY_TLS_ROOT": "/root.pem",
}


def processes(max_restart=0, **inherited):
    spec = LaunchSpec(script="train.py", max_restart=max_restart)
    files = ServerFiles(
        "/tmp/job", TlsFiles("/root.pem", "/cert.pem", "/key.pem"), {"10.0.0.1:6": 12}
    )
    return plan(spec, ROSTER, Machine(inherited, 4, "/work"), files).processes


def test_every_variable_of_a_server():
    server, _ = processes(HOME="/h", PADDLE_TRAINER_ID="9", ARGOSY_PS_PROGRESS="/old")
    assert server.environment == {
        **COMMON,
        "TRAINING_ROLE": "PSERVER",
        "PADDLE_ROLE": "PSERVER",
        "PADDLE_PORT": "6",
        "PADDLE_CURRENT_ENDPOINT": "10.0.0.1:6",
        "PADDLE_PSERVER_ID": "1",
        "ARGOSY_PS_FOLDER": "/tmp/job/1",
        "ARGOSY_PS_PATIENCE": "0",
        "ARGOSY_TLS_CERT": "/cert.pem",
        "ARGOSY_TLS_KEY": "/key.pem",
    }
    assert (server.member.label, server.log_name, server.inherits) == (
        "server 1",
        "serverlog.1",
        (12,),
    )
    assert server.ended_file == "/tmp/job/1/ended"


def test_every_variable_of_a_worker():
    _, worker = processes(HOME="/h")
    assert worker.environment == {
        **COMMON,
        "TRAINING_ROLE": "TRAINER",
        "PADDLE_ROLE": "TRAINER",
        "PADDLE_PORT": "7",
        "PADDLE_CURRENT_ENDPOINT": "10.0.0.1:7",
        "PADDLE_TRAINER_ID": "0",
        "FLAGS_selected_gpus": "0",
    }
    assert (worker.member.label, worker.log_name, worker.inherits) == (
        "worker 0",
        "workerlog.0",
        (),
    )


def test_who_comes_back_and_how_often():
    server, worker = processes()
    assert (server.restart.allowed(-9), server.restart.allowed(1)) == (10, 0)
    assert (worker.restart.allowed(-9), worker.restart.allowed(1)) == (0, 0)
    server, worker = processes(max_restart=3)
    assert (server.restart.allowed(-9), server.restart.allowed(1)) == (10, 3)
    assert (worker.restart.allowed(-9), worker.restart.allowed(1)) == (3, 3)
    assert server.environment["ARGOSY_PS_PATIENCE"] == "60"
    assert worker.environment["ARGOSY_PS_PROGRESS"] == "/tmp/job/worker-0"
    assert worker.refusal_file == "/tmp/job/worker-0/refused"


def test_a_patience_that_is_set_is_kept():
    server, _ = processes(max_restart=1, ARGOSY_PS_PATIENCE="7")
    assert server.environment["ARGOSY_PS_PATIENCE"] == "7"
