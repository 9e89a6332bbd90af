"""Signals of schedulers at any phase of training, to the launcher, to one process or to all: what
was saved goes on as if nothing had happened.
"""

from __future__ import annotations

import os
import signal

import pytest

from argosy.foundation.endpoints import bind_listener, endpoint_of
from support.launcher import Launcher, assert_nothing_left, script, until
from support.preempted import (
    COLLECTIVE,
    FLAGS,
    PHASES,
    Ring,
    assert_undisturbed,
    run_collective,
    run_from_datasets,
    run_served,
    saved_step,
)
from support.ps_restarts import final_of, tables_of

NUM_PLANS = int(os.environ.get("ARGOSY_TEST_PLANS", 2 * len(PHASES)))
pytestmark = pytest.mark.timeout(600)


def plans(values, num_quick):
    """All of them; those beyond the first few take long together."""
    return [
        pytest.param(value, marks=[pytest.mark.thorough] if n >= num_quick else [])
        for n, value in enumerate(values)
    ]


def run_whole(tmp_path_factory, run):
    folder = tmp_path_factory.mktemp("whole")
    code, said = run(folder)
    assert code == 0, said
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a collective run that nobody asked for anything."""
    return run_whole(tmp_path_factory, run_collective)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The same with servers."""
    return run_whole(tmp_path_factory, run_served)


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    """The same with ``train_from_dataset``."""
    return run_whole(tmp_path_factory, run_from_datasets)


def check_goes_on(run, whole, folder, ring, **options):
    """Twice, so that a run that was resumed can be asked too."""
    code, said = run(folder, ring, **options)
    assert code == 75, said
    assert saved_step(folder, said) >= min(ring.step, 1)
    code, said = run(folder, **options)
    assert code == 0, said
    assert_undisturbed(whole, folder)


@pytest.mark.attack("a collective job is pre-empted, at any phase")
@pytest.mark.parametrize("seed", plans(range(NUM_PLANS), 3))
def test_a_preempted_job_loses_nothing(whole, tmp_path, seed):
    check_goes_on(run_collective, whole, tmp_path, Ring.drawn(seed))


@pytest.mark.attack("a job with servers is pre-empted, at any phase")
@pytest.mark.parametrize("seed", plans(range(NUM_PLANS), 2))
def test_a_preempted_job_with_servers_loses_nothing(served, tmp_path, seed):
    ring = Ring.drawn(seed)
    if ring.target == "rank" and seed % 2:
        ring = Ring(ring.phase, ring.step, ring.number, "server")
    check_goes_on(run_served, served, tmp_path, ring)


@pytest.mark.attack("a job that trains from datasets is pre-empted")
@pytest.mark.parametrize("step", plans([2, 8, 5], 1))
def test_a_preempted_job_that_trains_from_datasets_loses_nothing(datasets, tmp_path, step):
    """In the first of two passes, in the second, at the end of the first."""
    ring = Ring("forward", step, signal.SIGTERM, "launcher")
    code, said = run_from_datasets(tmp_path, ring)
    assert code == 75, said
    assert "launch: pre-empted: saved at step" in said
    code, said = run_from_datasets(tmp_path)
    assert code == 0, said
    for number in (0, 1):
        done = [(folder / f"steps.{number}").read_text() for folder in (datasets, tmp_path)]
        assert done[0] == done[1]
        assert final_of(datasets, number) == final_of(tmp_path, number)
    assert tables_of(datasets) == tables_of(tmp_path)


@pytest.mark.attack("everybody is signalled, the workers of loaders too")
@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGTERM])
def test_workers_of_loaders_live_until_the_loop_has_saved(tmp_path, number):
    """Their own random numbers are not those of the other run, but samples and steps are."""
    code, said = run_collective(tmp_path, Ring("forward", 2, number, "group"), loaders=1)
    assert code == 75, said
    assert saved_step(tmp_path, said) >= 3
    code, said = run_collective(tmp_path, loaders=1)
    assert code == 0, said


@pytest.mark.attack("the launcher of one host is asked: all hosts save")
def test_a_signal_to_one_launcher_reaches_all_hosts(whole, tmp_path):
    with bind_listener() as listener:
        master = str(endpoint_of(listener))
    text = f"os.chdir({str(tmp_path)!r})\nLOADERS = 0\n{COLLECTIVE}"
    name = str(tmp_path / script(tmp_path, text))
    ring = Ring("backward", 3, signal.SIGTERM, "launcher")

    def run(**variables):
        (tmp_path / "pids").unlink(missing_ok=True)
        launchers = []
        try:
            for rank in range(2):
                folder = tmp_path / f"host{rank}"
                folder.mkdir(exist_ok=True)
                flags = (*FLAGS, "--nnodes=2", f"--rank={rank}", "--max_restart=1")
                launchers.append(
                    Launcher(
                        folder, "--master", master, *flags, name,
                        ARGOSY_TOKEN="the token of this test", **variables,
                    )
                )  # fmt: skip
            codes = [launcher.wait(200) for launcher in launchers]
            for launcher in launchers:
                assert_nothing_left(launcher)
            return codes, "\n".join(launcher.stderr for launcher in launchers)
        finally:
            for launcher in launchers:
                launcher.close()

    codes, said = run(BELL=ring.text)
    assert codes == [75, 75], said
    assert said.count("launch: pre-empted: saved at step") == 2
    codes, said = run()
    assert codes == [0, 0], said
    assert_undisturbed(whole, tmp_path)


@pytest.mark.attack("a job that is asked to save does not come to the end of its step")
def test_a_job_that_does_not_save_in_time_is_killed(tmp_path):
    text = """
import paddle.distributed.fleet as fleet
fleet.init(is_collective=True)
for step in fleet.auto_checkpoint("ckpt", 1).steps(10):
    if step == 1:
        note("stuck")
        time.sleep(600)
"""
    launcher = Launcher(tmp_path, "--grace", "1", script(tmp_path, text))
    try:
        until((tmp_path / "stuck.0").exists, "the step that takes too long")
        launcher.signal(signal.SIGTERM)
        assert launcher.wait() == 128 + signal.SIGTERM
        assert "have not saved within 1 s (--grace) and were killed" in launcher.stderr
        assert_nothing_left(launcher)
    finally:
        launcher.close()
