"""Launchers that meet at a master, here all on one machine."""

from __future__ import annotations

import re
import signal

import pytest

from argosy.foundation.endpoints import bind_listener, endpoint_of
from multiprocess.launcher import Launcher, script, until


@pytest.fixture
def master() -> str:
    """An endpoint that was free a moment ago; launchers on several hosts cannot be handed a bound one."""
    with bind_listener() as listener:
        return str(endpoint_of(listener))


@pytest.fixture
def start(tmp_path, master):
    started = []

    def launch(number, *argv):
        folder = tmp_path / str(number)
        folder.mkdir()
        started.append(Launcher(folder, "--master", master, *argv, ARGOSY_TOKEN="of this test, all of it"))
        return started[-1]

    yield launch
    for launcher in started:
        launcher.close()


def test_a_failure_restarts_all_hosts(tmp_path, start):
    """Rank 2 fails in the first round, when others may have ended well; every launcher names it, and the second round succeeds."""
    text = f"""
marker = {str(tmp_path / "failed")!r}
if rank == 2 and not os.path.exists(marker):
    open(marker, "w").close()
    sys.exit(5)
print("rank", rank, "of", os.environ["PADDLE_TRAINERS_NUM"], os.environ["PADDLE_LOCAL_RANK"], os.environ["PADDLE_NNODES"])
"""
    name = str(tmp_path / script(tmp_path, text))
    second = start(1, "--nnodes=2", "--rank=1", "--max_restart=1", name)
    first = start(0, "--nnodes=2", "--rank=0", "--nproc_per_node=2", "--max_restart=1", name)
    assert (first.wait(), second.wait()) == (0, 0)
    assert re.search(r"rank 2 on 127\.0\.0\.1 exited with code 5", first.stderr)
    assert "rank 2 exited with code 5; it was the first to fail" in second.stderr
    assert first.stdout.splitlines()[-1] == "rank 0 of 3 0 2"
    assert second.stdout.splitlines()[-1] == "rank 2 of 3 0 2"
    for launcher in (first, second):
        until(lambda launcher=launcher: not launcher.descendants(), "the end of all processes")


def test_without_restarts_the_job_ends_everywhere(tmp_path, start):
    name = str(tmp_path / script(tmp_path, "sys.exit(6) if rank == 1 else time.sleep(600)\n"))
    launchers = [start(rank, "--nnodes=2", f"--rank={rank}", name) for rank in range(2)]
    assert [launcher.wait() for launcher in launchers] == [6, 6]
    assert "rank 1 on 127.0.0.1 exited with code 6" in launchers[0].stderr
    for launcher in launchers:
        until(lambda launcher=launcher: not launcher.descendants(), "the end of all processes")


def test_an_elastic_job_starts_with_the_least_number_of_hosts(tmp_path, start):
    name = str(tmp_path / script(tmp_path, "print(os.environ['PADDLE_TRAINERS_NUM'])\n"))
    launcher = start(0, "--nnodes=1:2", "--elastic_timeout=1", name)
    assert launcher.wait() == 0
    assert launcher.stdout == "1\n"


def test_a_host_that_joins_restarts_the_workers(tmp_path, start):
    name = str(
        tmp_path
        / script(tmp_path, "n = os.environ['PADDLE_TRAINERS_NUM']\nprint(n)\nnote(n)\nif n == '1': time.sleep(600)\n")
    )
    elastic = ["--nnodes=1:2", "--elastic_timeout=1"]
    first = start(0, *elastic, name)
    until((first.folder / "1.0").exists, "the first worker")
    second = start(1, *elastic, name)
    assert (first.wait(), second.wait()) == (0, 0)
    assert (first.stdout, second.stdout) == ("1\n2\n", "2\n")


def test_hosts_notice_that_the_master_is_gone(tmp_path, start):
    name = str(tmp_path / script(tmp_path, "note('ready')\ntime.sleep(600)\n"))
    launchers = [start(rank, "--nnodes=2", f"--rank={rank}", name) for rank in range(2)]
    until(lambda: all((launchers[rank].folder / f"ready.{rank}").exists() for rank in range(2)), "the workers")
    serving = next(n for n in range(2) if "serves" in launchers[n].stderr)
    launchers[serving].signal(signal.SIGKILL)
    other = launchers[1 - serving]
    assert other.wait() == 1
    assert "lost the other hosts" in other.stderr
    for launcher in launchers:
        until(lambda launcher=launcher: not launcher.descendants(), "the end of all processes")


def test_two_hosts_with_one_number(tmp_path, start):
    name = str(tmp_path / script(tmp_path, ""))
    launchers = [start(i, "--nnodes=2", "--rank=1", name) for i in range(2)]
    assert [launcher.wait() for launcher in launchers] == [2, 2]
    assert all("were both started with --rank 1" in launcher.stderr for launcher in launchers)
