"""What goes wrong under a launcher: the right message and exit code, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from argosy.foundation.endpoints import bind_listener, parse
from argosy.runtime.launch.process_pool import ProcessPool
from argosy.runtime.launch.process_spec import ProcessSpec
from argosy.runtime.launch.roster import RANK, Member
from support.launcher import (
    MARK,
    Launcher,
    assert_nothing_left,
    script,
    wait_for_workers,
)

WAIT = """
subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
import json
endpoints = [os.environ["PADDLE_MASTER"], os.environ["PADDLE_CURRENT_ENDPOINT"]]
json.dump(endpoints, open("endpoints", "w"))
note("ready")
time.sleep(600)
"""


@pytest.fixture
def launch(tmp_path):
    started = []

    def start(*argv):
        started.append(Launcher(tmp_path, *argv))
        return started[-1]

    yield start
    for launcher in started:
        launcher.close()


@pytest.mark.attack("a launcher ended by a signal")
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGKILL, -9)],
)
def test_the_end_of_the_launcher_is_the_end_of_everything(tmp_path, launch, number, code):
    """Workers and what they started, the ports and temporary files; a process that only looks
    similar is spared.
    """
    import json

    shared = set(os.listdir("/dev/shm"))
    launcher = launch("--nproc_per_node", "2", script(tmp_path, WAIT))
    stranger = subprocess.Popen(["sleep", "600"], env={MARK: "stranger"}, process_group=0)
    try:
        wait_for_workers(tmp_path, 2)
        # the group's leader, two workers and a child of each
        assert len(launcher.descendants()) >= 5
        launcher.signal(number)
        assert launcher.wait() == code
        assert_nothing_left(launcher)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()
    for endpoint in json.loads((tmp_path / "endpoints").read_text()):
        where = parse(endpoint)
        bind_listener(where.host, where.port).close()
    assert set(os.listdir("/dev/shm")) <= shared
    if number != signal.SIGKILL:
        assert f"was killed by {signal.Signals(number).name}" in launcher.stderr


@pytest.mark.attack("a worker that ignores SIGTERM")
def test_a_second_signal_does_not_wait(tmp_path, launch):
    launcher = launch(
        script(
            tmp_path,
            "signal.signal(signal.SIGTERM, lambda *_: note('asked'))\nnote('ready')\nwhile True: "
            "time.sleep(1)\n",
        )
    )
    wait_for_workers(tmp_path, 1)
    launcher.signal(signal.SIGTERM)
    wait_for_workers(tmp_path, 1, "asked")
    launcher.signal(signal.SIGTERM)
    assert launcher.wait() == 143
    assert "rank 0 (pid" in launcher.stderr
    assert "did not end on SIGTERM and was killed" in launcher.stderr
    assert_nothing_left(launcher)


@pytest.mark.attack("a rank that fails, and drags others along")
@pytest.mark.parametrize(
    ("end", "words", "code"),
    [
        ("sys.exit(3)", "exited with code 3", 3),
        ("raise RuntimeError('out of luck')", "exited with code 1", 1),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "was killed by SIGSEGV (segmentation fault)", 139),
        ("os.kill(os.getpid(), signal.SIGKILL)", "was killed by SIGKILL", 137),
    ],
)
def test_the_first_rank_that_fails_is_named(tmp_path, launch, end, words, code):
    """The others fail as soon as they see it, which must not make them the first."""
    text = f"""
open(f"pid.{{rank}}", "w").write(str(os.getpid()))
subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
if rank == 1:
    while not os.path.exists("ready.0") or not os.path.exists("ready.2"): time.sleep(0.001)
    print("the last words", flush=True)
    {end}
while not os.path.exists("pid.1") or not (pid := open("pid.1").read()): time.sleep(0.001)
note("ready")
while os.path.exists(f"/proc/{{pid}}") and ") Z" not in open(f"/proc/{{pid}}/stat").read(): pass
os._exit(9)
"""
    launcher = launch("--nproc_per_node", "3", script(tmp_path, text))
    assert launcher.wait() == code
    assert f"launch: rank 1 {words}" in launcher.stderr
    assert "first to fail" in launcher.stderr
    assert "last lines of log/workerlog.1:\n  | the last words\n" in launcher.stderr
    assert_nothing_left(launcher)


@pytest.mark.attack("an old log beside a new failure")
def test_the_log_of_an_earlier_run_is_not_blamed(tmp_path, launch):
    assert launch(script(tmp_path, "print('long ago')\n")).wait() == 0
    launcher = launch(script(tmp_path, "sys.exit('just now')\n"))
    assert launcher.wait() == 1
    assert "long ago" not in launcher.stderr
    assert "  | just now\n" in launcher.stderr


@pytest.mark.attack("a child that outlives its worker")
def test_children_of_a_worker_that_ended_well_are_ended_with_the_job(tmp_path, launch):
    launcher = launch(script(tmp_path, "subprocess.Popen(['sleep', '600'])\n"))
    assert launcher.wait() == 0
    assert_nothing_left(launcher)


@pytest.mark.attack("processes of others beside the job")
def test_only_the_own_group_is_signalled(monkeypatch):
    signalled = []
    real = os.killpg

    def killpg(group, number):
        signalled.append(group)
        real(group, number)

    monkeypatch.setattr(os, "killpg", killpg)
    monkeypatch.setattr(os, "kill", None)
    argv = (sys.executable, "-S", "-c", "import time; time.sleep(600)")
    with ProcessPool() as pool:
        group = pool.group_id
        child = pool.start(ProcessSpec(member=Member(RANK, 0), argv=argv, environment={}))
        assert os.getpgid(child.pid) == group
        assert pool.end(grace_s=10) == []
        assert child.poll() == -signal.SIGTERM
    assert set(signalled) == {group}


@pytest.mark.attack("a log folder in which a file cannot be written")
def test_a_job_whose_files_cannot_be_written_is_not_started(tmp_path, launch):
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "envlog.1").mkdir()
    launcher = launch("--nproc_per_node", "2", script(tmp_path, WAIT))
    assert launcher.wait() == 2
    assert "envlog.1" in launcher.stderr
    assert not list(tmp_path.glob("ready.*"))
    assert_nothing_left(launcher)
