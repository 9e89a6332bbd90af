"""``argosy prove``: jobs that go on as they should, and jobs that do not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile

import pytest

from argosy.jobs import prove
from support.launcher import until

pytestmark = pytest.mark.timeout(200)

GOOD = """
import numpy as np
import paddle
from paddle.distributed import fleet

class Squares(paddle.io.Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, i):
        return np.float32([i / 40, np.random.rand()])

fleet.init(is_collective=True)
paddle.seed(0)
np.random.seed(fleet.worker_index())
model = paddle.nn.Sequential(paddle.nn.Linear(2, 4), paddle.nn.Dropout(0.3), paddle.nn.Linear(4, 1))
optimizer = fleet.distributed_optimizer(
    paddle.optimizer.Adam(0.05, parameters=model.parameters()))
model = fleet.distributed_model(model)
data = Squares()
loader = paddle.io.DataLoader(
    data, batch_sampler=paddle.io.DistributedBatchSampler(data, 2, shuffle=True))
run = fleet.auto_checkpoint("ckpt", 3, model=model, optimizer=optimizer, loader=loader)
for epoch in run.epochs(2):
    for x in run.batches():
        loss = (model(x) ** 2).mean()
        fleet.log(run.num_steps, loss=loss)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
"""

# what it keeps by itself, after each step, lacks what the first argument says
OWN = """
import os, sys, torch
import paddle.distributed.fleet as fleet

fault, path = sys.argv[1], sys.argv[2] + "/state"
fleet.init(is_collective=True)
torch.manual_seed(int.from_bytes(os.urandom(6), "big") if fault == "luck" else 0)
model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
optimizer = torch.optim.Adam(model.parameters(), 0.1)
begin = 0
if os.path.exists(path):
    state = torch.load(path)
    begin = state["step"] + (fault == "batch")
    model.load_state_dict(state["model"])
    if fault != "optimizer":
        optimizer.load_state_dict(state["optimizer"])
data = torch.utils.data.TensorDataset(torch.arange(40.0).reshape(20, 2))
for step, (x,) in enumerate(torch.utils.data.DataLoader(data)):
    if step < begin:
        continue
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if fault != "checkpoint":
        state = {"step": step + 1, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save(state, path + ".new")
        os.replace(path + ".new", path)
"""


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the command on a script, with temporary files of the test's own; its exit code, and what
    it said.
    """
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.chdir(tmp_path)

    def run(text, *argv):
        (tmp_path / "train.py").write_text(text)
        options = [word for word in argv if word.startswith("--")]
        rest = [word for word in argv if not word.startswith("--")]
        code = prove.main([*options, "train.py", *rest])
        said = capsys.readouterr()
        return code, said.out + said.err

    return run


def left_in(folder):
    return [path.name for path in (folder / "tmp").iterdir()]


def test_a_job_that_goes_on_passes(run, tmp_path):
    code, said = run(GOOD, "--seed=5", "--faults=2", "--nproc_per_node=2")
    assert code == 0, said
    assert "PASS (seed 5): 2 faults, 40 steps of 2 processes with 8 tensors" in said
    assert "40 losses and 40 batches: bit for bit as undisturbed" in said
    # kinds of victims take turns
    assert re.search(r"fault \d: SIG\w+ to rank \d", said)
    assert re.search(r"fault \d: SIG\w+ to launcher", said)
    assert said.count(" same ") == 2
    until(lambda: left_in(tmp_path) == [], "the end of temporary files")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tmp", "train.py"]


# its one fault kills the only rank in the middle of the job
SEED = "--seed=39"


def test_a_job_that_loses_the_state_of_its_optimizer_fails(run, tmp_path):
    code, said = run(OWN, SEED, "--faults=1", "optimizer", "{folder}")
    assert code == 1, said
    step = int(re.search(r"fault 1: .* in step (\d+)", said)[1])
    assert 1 < step < 20
    first = f"FAIL (seed 39): the first difference is in step {step}, rank 0: tensor '0.weight' "
    assert f"{first}differs, and 3 more" in said
    assert "DIFFERS" in said
    [kept] = left_in(tmp_path)
    assert f"logs, records and what the job has kept: {tmp_path}/tmp/{kept}" in said


@pytest.mark.thorough
@pytest.mark.attack("a job that leaves a batch out when it goes on does not pass as proved")
def test_a_job_that_leaves_a_batch_out_fails(run):
    code, said = run(OWN, SEED, "--faults=1", "batch", "{folder}")
    assert code == 1, said
    assert "FAIL" in said
    assert "rank 0: " in said


@pytest.mark.thorough
@pytest.mark.attack("a job whose undisturbed runs differ is told from one that fails")
def test_a_job_that_is_not_the_same_twice_is_told_from_one_that_fails(run):
    code, said = run(OWN, SEED, "--faults=1", "luck", "{folder}")
    assert code == 3, said
    assert "NOT DETERMINISTIC: two undisturbed runs differ" in said
    assert "The first difference is in step 1, rank 0: loss differs" in said


@pytest.mark.thorough
@pytest.mark.attack("a job that keeps no checkpoints does not pass as proved")
def test_a_job_that_keeps_nothing_is_not_proved(run):
    code, said = run(OWN, SEED, "--faults=1", "checkpoint", "{folder}")
    assert code == 2, said
    assert "the job keeps no checkpoints: after SIG" in said


@pytest.mark.thorough
@pytest.mark.attack("a run that finds what another has kept does not pass as proved")
def test_a_job_that_finds_what_another_run_kept_is_not_proved(run, tmp_path):
    code, said = run(OWN, SEED, "--faults=1", "nothing", str(tmp_path))
    assert code == 2, said
    assert "it went on from what the undisturbed one had kept" in said
    assert "{folder}" in said


@pytest.mark.thorough
@pytest.mark.attack("a proof keeps to its time")
def test_no_fault_comes_that_the_time_is_too_short_for(run):
    code, said = run(OWN, "--time=1", "nothing", "{folder}")
    assert code == 2, said
    assert "undisturbed, the job was not done when the time was over (--time)" in said
    assert "disturbed 1" not in said


@pytest.mark.thorough
@pytest.mark.attack("a job without steps, or that fails by itself, does not pass as proved")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("print('hello')", "the job has no steps"),
        ("raise SystemExit(3)", "undisturbed it ends with exit code 3"),
    ],
)
def test_a_job_that_cannot_be_judged(run, text, expected):
    code, said = run(text, "--faults=1")
    assert code == 2, said
    assert expected in said


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--faults=0"], "--faults must be more than 0"),
        (["--fault=1"], "there is no option '--fault'"),
        (["--seed=x"], "--seed must be an integer"),
        (["--nnodes=2", "--master=127.0.0.1:1"], "a job is proved on one host"),
        (["--scheduler=slurm"], "a job is proved on one host"),
    ],
)
def test_wrong_options(run, options, expected):
    code, said = run("", *options)
    assert code == 2
    assert expected in said


def test_a_launcher_is_no_process_of_the_job(tmp_path):
    """It has their environment, but fires no faults and is not one of the victims called ranks."""
    done = subprocess.run(
        [sys.executable, "-m", "argosy.distributed.launch", "--help"],
        env={**os.environ, "ARGOSY_PROOF": str(tmp_path)},
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert b"usage: " in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_there_must_be_a_script(run, tmp_path, capsys):
    assert prove.main(["--faults=1", "nowhere.py"]) == 2
    assert "there is no script 'nowhere.py'" in capsys.readouterr().err
