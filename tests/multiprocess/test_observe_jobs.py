"""What is seen of jobs of several hosts, of jobs with servers, and of those that start again."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from argosy.foundation.endpoints import bind_listener, endpoint_of
from argosy.runtime.observe.run_folder import EVENTS, read_lines, read_now, runs_in
from multiprocess.test_launch_ps import TRAIN as SERVED
from support.launcher import Launcher, script, until

TOKEN = "the token of this test"
# trains until the file STOP is there, which all ranks agree on
TRAIN = """
import paddle, paddle.distributed as dist
dist.init_parallel_env()
model = paddle.DataParallel(paddle.nn.Linear(8, 1))
optimizer = paddle.optimizer.SGD(0.01, parameters=model.parameters())
first = not os.path.exists(STOP + ".failed")
is_over = paddle.zeros([1])
while float(is_over) == 0:
    loss = model(paddle.ones([2, 8])).mean()
    dist.fleet.log(loss=loss)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    time.sleep(0.01)
    if first and FAILS == rank and os.path.exists(STOP + ".fail"):
        open(STOP + ".failed", "w").close()
        sys.exit(7)
    is_over[0] = float(os.path.exists(STOP))
    dist.all_reduce(is_over)
"""


@pytest.fixture
def started():
    launchers = []
    yield launchers
    for launcher in launchers:
        launcher.close()


@pytest.fixture
def hosts(tmp_path, started):
    """Starts a launcher for each of two hosts, which meet."""
    with bind_listener() as listener:
        master = str(endpoint_of(listener))

    def start(*flags, fails=-1):
        name = script(tmp_path, f"STOP, FAILS = {str(tmp_path / 'stop')!r}, {fails}\n{TRAIN}")
        for number in range(2):
            folder = tmp_path / str(number)
            folder.mkdir()
            words = ("--master", master, "--nnodes=2", f"--rank={number}", *flags)
            launcher = Launcher(folder, *words, str(tmp_path / name), ARGOSY_TOKEN=TOKEN)
            started.append(launcher)
        return started

    return start


def run_of(folder):
    (run,) = runs_in(folder / "log")
    return run


def data_in(report):
    text = report.read_text()
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL).group(1))


def test_the_first_host_shows_the_ranks_of_all(tmp_path, hosts):
    first, second = hosts()
    log = first.folder / "log"
    until(lambda: runs_in(log), "the run of the first host")
    seen = until(
        lambda: [each for each in read_now(run_of(first.folder)).get("processes", ())
                 if each["num_steps"] > 5],
        "steps of the other host",
    )  # fmt: skip
    assert [each["label"] for each in seen] == ["rank 1"]
    command = [sys.executable, "-m", "argosy", "top", "--once", str(log)]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "steps/s" in shown.stdout
    (tmp_path / "stop").touch()
    assert (first.wait(), second.wait()) == (0, 0)
    run = run_of(first.folder)
    data = data_in(run / "report.html")
    assert [each["label"] for each in data["processes"]] == ["rank 0", "rank 1"]
    for process in data["processes"]:
        assert process["num_steps"] > 5
        assert process["wall_s"] > 0
        assert process["spent_s"]["compute"] > 0
    # each launcher has the steps of its own host, and the second one shows no others
    assert set(pq.read_table(run / "steps.parquet")["process"].to_pylist()) == {"rank 0"}
    other = data_in(run_of(second.folder) / "report.html")
    assert [each["label"] for each in other["processes"]] == ["rank 1"]
    assert not (run / "now.json").exists()


def test_rounds_are_on_the_time_line(tmp_path, hosts):
    first, second = hosts("--max_restart=1", fails=1)
    for launcher in (first, second):
        until(lambda launcher=launcher: runs_in(launcher.folder / "log"), "a run")
    (tmp_path / "stop.fail").touch()
    until(lambda: (tmp_path / "stop.failed").exists(), "the failure")

    def events(launcher):
        return [(e["kind"], e["text"]) for e in read_lines(run_of(launcher.folder), EVENTS)]

    until(lambda: any(kind == "round" for kind, _ in events(first)), "the second round")
    (tmp_path / "stop").touch()
    assert (first.wait(), second.wait()) == (0, 0)
    failed = [text for kind, text in events(first) if kind == "failure"]
    assert any("rank 1 on 127.0.0.1 exited with code 7" in text for text in failed)
    assert ("round", "round 2 begins with 2 hosts; this host has the ranks 0") in events(first)
    assert ("failure", "rank 1 exited with code 7") in events(second)


def test_a_restart_of_the_whole_job_is_on_the_time_line(tmp_path, started):
    head = f"STOP, FAILS = {str(tmp_path / 'stop')!r}, 1\n"
    (tmp_path / "stop.fail").touch()
    name = script(tmp_path, head + TRAIN)
    started.append(Launcher(tmp_path, "--nproc_per_node", "2", "--max_restart", "1", name))
    until(lambda: (tmp_path / "stop.failed").exists(), "the failure")
    (tmp_path / "stop").touch()
    assert started[0].wait() == 0
    events = read_lines(run_of(tmp_path), EVENTS)
    assert [event["kind"] for event in events] == ["failure", "card", "restart"]
    assert events[2]["text"] == "restarting the job (1 of at most 1 restarts)"


def test_a_signal_that_stops_the_job_is_on_the_time_line(tmp_path, started):
    name = script(tmp_path, f"STOP, FAILS = {str(tmp_path / 'stop')!r}, -1\n{TRAIN}")
    started.append(Launcher(tmp_path, "--nproc_per_node", "2", name))
    until(lambda: runs_in(tmp_path / "log"), "the run")
    started[0].signal(signal.SIGTERM)
    assert started[0].wait() == 128 + signal.SIGTERM
    (event,) = read_lines(run_of(tmp_path), EVENTS)
    assert event["kind"] == "end"
    assert event["text"].startswith("stopped (was killed by SIGTERM")


def test_tables_of_servers_are_kept(tmp_path, started):
    text = "import argosy.distributed.job\n" + SERVED
    name = script(tmp_path, text)
    flags = ("--server_num", "1", "--worker_num", "1", "--keep_runs", "1")
    entry = "argosy.distributed.launch.main:launch"
    started.append(Launcher(tmp_path, *flags, name, "wait", entry=entry))
    until(lambda: runs_in(tmp_path / "log"), "the run")
    run = run_of(tmp_path)
    until(lambda: any(t["pushes"] for t in read_now(run).get("tables", ())), "pushes")
    command = [sys.executable, "-m", "argosy", "top", "--once", str(tmp_path / "log")]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "1 tables, 4 rows" in shown.stdout
    (tmp_path / "go").touch()
    assert started[0].wait() == 0, started[0].stderr
    kept = pq.read_table(run / "tables.parquet").to_pylist()
    assert {(row["name"], row["kind"], row["dim"]) for row in kept} == {("t", "sparse", 1)}
    assert kept[-1]["rows"] == 4
    (table,) = data_in(run / "report.html")["tables"]
    assert (table["label"], table["rows"][-1]) == ("t", 4)


def test_a_worker_that_waits_for_a_server_gets_a_card(tmp_path, started):
    """In a synchronous step the server waits for the other worker, and is asked meanwhile."""
    text = SERVED.replace('"async"', '"sync"').replace(
        "        client.push(",
        """\
        while number == 1 and step == 3 and not any(Path("log").glob("runs/*/card-1.json")):
            time.sleep(0.01)
        client.push(""",
    )
    name = script(tmp_path, "import argosy.distributed.job\n" + text)
    started.append(Launcher(tmp_path, "--server_num", "1", "--worker_num", "2", name))
    assert started[0].wait() == 0, started[0].stderr
    (path,) = run_of(tmp_path).glob("card-*.json")
    card = json.loads(path.read_text())
    waiting = next(member for member in card["members"] if member["label"] == "worker 0")
    assert re.fullmatch(r"step of 't' at server 0 \(127\.0\.0\.1:\d+\)", waiting["waits_at"])
    assert card["cause"] == f"worker 0 has waited 5 s: {waiting['waits_at']}"
    assert "in push" in waiting["stacks"]
