"""Scripts of 1.x in several processes: the transpiler and both Fleets, against one process and
against real Paddle 1.8.5.
"""

from __future__ import annotations

import contextlib
import json
import socket
from pathlib import Path

import numpy as np
import pytest

import paddle.fluid as fluid
from goldens.fluid_jobs import click_model
from multiprocess import fluid_ps_workers
from support.job import run_job
from support.pool import Pool

HERE = "multiprocess.fluid_ps_workers"
# four processes load what servers need; slow where others compute too
pytestmark = pytest.mark.timeout(400)
GOLDEN = json.loads(
    (Path(__file__).parents[1] / "goldens" / "data" / "fluid_jobs.json").read_text()
)


@pytest.fixture(scope="module")
def pool():
    """Processes for these tests alone: workers that meet for a barrier stay a group for as long as
    their process lives.
    """
    with Pool() as workers:
        yield workers


@pytest.fixture
def endpoints():
    """Addresses for two servers, bound but not listened on, so that nobody else is given them."""
    with contextlib.ExitStack() as stack:
        holders = [stack.enter_context(socket.socket()) for _ in range(2)]
        for holder in holders:
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            holder.bind(("127.0.0.1", 0))
        yield [f"127.0.0.1:{holder.getsockname()[1]}" for holder in holders]


def alone(optimizer, steps, trainers=(0, 1), folder=None):
    """What one process gets on the batches of ``trainers`` together; ``folder`` is saved to at the
    end.
    """
    with fluid_ps_workers.fresh() as exe:
        loss = click_model.net()
        optimizer().minimize(loss)
        exe.run(fluid.default_startup_program())
        losses = []
        for step in steps:
            feeds = [click_model.batch(t, step) for t in trainers]
            feed = {name: np.concatenate([f[name] for f in feeds]) for name in feeds[0]}
            losses.append(float(exe.run(feed=feed, fetch_list=[loss])[0][0]))
        test = fluid.default_main_program().clone(for_test=True)
        seen = float(exe.run(test, click_model.batch(0, 99), [loss])[0][0])
        table = np.array(fluid.global_scope().find_var("table").get_tensor())
        if folder is not None:
            fluid.io.save_params(exe, folder)
        return losses, seen, table


def test_losses_of_a_sync_job_equal_those_of_paddle_and_of_one_process(pool, endpoints):
    losses, _, _ = alone(lambda: fluid.optimizer.SGD(0.2), range(click_model.STEPS))
    np.testing.assert_allclose(GOLDEN["local"]["losses"], losses, rtol=1e-5)
    found = pool.run(f"{HERE}:scripts", 4, endpoints=endpoints, deadline_s=300)[2:]
    for kind in ("transpiler", "fleet"):
        for own, theirs in zip((f[kind] for f in found), GOLDEN[kind], strict=True):
            np.testing.assert_allclose(own["losses"], theirs["losses"], rtol=1e-5, err_msg=kind)
            np.testing.assert_allclose(own["hidden"], theirs["hidden"], atol=1e-5, err_msg=kind)
        np.testing.assert_allclose(
            np.mean([f[kind]["losses"] for f in found], axis=0), losses, rtol=1e-5
        )


def test_saved_jobs_are_read_by_one_process_and_go_on(pool, endpoints, tmp_path):
    steps = range(click_model.STEPS)
    losses, seen, table = alone(lambda: fluid.optimizer.Adagrad(0.1), steps)
    found = pool.run(
        f"{HERE}:saving", 4, endpoints=endpoints, folder=str(tmp_path), deadline_s=300
    )[2:]
    np.testing.assert_allclose(np.mean([f["losses"] for f in found], axis=0), losses, rtol=1e-5)
    for each in found:
        assert each["total"] == 3.0
        assert each["seen"] == pytest.approx([seen, seen], rel=1e-5)
    with fluid_ps_workers.fresh() as exe:
        click_model.net()
        fluid.io.load_params(exe, str(tmp_path / "saved"))
        np.testing.assert_allclose(
            np.array(fluid.global_scope().find_var("table").get_tensor()), table, atol=1e-5
        )
    alone(lambda: fluid.optimizer.SGD(0.2), steps, folder=str(tmp_path / "plain"))
    resumed = pool.run(
        f"{HERE}:resuming", 4, endpoints=endpoints, folder=str(tmp_path), deadline_s=300
    )[2]
    # both went on from where training on the batches of two trainers had come to, with the batches
    # of one
    for name, optimizer in (
        ("saved", lambda: fluid.optimizer.Adagrad(0.1)),
        ("plain", lambda: fluid.optimizer.SGD(0.2)),
    ):
        expected = continued(optimizer)
        np.testing.assert_allclose(resumed[name]["losses"], expected, rtol=1e-4, err_msg=name)


def continued(optimizer):
    with fluid_ps_workers.fresh() as exe:
        loss = click_model.net()
        optimizer().minimize(loss)
        exe.run(fluid.default_startup_program())
        main = fluid.default_main_program()
        click_model.train(exe, main, loss, range(2))
        return click_model.train(exe, main, loss, [0])["losses"]


def test_an_asynchronous_job_trains(pool, endpoints):
    for before, after in pool.run(f"{HERE}:asynchronous", 4, endpoints=endpoints, deadline_s=300)[
        2:
    ]:
        assert after < 0.8 * before


@pytest.mark.parametrize("kind", ["fleet", "nccl2", "grad_allreduce", "local_sgd"])
def test_jobs_without_servers_equal_one_process(pool, kind):
    losses = run_job(pool, f"{HERE}:collective", 2, kind=kind)
    np.testing.assert_allclose(np.mean(losses, axis=0), GOLDEN["local"]["losses"][:3], rtol=1e-5)
