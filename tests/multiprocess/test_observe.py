"""What a launcher shows and keeps of a real job: where time goes, who is blamed, cards."""

from __future__ import annotations

import itertools
import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from argosy.runtime.observe.run_folder import EVENTS, RAW, read_facts, read_lines, runs_in
from argosy.runtime.observe.summary import PARTS
from support.launcher import Launcher, script, until

TRAIN = """
import time, signal
import paddle, paddle.distributed as dist
from paddle import nn

dist.init_parallel_env()
rank = dist.get_rank()
model = paddle.DataParallel(nn.Linear(8, 1))
optimizer = paddle.optimizer.SGD(0.01, parameters=model.parameters())

def slow(place, step):
    if rank == 1 and MODE == place and step in STEPS:
        if place == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(SLEEP_S)

class Data(paddle.io.IterableDataset):
    def __iter__(self):
        for step in range(NUM_STEPS):
            slow("data", step)
            yield paddle.ones([8]).numpy()

class Slow(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x, step):
        ctx.step = step
        return x * 1.0

    @staticmethod
    def backward(ctx, grad):
        slow("backward", ctx.step)
        return grad

for step, batch in enumerate(paddle.io.DataLoader(Data(), batch_size=2)):
    slow("killed", step)
    loss = Slow.apply(model(batch), step).mean()
    dist.fleet.log(step, loss=loss)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
"""


@pytest.fixture
def job(tmp_path):
    started = []

    def start(mode, steps=(3,), sleep_s=0.2, num_steps=8, *flags):
        values = (mode, tuple(steps), sleep_s, 2 * num_steps)
        head = f"MODE, STEPS, SLEEP_S, NUM_STEPS = {values}\n"
        name = script(tmp_path, head + TRAIN)
        started.append(Launcher(tmp_path, "--nproc_per_node", "2", *flags, name))
        return started[-1]

    yield start
    for launcher in started:
        launcher.close()


def run_of(tmp_path) -> Path:
    (run,) = runs_in(tmp_path / "log")
    return run


def steps_of(tmp_path):
    table = pq.read_table(run_of(tmp_path) / "steps.parquet").to_pylist()
    return {rank: [row for row in table if row["process"] == f"rank {rank}"] for rank in (0, 1)}


def test_a_sleep_in_backward_is_blamed_on_its_rank(tmp_path, job):
    assert job("backward").wait() == 0
    ranks = steps_of(tmp_path)
    assert [row["step"] for row in ranks[0]] == list(range(1, 9))
    slept = ranks[0][3]
    assert slept["latest_rank"] == 1
    assert slept["waiting_s"] == pytest.approx(0.2, abs=0.05)
    own = ranks[1][3]
    assert own["compute_s"] >= 0.2
    assert own["waiting_s"] < 0.1
    assert all(row["loss"] is not None for row in ranks[0])


def test_a_sleep_in_a_loader_is_blamed_on_the_loader(tmp_path, job):
    assert job("data", steps=(6,)).wait() == 0  # a batch has two samples
    ranks = steps_of(tmp_path)
    assert ranks[1][3]["data_s"] == pytest.approx(0.2, abs=0.05)
    assert ranks[0][3]["waiting_s"] == pytest.approx(0.2, abs=0.05)
    assert ranks[0][3]["latest_rank"] == 1


def test_the_parts_sum_to_the_wall_time(tmp_path, job):
    assert job("nothing", num_steps=50).wait() == 0
    for rows in steps_of(tmp_path).values():
        for row in rows:
            parts = sum(row[f"{name}_s"] for name in PARTS)
            assert parts == pytest.approx(row["wall_s"], rel=0.02)
            assert row["compute_s"] >= 0
        # steps follow each other without a gap
        for before, after in itertools.pairwise(rows):
            assert after["began_s"] == pytest.approx(before["began_s"] + before["wall_s"], abs=1e-6)


def test_a_killed_rank_leaves_a_card(tmp_path, job):
    launcher = job("killed", num_steps=1000)
    assert launcher.wait() == 128 + signal.SIGKILL
    run = run_of(tmp_path)
    card = json.loads((run / "card-1.json").read_text())
    assert card["cause"].startswith("rank 1 was killed by SIGKILL (")
    first, second = card["members"]
    assert first["label"] == "rank 0"
    assert "File" in first["stacks"]
    assert "backward" in first["stacks"]
    assert second["state"].startswith("was killed by SIGKILL")
    assert second["num_steps"] == 3
    assert "card: rank 1 was killed" in launcher.stderr
    assert [event["kind"] for event in read_lines(run, EVENTS)] == ["failure", "card"]


def test_a_wait_that_lasts_gets_one_card(tmp_path, job):
    launcher = job("backward", sleep_s=7.0)
    assert launcher.wait() == 0
    run = run_of(tmp_path)
    (path,) = run.glob("card-*.json")
    card = json.loads(path.read_text())
    assert card["cause"].startswith("rank 0 has waited 5 s: the average of gradients in backward")
    assert "for rank 1" in card["cause"]
    assert "in slow" in card["members"][1]["stacks"]
    assert card["who_waits"] == ["rank 0 waits for rank 1, which waits for no rank"]
    last = card["members"][0]["collectives"][-1]
    assert last["what"] == "average of gradients of group 'world'"
    assert last["took_s"] is None
    assert last["num_bytes"] > 0
    assert last["ago_s"] == pytest.approx(card["members"][0]["waits_s"], abs=0.5)
    assert all(call["took_s"] is not None for call in card["members"][1]["collectives"])


def test_top_and_dump_look_at_a_running_job(tmp_path, job):
    launcher = job("backward", steps=range(1000), sleep_s=0.02, num_steps=1000)
    until(lambda: runs_in(tmp_path / "log"), "the folder of the run")

    def argosy(*words):
        command = [sys.executable, "-m", "argosy", *words, str(tmp_path / "log")]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    until(lambda: _has_steps(tmp_path), "steps")
    shown = argosy("top", "--once")
    assert shown.returncode == 0, shown.stderr
    assert "steps/s" in shown.stdout
    assert "rank 1" in shown.stdout
    dumped = argosy("dump")
    assert dumped.returncode == 0, dumped.stderr
    for rank in (0, 1):
        assert f"rank {rank} (pid " in dumped.stdout
    assert "Current thread" in dumped.stdout
    launcher.signal(signal.SIGTERM)
    launcher.wait()
    ended = argosy("dump")
    assert ended.returncode == 1
    assert "has ended" in ended.stderr


def _has_steps(tmp_path) -> bool:
    raw = run_of(tmp_path) / "steps.raw"
    return raw.exists() and raw.stat().st_size > 2000


def test_the_plan_of_fleet_is_kept(tmp_path):
    code = """
import paddle
from paddle.distributed import fleet
strategy = fleet.DistributedStrategy()
strategy.gradient_merge = True
fleet.init(is_collective=True, strategy=strategy)
layer = paddle.nn.Linear(2, 1)
optimizer = fleet.distributed_optimizer(paddle.optimizer.SGD(0.1, parameters=layer.parameters()))
fleet.print_plan()
"""
    launcher = Launcher(tmp_path, "--nproc_per_node", "2", script(tmp_path, code))
    try:
        assert launcher.wait() == 0
    finally:
        launcher.close()
    plan = read_facts(run_of(tmp_path))["plan"]
    assert plan.startswith("Plan for 2 workers")
    assert plan in launcher.stdout + (tmp_path / "log" / "workerlog.0").read_text()


DDP = """
import time
import torch, torch.distributed as dist
where = f"file://{os.getcwd()}/meeting"
dist.init_process_group("argosy", init_method=where, rank=rank, world_size=2)

class Slow(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, seconds):
        ctx.seconds = seconds
        return x * 1.0

    @staticmethod
    def backward(ctx, grad):
        time.sleep(ctx.seconds)
        return grad, None

model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for step in range(8):
    sleep_s = 0.3 if step == 5 and rank == 1 else 0.0
    Slow.apply(model(torch.ones(2, 8)), sleep_s).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
"""


def test_what_ddp_waits_for_in_cpp_is_communication(tmp_path):
    launcher = Launcher(tmp_path, "--nproc_per_node", "2", script(tmp_path, DDP))
    try:
        assert launcher.wait() == 0, launcher.stderr
    finally:
        launcher.close()
    ranks = steps_of(tmp_path)
    waited = ranks[0][5]
    assert waited["communication_s"] == pytest.approx(0.3, abs=0.1)
    assert waited["compute_s"] < 0.15
    assert ranks[1][5]["compute_s"] >= 0.3
    for row in (*ranks[0], *ranks[1]):
        assert sum(row[f"{name}_s"] for name in PARTS) == pytest.approx(row["wall_s"], rel=0.02)
        assert row["compute_s"] >= 0


PLACES = """
import numpy as np
import paddle
from paddle import static
paddle.distributed.init_parallel_env()
paddle.enable_static()
x = static.data("x", [None, 4])
loss = static.nn.fc(x, 1).mean()
paddle.optimizer.SGD(0.1).minimize(loss)
static.Executor(paddle.CPUPlace()).run(static.default_startup_program())
with static.ParallelExecutor(False, loss.name, num_trainers=2, trainer_id=rank) as exe:
    for step in range(8):
        if step == 5 and rank == 1:
            time.sleep(0.3)
        exe.run([loss.name], feed={"x": np.ones([4, 4], "float32")})
"""


def test_places_of_a_parallel_executor_wait_for_the_other_trainer(tmp_path):
    name = script(tmp_path, PLACES)
    launcher = Launcher(tmp_path, "--nproc_per_node", "2", name, CPU_NUM="2")
    try:
        assert launcher.wait() == 0, launcher.stderr
    finally:
        launcher.close()
    waited = steps_of(tmp_path)[0][5]
    assert waited["waiting_s"] == pytest.approx(0.3, abs=0.1)
    assert waited["latest_rank"] == 1
    assert waited["compute_s"] < 0.15


def test_a_script_that_is_none_of_ours_leaves_no_run(tmp_path):
    launcher = Launcher(tmp_path, "--nproc_per_node", "2", script(tmp_path, "print('hello')"))
    try:
        assert launcher.wait() == 0
    finally:
        launcher.close()
    assert not runs_in(tmp_path / "log")


def test_a_killed_launcher_loses_no_step(tmp_path, job):
    launcher = job("backward", steps=range(1000), sleep_s=0.01, num_steps=1000)
    until(lambda: runs_in(tmp_path / "log") and _has_steps(tmp_path), "steps")
    launcher.signal(signal.SIGKILL)
    launcher.wait()
    run = run_of(tmp_path)
    kept = (run / "steps.raw").stat().st_size // RAW.itemsize
    command = [sys.executable, "-m", "argosy", "report", str(tmp_path / "log")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == str(run / "report.html")
    assert (run / "report.html").is_file()
    assert pq.read_metadata(run / "steps.parquet").num_rows == kept
    assert not (run / "steps.raw").exists()


def test_the_page_shows_a_running_job_and_goes_with_it(tmp_path, job):
    launcher = job("backward", range(1000), 0.01, 1000, "--page")
    said = until(lambda: re.search(r"page is (http://\S+)", launcher.stderr), "the address")
    until(lambda: _has_steps(tmp_path), "steps")
    with urllib.request.urlopen(said.group(1) + "data", timeout=10) as answer:
        data = json.load(answer)
    assert data["is_running"]
    assert [process["label"] for process in data["processes"]] == ["rank 0", "rank 1"]
    assert data["processes"][0]["num_steps"] > 0
    launcher.signal(signal.SIGTERM)
    launcher.wait()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(said.group(1), timeout=10)
