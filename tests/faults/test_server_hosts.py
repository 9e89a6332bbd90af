"""Parameter-server jobs on three hosts, each a network namespace with its own processes: what dies
comes back, who is lost is named, and TLS is on without a word.
"""

from __future__ import annotations

import os
import signal
import time

import pytest

from support import ps_hosts
from support.hosts import ADDRESSES, cut_off, launchers_on
from support.launcher import until
from support.ps_restarts import Job, final_of, tables_of, train_dataset

NAMED_S = 30.0  # silence is noticed after 15 s, the processes have 10 to end


@pytest.mark.timeout(600)
@pytest.mark.attack("a server and a worker of a job on three hosts are killed: same bits as on one")
def test_three_hosts_train_as_one_whoever_is_killed(tmp_path, three_hosts):
    """Ports are the kernel's and known to nobody before; what passes between the hosts is
    encrypted, though nobody asked for it.
    """
    whole = Job(tmp_path / "whole", train_dataset)
    assert whole.run() == {0: 0, 1: 0}, whole.said()
    (tmp_path / "train.py").write_text(ps_hosts.TRAIN)
    lines = ps_hosts.lines("--max_restart", "1")
    with launchers_on(three_hosts, tmp_path, lines, COMMON=str(tmp_path)) as launchers:
        until((tmp_path / "stopped").exists, "four steps", 240)
        for role, number in (("PSERVER", 0), ("TRAINER", 1)):
            [pid] = ps_hosts.pids_of(tmp_path, role, number)
            os.kill(pid, signal.SIGKILL)
        (tmp_path / "go").touch()
        outputs = [launcher.communicate(timeout=240)[0] for launcher in launchers]
    assert [launcher.returncode for launcher in launchers] == [0, 0, 0], "\n".join(outputs)
    again = "was killed by SIGKILL (the kernel does that when memory runs out); it is started again"
    for output, killed in zip(outputs, ("server 0", "", "worker 1"), strict=True):
        assert (f"launch: {killed} {again}" in output) == bool(killed), output
    assert tables_of(tmp_path) == tables_of(whole.folder)
    for number in range(2):
        assert final_of(tmp_path, number) == final_of(whole.folder, number)
    assert {path.name[5:]: path.read_text() for path in tmp_path.glob("talk.*")} == {
        "PSERVER.0": f"by TLS at {ADDRESSES[0]}",
        "PSERVER.1": f"by TLS at {ADDRESSES[1]}",
        "TRAINER.0": f"by TLS at {ADDRESSES[1]}",
        "TRAINER.1": f"by TLS at {ADDRESSES[2]}",
    }


@pytest.mark.timeout(300)
@pytest.mark.attack("a host of a parameter-server job is lost: the others name it and end")
@pytest.mark.parametrize("how", ["its launcher is killed", "its cable is pulled"])
@pytest.mark.parametrize("lost", [0, pytest.param(2, marks=pytest.mark.thorough)])
def test_a_lost_host_is_named_by_the_others(tmp_path, three_hosts, record_property, lost, how):
    """Host 0 serves the meeting point."""
    (tmp_path / "train.py").write_text(ps_hosts.STAY)
    names = ("server-0", "server-1", "0", "1")
    with launchers_on(three_hosts, tmp_path, ps_hosts.lines(), COMMON=str(tmp_path)) as launchers:
        until(lambda: all((tmp_path / f"at-work.{n}").exists() for n in names), "work", 120)
        start = time.monotonic()
        if "killed" in how:
            launchers[lost].kill()
        else:
            cut_off(three_hosts[lost])
        left = [n for n in range(3) if n != lost]
        outputs = [launchers[n].communicate(timeout=60)[0] for n in left]
        took_s = time.monotonic() - start
        if "cable" in how:  # it has lost the others
            assert launchers[lost].wait(60) == 1
    record_property("named_s", took_s)
    assert [launchers[n].returncode for n in left] == [1, 1], "\n".join(outputs)
    for n, output in zip(left, outputs, strict=True):
        if lost == 0:
            assert f"lost the other hosts: the store at {ADDRESSES[0]}:29400" in output
        else:
            assert f"the host {ADDRESSES[2]} (worker 1) is lost" in output
        assert "the processes of this host are ended" in output
        assert list((tmp_path / f"tmp{n}").iterdir()) == []
    assert took_s < NAMED_S
    assert not any(ps_hosts.pids_of(tmp_path, "PSERVER", n) for n in range(2))
    assert not any(ps_hosts.pids_of(tmp_path, "TRAINER", n) for n in range(2))
