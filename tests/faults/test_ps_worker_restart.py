"""A worker of a job with servers is killed and started again: it goes on where it was, or the job
ends and says why.
"""

from __future__ import annotations

import functools
import inspect
import math
import random
import re
import shutil
import time

import pytest

from support.launcher import Launcher, script
from support.ps_restarts import (
    Job,
    final_of,
    served,
    tables_of,
    train_by_hand,
    train_dataset,
    train_loop,
)

# where a worker may be killed, and how often it comes by in a run: after it has written down what
# it pushes, with a request to all servers on its way, and with their answers there; the last of
# three requests per step pushes
PLACES = {"ps.tape.written": 12, "ps.client.sent": 33, "ps.client.answered": 33}
SCRIPTS = {"dataset": train_dataset, "loop": train_loop}
FEW, MANY = 2, 16


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Jobs without a fault, by script, and what became of their tables."""
    found = {}

    def run(name):
        if name not in found:
            job = Job(tmp_path_factory.mktemp("whole") / name, SCRIPTS[name])
            assert job.run() == {0: 0, 1: 0}, job.said()
            assert set(job.num_starts.values()) == {1}
            found[name] = job, tables_of(job.folder)
        return found[name]

    return run


def plan(seed):
    """Who is killed where."""
    rng = random.Random(seed)
    place = sorted(PLACES)[seed % len(PLACES)]
    return {rng.randrange(2): f"{place}:{rng.randint(1, PLACES[place])}"}


def samples_of(lines):
    """What each step saw, without those that were done again: they must have seen the same."""
    seen = []
    for line in lines:
        if line in seen:
            assert line in seen[-2:], "a step was done again that is not one of the last"
            again = seen.index(line)
            del seen[again:]
        seen.append(line)
    return seen


def assert_as_if_nothing_had_happened(whole, tables, job):
    assert tables_of(job.folder) == tables
    for number in range(2):
        assert samples_of(job.steps(number)) == whole.steps(number)
        assert final_of(job.folder, number) == final_of(whole.folder, number)


def kill_and_compare(whole, folder, name, faults):
    undisturbed, tables = whole(name)
    job = Job(folder, SCRIPTS[name], faults)
    assert job.run() == {0: 0, 1: 0}, job.said()
    assert job.num_starts == {
        ("server", 0): 1,
        ("server", 1): 1,
        **{("worker", n): 1 + (n in faults) for n in range(2)},
    }
    assert_as_if_nothing_had_happened(undisturbed, tables, job)


@pytest.mark.attack(
    "a worker of a synchronous server job is killed: same bits, no sample lost or repeated"
)
@pytest.mark.parametrize("seed", range(FEW))
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_killed_worker_changes_nothing(whole, tmp_path, name, seed):
    kill_and_compare(whole, tmp_path / "job", name, plan(seed))


@pytest.mark.thorough
@pytest.mark.attack(
    "a worker of a synchronous server job is killed anywhere: same bits, no sample lost or repeated"
)
@pytest.mark.parametrize("seed", range(FEW, MANY))
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_worker_that_is_killed_anywhere_changes_nothing(whole, tmp_path, name, seed):
    kill_and_compare(whole, tmp_path / "job", name, plan(seed))


def test_plans_reach_every_place():
    assert {
        p.partition(":")[0] for seed in range(MANY) for p in plan(seed).values()
    } == PLACES.keys()


@pytest.mark.thorough
@pytest.mark.attack("both workers of a synchronous server job are killed: same bits")
@pytest.mark.parametrize("name", SCRIPTS)
def test_both_workers_are_killed(whole, tmp_path, name):
    kill_and_compare(
        whole, tmp_path / "job", name, {0: "ps.client.answered:10", 1: "ps.client.sent:19"}
    )


@pytest.mark.thorough
@pytest.mark.attack("a worker is killed while a job with servers saves itself: same bits")
@pytest.mark.parametrize(
    "faults",
    [
        {0: "checkpoint.file:1"},
        {1: "checkpoint.file:2"},
        {0: "checkpoint.rename:2"},
        {0: "checkpoint.remove:3"},
    ],
    ids=str,
)
def test_a_worker_is_killed_while_it_saves(whole, tmp_path, faults):
    kill_and_compare(whole, tmp_path / "job", "loop", faults)
    kept = sorted(path.name for path in (tmp_path / "job" / "ckpt").iterdir())
    assert kept == ["step-0000000008", "step-0000000012"]


@pytest.mark.attack(
    "all of a job with servers dies: the next goes on from its checkpoint, with the same bits"
)
def test_the_whole_job_dies(whole, tmp_path):
    undisturbed, tables = whole("loop")
    dead = Job(
        tmp_path / "dead", functools.partial(train_loop, kills_job_at=6), may_come_back=False
    )
    assert 7 in dead.run().values()
    job = Job(tmp_path / "next", train_loop)
    shutil.copytree(dead.folder / "ckpt", job.folder / "ckpt")
    assert job.run() == {0: 0, 1: 0}, job.said()
    assert tables_of(job.folder) == tables
    for number in range(2):
        assert job.steps(number) == undisturbed.steps(number)[4:]
        assert final_of(job.folder, number) == final_of(undisturbed.folder, number)


def ended_after(job):
    """Seconds from the last step that was begun to now."""
    return time.time() - max(path.stat().st_mtime for path in job.folder.glob("steps.*"))


@pytest.mark.attack(
    "a worker whose script does not tell its position is killed: the job ends and says why"
)
def test_an_unknown_position_ends_the_job(tmp_path, record_property):
    job = Job(tmp_path / "job", train_by_hand, {1: "ps.client.sent:5"})
    codes = job.run()
    record_property("named_s", ended_after(job))
    assert 1 in codes.values()
    assert ended_after(job) < 45  # patience is a minute
    assert re.search(
        "worker 1 was started again after [34] steps, and this script gives no way to know",
        job.said(),
    )
    assert "train_from_dataset" in (job.folder / "worker-1" / "refused").read_text()


@pytest.mark.attack("a worker that had met the others is killed: the job ends and says why")
def test_a_group_cannot_be_joined_again(tmp_path, record_property):
    job = Job(
        tmp_path / "job", functools.partial(train_by_hand, grouped=True), {1: "ps.client.sent:5"}
    )
    codes = job.run()
    record_property("named_s", ended_after(job))
    assert 1 in codes.values()
    assert "but was in a group with the other workers" in job.said()


@pytest.mark.attack(
    "a worker of an asynchronous server job is killed: position known, it goes on; unknown, it "
    "says so"
)
def test_asynchronous_workers_come_back(tmp_path):
    job = Job(
        tmp_path / "known", functools.partial(train_loop, mode="async"), {1: "ps.tape.written:6"}
    )
    assert job.run() == {0: 0, 1: 0}, job.said()
    assert [line[0] for line in samples_of(job.steps(1))] == list(range(12))
    assert len(job.steps(1)) <= 13
    job = Job(
        tmp_path / "unknown",
        functools.partial(train_by_hand, mode="async"),
        {1: "ps.client.sent:4"},
    )
    assert job.run() == {0: 0, 1: 0}, job.said()
    assert job.num_starts["worker", 1] == 2
    assert "it begins its data again, so samples are seen twice" in job.said()


@pytest.mark.thorough
@pytest.mark.attack("a worker of a half-asynchronous server job is killed: each step counts once")
def test_half_asynchronous_workers_come_back(tmp_path):
    job = Job(
        tmp_path / "job",
        functools.partial(train_dataset, mode="half_async"),
        {0: "ps.client.answered:16"},
    )
    assert job.run() == {0: 0, 1: 0}, job.said()
    found = tables_of(job.folder)
    powers = [value[0] for key, value in found.items() if key[1] == "beta1_pow_acc"]
    assert powers
    # Adam has multiplied it by 0.9 at each of 24 steps; it begins as 0.9
    assert {round(math.log(power, 0.9)) for power in powers} == {25}


@pytest.mark.attack(
    "a worker says that it cannot go on: the launcher ends the job instead of starting anybody "
    "again"
)
@pytest.mark.parametrize("refusing", [0, 1])
def test_a_launcher_believes_a_worker_that_refuses(tmp_path, record_property, refusing):
    text = f"""
if rank == {refusing}:
    with open(os.environ["ARGOSY_PS_PROGRESS"] + "/refused", "w") as file:
        file.write("worker {refusing} has lost its place")
    note("refused")
    sys.exit(3)
while rank == {1 - refusing} and not os.path.exists("refused.{refusing}"):
    time.sleep(0.01)
if rank == {1 - refusing}:
    sys.exit(4)
time.sleep(60)
"""
    text = 'os.makedirs(os.environ.get("ARGOSY_PS_PROGRESS", "none"), exist_ok=True)\n' + text
    name = script(tmp_path, text)
    launcher = Launcher(
        tmp_path, "--server_num", "1", "--worker_num", "2", "--max_restart", "5", name
    )
    try:
        code = launcher.wait(60)
        record_property("named_s", time.time() - (tmp_path / f"refused.{refusing}").stat().st_mtime)
        said = launcher.stderr
    finally:
        launcher.close()
    assert code in (3, 4)
    assert "it is started again" not in said
    assert f"launch: worker {refusing} has lost its place" in said


@pytest.mark.thorough
@pytest.mark.attack("a launcher does not start a worker again that cannot go on")
def test_the_launcher_does_not_try_again_and_again(tmp_path, record_property):
    loop = inspect.getsource(train_by_hand).replace(
        "        note(folder, fleet.worker_index(), step)\n",
        '        if fleet.worker_index() == 1 and step == 3 and not os.path.exists("died"):\n'
        '            open("died", "w").close()\n'
        "            os.kill(os.getpid(), 9)\n",
    )
    assert "os.kill" in loop
    name = script(
        tmp_path,
        f"import pathlib\n{inspect.getsource(served)}\n{loop}\ntrain_by_hand(pathlib.Path('.'))\n",
    )
    launcher = Launcher(
        tmp_path, "--server_num", "1", "--worker_num", "2", "--max_restart", "5", name
    )
    try:
        code = launcher.wait(110)
        record_property("named_s", time.time() - (tmp_path / "died").stat().st_mtime)
        said = launcher.stderr
    finally:
        launcher.close()
    assert code == 1
    assert said.count("it is started again") == 1
    assert re.search("launch: fleet.init_worker: worker 1 was started again after 3 steps", said)
    assert "the job was ended" in said
    assert list((tmp_path / "tmp").iterdir()) == []
