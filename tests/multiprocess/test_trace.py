"""Traces of real jobs: asked for while they run, or recorded from start to end."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from argosy.foundation.trace import KEY
from argosy.jobs import trace as command_line
from argosy.runtime.observe import chrome
from argosy.runtime.observe.run_folder import runs_in
from support.launcher import Launcher, script, until
from support.traces import checked, spans_of

TRAIN = """
import paddle, paddle.distributed as dist
from paddle import nn

dist.init_parallel_env()
model = paddle.DataParallel(nn.Sequential(nn.Linear(8, 64), nn.Linear(64, 1)))
optimizer = paddle.optimizer.SGD(0.01, parameters=model.parameters())

class Data(paddle.io.IterableDataset):
    def __iter__(self):
        while STEPS is None or optimizer_steps < STEPS:
            yield paddle.ones([8]).numpy()

optimizer_steps = 0
for batch in paddle.io.DataLoader(Data(), batch_size=2):
    loss = model(batch).mean()
    dist.fleet.log(optimizer_steps, loss=loss)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    is_over = paddle.to_tensor([float(os.path.exists("end"))])
    dist.all_reduce(is_over)
    optimizer_steps += 1
    if float(is_over):
        break
"""
# each by itself: a rank that goes does not hold up the other
APART = """
import paddle, torch

paddle.seed(0)
weight = torch.nn.Parameter(torch.zeros(1))
optimizer = torch.optim.SGD([weight], 0.1)
note("ready")
while not os.path.exists("end"):
    time.sleep(0.001)
    optimizer.step()
    if rank == 1 and os.path.exists("leave"):
        os._exit(0)
"""


@pytest.fixture
def start(tmp_path):
    started = []

    def launch(*argv, **variables):
        started.append(Launcher(tmp_path, *argv, **variables))
        return started[-1]

    yield launch
    for launcher in started:
        launcher.close()


def ask(tmp_path, *words):
    command = [sys.executable, "-m", "argosy", "trace", str(tmp_path / "log"), *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def answer(asked):
    out, err = asked.communicate(timeout=60)
    assert asked.returncode == 0, err
    return out.strip()


def until_it_steps(tmp_path):
    def has_steps():
        runs = runs_in(tmp_path / "log")
        return runs and (runs[-1] / "steps.raw").stat().st_size > 2000

    until(has_steps, "steps")


def end(tmp_path, launcher):
    (tmp_path / "end").touch()
    assert launcher.wait() == 0
    (run,) = runs_in(tmp_path / "log")
    assert not list(run.glob("*.parts"))
    return run


def test_steps_of_a_running_job(tmp_path, start):
    launcher = start("--nproc_per_node", "2", script(tmp_path, "STEPS = None\n" + TRAIN))
    until_it_steps(tmp_path)
    first = Path(answer(ask(tmp_path, "--steps", "5")))
    second = Path(answer(ask(tmp_path, "--steps", "2")))
    run = end(tmp_path, launcher)
    assert (first, second) == (run / "trace-1.json", run / "trace-2.json")
    assert len(spans_of(checked(second), 0, "step")) == 2
    trace = checked(first)
    about = trace["otherData"]
    assert about["missing"] == []
    assert [each["is_aligned"] for each in about["clocks"]] == [True]
    assert [each["num_lost"] for each in about["processes"]] == [0, 0]
    for rank in (0, 1):
        steps = spans_of(trace, rank, "step")
        assert len(steps) == 5
        assert all("loss" in step["args"] for step in steps)
        reduced = [e for e in spans_of(trace, rank, "collective") if e["name"] == "all_reduce"]
        assert len(reduced) == 5
        assert all(e["args"] == {"group": "world", "bytes": 4} for e in reduced)
        assert "data" in {event["name"] for event in spans_of(trace, rank, "wait")}
    # a bucket of one round: arrows from both ranks to both reductions
    common = {e["args"][KEY] for e in spans_of(trace, 0, "reduce")} & {
        e["args"][KEY] for e in spans_of(trace, 1, "reduce")
    }
    ends = [e for e in trace["traceEvents"] if e["ph"] == "f"]
    assert len(common) >= 3
    assert len(ends) >= 4 * len(common)


def test_servers_and_workers_are_in_one_trace(tmp_path, start):
    example = Path(__file__).parents[2] / "examples" / "wide_deep_ps.py"
    flags = ("--server_num", "2", "--worker_num", "2")
    launcher = start(*flags, str(example), "--steps", "12", ARGOSY_TRACE="traces")
    assert launcher.wait(90.0) == 0, launcher.stderr
    (path,) = (tmp_path / "traces").iterdir()
    assert f"launch: trace: {path}\n" in launcher.stderr
    trace = checked(path)
    labels = {each["label"] for each in trace["otherData"]["processes"]}
    assert labels == {"server 0", "server 1", "worker 0", "worker 1"}
    for server in (0, 1):
        served = spans_of(trace, chrome.SERVERS + server, "server")
        pulls = [event for event in served if event["name"] == "pull deep"]
        assert len(pulls) >= 24  # two workers
        assert all(event["args"]["rows"] > 0 for event in pulls)
    for worker in (0, 1):
        names = {event["name"] for event in spans_of(trace, worker, "wait")}
        assert {"pull", "push"} <= names
        asked = [e for e in spans_of(trace, worker, "server") if e["name"] == "pull deep"]
        assert len(asked) >= 12


def test_who_goes_meanwhile_is_named(tmp_path, start):
    launcher = start("--nproc_per_node", "2", script(tmp_path, APART))
    until_it_steps(tmp_path)
    asked = ask(tmp_path, "--steps", "1000000", "--limit", "60")
    until(lambda: list(tmp_path.glob("log/runs/*/trace-1.parts")), "the request")
    other = ask(tmp_path)
    assert "another `argosy trace`" in other.communicate(timeout=60)[1]
    (tmp_path / "leave").touch()
    until(lambda: len(launcher.descendants()) < 4, "the end of rank 1")
    (tmp_path / "end").touch()  # rank 0 comes to its end before its last step: what it has counts
    assert answer(asked).endswith("trace-1.json, without rank 1")
    run = end(tmp_path, launcher)
    trace = checked(run / "trace-1.json")
    assert trace["otherData"]["missing"] == ["rank 1"]
    assert [each["label"] for each in trace["otherData"]["processes"]] == ["rank 0"]
    assert spans_of(trace, 0, "step")


def test_a_job_that_fails_leaves_the_traces_of_the_others(tmp_path, start):
    text = TRAIN.replace("    optimizer_steps += 1\n", "    optimizer_steps += 1\n" + KILL)
    name = script(tmp_path, "STEPS = 1000\n" + text)
    launcher = start("--nproc_per_node", "2", name, ARGOSY_TRACE="traces")
    assert launcher.wait() == 128 + 9
    (path,) = (tmp_path / "traces").iterdir()
    trace = checked(path)
    assert trace["otherData"]["missing"] == ["rank 1"]
    assert len(spans_of(trace, 0, "step")) >= 5
    assert f"{path}, without rank 1" in launcher.stderr


KILL = """
    if rank == 1 and optimizer_steps == 5:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_process_without_launcher_writes_its_own(tmp_path):
    (tmp_path / "train.py").write_text(
        "import paddle\n"
        "layer = paddle.nn.Linear(2, 1)\n"
        "optimizer = paddle.optimizer.SGD(0.1, parameters=layer.parameters())\n"
        "for _ in range(3):\n"
        "    layer(paddle.ones([1, 2])).sum().backward()\n"
        "    optimizer.step()\n"
    )
    command = [sys.executable, "train.py"]
    environment = {"PATH": "", "ARGOSY_TRACE": "traces"}
    subprocess.run(command, cwd=tmp_path, env=environment, timeout=60, check=True)
    (path,) = (tmp_path / "traces").iterdir()
    trace = checked(path)
    assert path.name.startswith("rank-0-")
    assert [event["name"] for event in spans_of(trace, 0, "step")] == ["step 1", "step 2", "step 3"]


SPAWN = """
import paddle, paddle.distributed as dist

def train():
    dist.init_parallel_env()
    model = paddle.DataParallel(paddle.nn.Linear(4, 1))
    model(paddle.ones([2, 4])).mean().backward()

if __name__ == "__main__":
    dist.spawn(train, nprocs=2)
"""


def test_ranks_that_a_script_starts_write_files_that_can_be_joined(tmp_path):
    (tmp_path / "train.py").write_text(SPAWN)
    environment = {"PATH": "", "ARGOSY_TRACE": "traces", "TMPDIR": str(tmp_path)}
    command = [sys.executable, "train.py"]
    subprocess.run(command, cwd=tmp_path, env=environment, timeout=90, check=True)
    first, second = sorted((tmp_path / "traces").iterdir())
    assert first.name.startswith("rank-0-")
    assert second.name.startswith("rank-1-")
    whole = tmp_path / "whole.json"
    assert command_line.main(["--join", str(first), str(second), "--output", str(whole)]) == 0
    assert sum(event["ph"] == "f" for event in checked(whole)["traceEvents"]) == 4


CLOCK = "import sys, time\nfor _ in sys.stdin: print(time.perf_counter_ns(), flush=True)"


def test_processes_of_a_host_have_one_clock():
    """Directly: what another process reads lies between two readings here, which are closer to each
    other than the error that traces may have.
    """
    child = subprocess.Popen(
        [sys.executable, "-c", CLOCK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdin is not None
    assert child.stdout is not None
    errors = []
    with child:
        for _ in range(2000):
            before_ns = time.perf_counter_ns()
            print(file=child.stdin, flush=True)
            there_ns = int(child.stdout.readline())
            after_ns = time.perf_counter_ns()
            # the offset of the other clock is in between
            errors.append((before_ns - there_ns, after_ns - there_ns))
        child.stdin.close()
    least_ns, most_ns = max(low for low, _ in errors), min(high for _, high in errors)
    assert least_ns <= 0 <= most_ns
    assert most_ns - least_ns < 50_000, statistics.median(high - low for low, high in errors)
