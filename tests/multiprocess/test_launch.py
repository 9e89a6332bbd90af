"""The launcher, with real workers: what they are told, what is logged, what the terminal shows, how
it exits.
"""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from argosy.foundation.endpoints import bind_listener, endpoint_of
from support.launcher import Launcher, script

FLEET = "argosy.distributed.fleet.launch:launch"
DUMP = """
import json
json.dump([dict(os.environ), sys.argv[1:]], open(f"seen.{rank}", "w"))
print("output of", rank)
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


def seen(folder: Path, rank: int):
    return json.loads((folder / f"seen.{rank}").read_text())


def test_workers_know_their_place(tmp_path, launch):
    name = script(tmp_path, DUMP)
    launcher = launch("--nproc_per_node", "3", name, "--lr", "0.1", http_proxy="http://proxy")
    assert launcher.wait() == 0
    endpoints = seen(tmp_path, 0)[0]["PADDLE_TRAINER_ENDPOINTS"].split(",")
    assert len(set(endpoints)) == 3
    masters = set()
    for rank in range(3):
        env, argv = seen(tmp_path, rank)
        assert argv == ["--lr", "0.1"]
        assert env["PADDLE_TRAINER_ID"] == env["PADDLE_LOCAL_RANK"] == str(rank)
        assert env["PADDLE_TRAINERS_NUM"] == "3"
        assert env["PADDLE_CURRENT_ENDPOINT"] == endpoints[rank]
        assert env["OMP_NUM_THREADS"] == str(max(1, len(os.sched_getaffinity(0)) // 3))
        assert "http_proxy" not in env
        masters.add((env["PADDLE_MASTER"], env["ARGOSY_TOKEN"]))
    assert len(masters) == 1


def test_log_folder_and_terminal(tmp_path, launch):
    launcher = launch(
        "--nproc_per_node", "2", "--job_id", "mine", script(tmp_path, DUMP), SECRET="hush"
    )
    assert launcher.wait() == 0
    log = tmp_path / "log"
    files = sorted(path.name for path in log.iterdir())
    assert files[0:2] == ["envlog.0", "envlog.1"]
    assert re.fullmatch(r"mine\.[a-z]{6}\.log", files[2])
    assert files[3:] == ["workerlog.0", "workerlog.1"]
    assert (log / "workerlog.1").read_text() == "output of 1\n"
    assert launcher.stdout == "output of 0\n"
    assert re.search(
        r"2 workers.*\n  rank  pid +log\n +0 +\d+ +log/workerlog.0\n +1 +\d+ +log/workerlog.1\n",
        launcher.stderr,
    )
    token = seen(tmp_path, 0)[0]["ARGOSY_TOKEN"]
    for text in [launcher.stdout, launcher.stderr, *(path.read_text() for path in log.iterdir())]:
        assert token not in text
        assert "hush" not in text
    assert (
        f"rank 1: {seen(tmp_path, 1)[0]['PADDLE_CURRENT_ENDPOINT']}" in (log / files[2]).read_text()
    )
    assert "PADDLE_TRAINER_ID=1" in (log / "envlog.1").read_text()


def test_logs_are_appended_to_or_overwritten(tmp_path, launch):
    name = script(tmp_path, DUMP)
    for _ in range(2):
        assert launch("--log_dir=out", name).wait() == 0
    assert (tmp_path / "out" / "workerlog.0").read_text() == "output of 0\n" * 2
    last = launch("--log_dir=out", "--log_overwrite", "true", name)
    assert last.wait() == 0
    assert (tmp_path / "out" / "workerlog.0").read_text() == last.stdout == "output of 0\n"


def test_1_8_style_uses_the_terminal_and_2_0_writes_endpoints(tmp_path, launch):
    name = script(tmp_path, DUMP)
    old = launch("--selected_gpus=0,1", name)
    assert old.wait() == 0
    assert sorted(old.stdout.splitlines()) == ["output of 0", "output of 1"]
    assert not (tmp_path / "log").exists()
    assert seen(tmp_path, 1)[0]["FLAGS_selected_gpus"] == "1"

    assert launch("--nproc_per_node=2", "--log_level=ERROR", name, entry=FLEET).wait() == 0
    assert sorted(path.name for path in (tmp_path / "log").iterdir()) == [
        "endpoints.log",
        "workerlog.0",
        "workerlog.1",
    ]
    endpoints = seen(tmp_path, 0)[0]["PADDLE_TRAINER_ENDPOINTS"].split(",")
    assert (tmp_path / "log" / "endpoints.log").read_text().splitlines() == [
        "PADDLE_TRAINER_ENDPOINTS: ",
        *endpoints,
    ]


def test_gpus_that_are_not_there_become_cpu_workers(tmp_path, launch):
    launcher = launch("--gpus=0,1", "--print_config", "false", script(tmp_path, DUMP))
    assert launcher.wait() == 0
    assert (
        launcher.stderr
        == "launch: PyTorch sees no GPU here; the cards that were named become 2 CPU worker(s)\n"
    )
    assert [seen(tmp_path, rank)[0]["FLAGS_selected_gpus"] for rank in range(2)] == ["0", "1"]


def test_threads_can_be_set(tmp_path, launch):
    assert launch("--num_threads=5", script(tmp_path, DUMP), OMP_NUM_THREADS="3").wait() == 0
    assert seen(tmp_path, 0)[0]["OMP_NUM_THREADS"] == "5"


def test_a_script_without_py_is_executed(tmp_path, launch):
    path = tmp_path / "train"
    path.write_text('#!/bin/sh\necho "$1 $PADDLE_TRAINER_ID"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    launcher = launch(str(path), "argument")
    assert launcher.wait() == 0
    assert launcher.stdout == "argument 0\n"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            ["--nproc_per_node", "2", "missing.py"],
            "ConfigError: launch: there is no script 'missing.py'",
        ),
        (
            ["--nproc_per_node", "2", "./missing"],
            "ConfigError: launch: cannot start './missing': No such file",
        ),
        (
            ["--gpu=0", "t.py"],
            "ConfigError: launch: there is no option '--gpu'. Did you mean '--gpus'",
        ),
        (
            ["--server_num", "1", "t.py"],
            "ConfigError: launch: a parameter-server job needs --worker_num or --workers",
        ),
    ],
)
def test_wrong_calls_exit_with_2(launch, argv, message):
    launcher = launch(*argv)
    assert launcher.wait() == 2
    assert message in launcher.stderr
    assert launcher.descendants() == []


def test_a_failed_job_is_started_again(tmp_path, launch):
    name = script(
        tmp_path,
        "tries = len([f for f in os.listdir() if "
        "f.startswith('try')])\nnote(f'try{tries}')\nsys.exit(tries < 2)\n",
    )
    launcher = launch("--max_restart", "2", name)
    assert launcher.wait() == 0
    assert launcher.stderr.count("restarting the job") == 2
    again = launch("--max_restart", "1", script(tmp_path, "sys.exit(4)\n", "bad.py"))
    assert again.wait() == 4
    assert again.stderr.count("launch: rank 0 exited with code 4") == 2


def test_listed_hosts_need_no_meeting(tmp_path, launch):
    """Two addresses of this machine stand for two hosts, each named by --host; the first serves the
    store for both.
    """
    reach = (
        "import socket\nip, port = "
        "os.environ['PADDLE_MASTER'].split(':')\nsocket.create_connection((ip, int(port)), "
        "20).close()\n"
    )
    name = script(
        tmp_path,
        DUMP + reach + "note('reached')\nwhile not os.path.exists('reached.1'): time.sleep(0.01)\n",
    )
    with bind_listener() as listener:
        port = endpoint_of(listener).port
    common = ["--ips=127.0.0.1,127.0.0.2", "--start_port", str(port), "--nproc_per_node=1"]
    hosts = [
        launch(*common, "--log_dir", f"log{i}", "--host", f"127.0.0.{i + 1}", name)
        for i in range(2)
    ]
    assert [host.wait() for host in hosts] == [0, 0]
    endpoints = [f"127.0.0.1:{port}", f"127.0.0.2:{port}"]
    for rank in range(2):
        env, _ = seen(tmp_path, rank)
        assert (env["PADDLE_TRAINER_ENDPOINTS"], env["PADDLE_CURRENT_ENDPOINT"]) == (
            ",".join(endpoints),
            endpoints[rank],
        )
        assert (env["PADDLE_MASTER"], env["PADDLE_NNODES"], env["PADDLE_LOCAL_RANK"]) == (
            endpoints[0],
            "2",
            "0",
        )


def test_hosts_that_cannot_tell_which_they_are(launch):
    launcher = launch("--ips=127.0.0.1,127.0.0.2", __file__)
    assert launcher.wait() == 2
    assert "127.0.0.1 and 127.0.0.2 are addresses of it; name it with --host" in launcher.stderr


def test_entry_points(tmp_path):
    """``python -m`` finds the launcher under Paddle's name, and its workers meet."""
    name = script(
        tmp_path,
        "import paddle, paddle.distributed as dist\ndist.init_parallel_env()\nx = "
        "paddle.to_tensor([rank + 1.0])\n"
        "dist.all_reduce(x)\nprint(float(x))\n",
    )
    done = subprocess.run(
        [sys.executable, "-m", "paddle.distributed.launch", "--nproc_per_node=2", name],
        cwd=tmp_path, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "3.0\n"), done.stderr
    pyproject = Path(__file__).resolve().parents[2] / "pyproject.toml"
    scripts = tomllib.loads(pyproject.read_text())["project"]["scripts"]
    assert scripts["fleetrun"] == "argosy.distributed.launch.main:launch"
    import paddle.distributed

    assert callable(paddle.distributed.launch)
