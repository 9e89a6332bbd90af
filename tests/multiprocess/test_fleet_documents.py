"""The examples of Fleet's document run as they stand: alone, as two workers, and by fleetrun. Three
that the document leaves incomplete run with what they lack.
"""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import paddle
from argosy.distributed.fleet.base.role_facts import VARIABLES
from support.job import run_job

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "documents" / "fleet").glob("*.py"))
DEADLINE_S = 90.0  # three interpreters that import torch, on a busy machine


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")
def test_an_example_runs_in_one_process(path, monkeypatch, tmp_path, capsys):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path))
    announced = [
        line[1:].strip()
        for line in path.read_text().splitlines()
        if line.startswith("#    current lr")
    ]
    if announced:
        assert capsys.readouterr().out.splitlines() == announced


# -- incomplete examples
# --------------------------------------------------------------------------------------------


@pytest.fixture
def program(monkeypatch, tmp_path):
    """A program to be recorded into, by a process that is alone."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    paddle.enable_static()
    try:
        with (
            paddle.static.scope_guard(paddle.static.Scope()),
            paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()),
        ):
            yield paddle.static.default_main_program()
    finally:
        paddle.disable_static()


def run_incomplete(name, **lacking):
    """The names of an example that does not define ``lacking``."""
    return runpy.run_path(
        str(EXAMPLES[0].parent / "incomplete" / f"{name}.py"), init_globals=lacking
    )


def test_distributed_optimizer_with_the_import_that_it_lacks(program):
    optimizer = run_incomplete("distributed_optimizer", paddle=paddle)["optimizer"]
    x = paddle.static.data("x", [None, 2])
    optimizer.minimize(paddle.static.nn.fc(x, 1).mean())
    assert any(op.type == "sgd" for op in program.global_block().ops)


def test_save_inference_model_with_the_variables_that_it_lacks(program):
    x = paddle.static.data("feednames1", [None, 2])
    predicted = paddle.static.nn.fc(x, 1)
    paddle.static.Executor().run(paddle.static.default_startup_program())
    run_incomplete("save_inference_model", acc=predicted.mean(), loss=predicted)
    exe = paddle.static.Executor()
    read, feeds, (_, loss) = paddle.static.load_inference_model(
        "dirname", exe, model_filename="__model__"
    )
    assert feeds == ["feednames1"]
    data = np.ones((3, 2), "float32")
    [expected] = exe.run(program, feed={"feednames1": data}, fetch_list=[predicted])
    assert np.array_equal(exe.run(read, feed={"feednames1": data}, fetch_list=[loss])[0], expected)


@pytest.mark.filterwarnings("ignore")
def test_set_state_dict_with_the_load_of_its_time(monkeypatch, tmp_path):
    """Paddle 2.0-beta's load gave the parameters and the optimizer's state as two values."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    load = paddle.framework.load
    monkeypatch.setattr(paddle.framework, "load", lambda path: (None, load(path)))
    names = run_incomplete("set_state_dict")
    # before its first step an optimizer has no state
    assert names["opti_state_dict"] == names["state_dict"] == {}


# -- several workers
# ------------------------------------------------------------------------------------------------


def test_two_workers(pool, tmp_path):
    """All of them in turn; each worker has a folder of its own."""
    paths = [str(path) for path in EXAMPLES]
    assert run_job(
        pool, "multiprocess.fleet_base_workers:examples", 2, paths=paths, folder=str(tmp_path)
    ) == [0, 1]


def test_fleetrun(tmp_path):
    shutil.copy(
        next(path for path in EXAMPLES if path.stem == "distributed_model"), tmp_path / "example.py"
    )
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PADDLE_", "FLAGS_"))
    }
    done = subprocess.run(
        [sys.executable, "-m", "paddle.distributed.launch", "--gpus=0,1", "example.py"],
        cwd=tmp_path, env=kept, capture_output=True, text=True, timeout=DEADLINE_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("loss:") == 1  # the terminal shows the first worker
    assert "loss:" in (tmp_path / "log" / "workerlog.1").read_text()
