"""Jobs of ``argosy.ray.FleetTrainer`` on a cluster of three raylets of this machine: they reach the
numbers of ``fleetrun``, also when a raylet is killed in the middle.

Needs an interpreter with ``argosy[ray]``. Everything is on 127.0.0.1.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest

# Ray listens on 127.0.0.1 only; it reads this when it is imported.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'argosy[ray]'")

import psutil  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402

from clusters import ray_train  # noqa: E402

SCRIPT = Path(ray_train.__file__)
NUM_STEPS = ray_train.EPOCHS * ray_train.NUM_SAMPLES // ray_train.BATCH
GOES_ON_S = 15.0

pytestmark = [
    pytest.mark.timeout(600),
    # Ray's own: deprecations, and sockets of the processes that it leaves to the collector
    pytest.mark.filterwarnings("default"),
]
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_TRAIN_METRICS_ENABLED": "0",
    "RAY_TRAIN_ENABLE_PREEMPTION_WATCHER": "0",
    "OMP_NUM_THREADS": "1",
}
# What decides how soon the cluster believes that a raylet is dead is as Ray has it.
_SYSTEM = {
    "enable_worker_prestart": False,
    "prestart_worker_first_driver": False,
}
_NODE = {"num_cpus": 1, "object_store_memory": 80_000_000, "node_ip_address": "127.0.0.1"}
# "work" is where workers may be, "calm" where servers are that nobody kills, "serve" where others
_HEAD = {"work": 1, "calm": 2}
_OTHER = {"work": 1, "serve": 1}


class Raylets:
    """The cluster, with as many raylets at the start of each test."""

    def __init__(self):
        self.cluster = Cluster(
            initialize_head=True,
            # otherwise nodes could be added from the main thread only, for a handler of signals,
            # and would end with the thread that added them
            shutdown_at_exit=False,
            head_node_args={
                **_NODE, "resources": _HEAD, "include_dashboard": False, "_system_config": _SYSTEM
            },
        )  # fmt: skip
        self.others = []
        self.killed = []

    def complete(self):
        while self.killed:  # what beside the raylet was a process of its node
            self.cluster.remove_node(self.killed.pop(), allow_graceful=False)
        while len(self.others) < 2:
            self.others.append(self.cluster.add_node(**_NODE, resources=_OTHER))
        self.cluster.wait_for_nodes(timeout=120)

    def kill_that_of(self, pids):
        """Kill the raylet, not the head's, above one of the processes; returns its number."""
        for n, node in enumerate(self.others):
            raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
            below = {child.pid for child in raylet.children(recursive=True)}
            if below & set(pids):
                raylet.kill()
                node.all_processes["raylet"][0].process.wait()
                self.killed.append(self.others.pop(n))
                return time.monotonic()
        raise AssertionError(f"{pids} are on no raylet but the head's")


@pytest.fixture(scope="module")
def raylets():
    before = {name: os.environ.get(name) for name in (*_SETTINGS, "RAY_TMPDIR")}
    # paths of sockets may have 107 characters
    folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
    os.environ.update(_SETTINGS, RAY_TMPDIR=folder)
    found = Raylets()
    try:
        found.complete()
        ray.init(address=found.cluster.address, log_to_driver=False)
        found.folder = folder
        yield found
    finally:
        ray.shutdown()
        found.cluster.shutdown()
        left = [p for p in psutil.process_iter() if _is_of(p, folder)]
        _, left = psutil.wait_procs(left, timeout=30)
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        shutil.rmtree(folder, ignore_errors=True)
    assert not left


def _is_of(process, folder):
    """Whether a process was started by the cluster whose files are in ``folder``."""
    try:
        return process.environ().get("RAY_TMPDIR") == folder and process.pid != os.getpid()
    except psutil.Error:
        return False


@pytest.fixture(autouse=True)
def nothing_left():
    """Ray keeps connections and threads until ``ray.shutdown``; see ``raylets`` for what is left
    then.
    """


@pytest.fixture(autouse=True)
def _three(raylets):
    raylets.complete()


@pytest.fixture(scope="module")
def fleetrun(tmp_path_factory):
    """What the same script makes of ``--nproc_per_node 2``, and of two servers and two workers."""
    finals = {}
    for kind, flags in (
        ("collective", ["--nproc_per_node", "2"]),
        ("servers", ["--server_num", "2", "--worker_num", "2"]),
    ):
        folder = tmp_path_factory.mktemp(kind)
        command = [sys.executable, "-m", "argosy.distributed.launch", *flags, "--log_dir"]
        subprocess.run(
            [*command, str(folder / "log"), str(SCRIPT), kind, str(folder)],
            check=True,
            timeout=200,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        finals[kind] = final(folder)
        check_samples(folder)
    return finals


# -- what a job has told
# --------------------------------------------------------------------------------------------------


def final(folder):
    with np.load(folder / "final.npz") as file:
        return {name: file[name] for name in file.files}


def notes(folder, name):
    path = Path(folder) / name
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def everything(folder):
    return [n for path in sorted(Path(folder).glob("steps.*")) for n in notes(folder, path.name)]


def begins(folder, number=0):
    return [n for n in notes(folder, f"steps.{number}") if "begins_at" in n]


def check_samples(folder):
    """Each sample counts once in each epoch: what was done after the last checkpoint before a fault
    does not count, for it is not in the state that went on.
    """
    told = {path.name: notes(folder, path.name) for path in Path(folder).glob("steps.*")}
    counted = []
    for name, own in told.items():
        # where a worker begins, and where the job went on without this one
        others = [n for n in told["steps.0"] if "begins_at" in n and n["world"] <= int(name[6:])]
        for number, note in enumerate(own):
            later = [n for n in own[number + 1 :] if "begins_at" in n]
            later += [n for n in others if n["at_s"] > note["at_s"]]
            begins_at = min((n["begins_at"] for n in later), default=NUM_STEPS)
            if "step" in note and note["step"] < begins_at:
                counted.append(note)
    story = "\n".join(map(str, sorted(everything(folder), key=lambda n: n["at_s"])))
    for epoch in range(ray_train.EPOCHS):
        samples = [s for n in counted if n["epoch"] == epoch for s in n["samples"]]
        assert sorted(samples) == list(range(ray_train.NUM_SAMPLES)), f"epoch {epoch}:\n{story}"
    assert {n["step"] for n in counted} == set(range(NUM_STEPS)), story


def check_no_orphan(folder):
    """No process of before goes on beside the new ones."""
    for number in (0, 1):
        found = begins(folder, number)
        if len(found) > 1:
            last = found[-1]
            late = [n for n in notes(folder, f"steps.{number}") if n["at_s"] > last["at_s"]]
            assert {n["pid"] for n in late} == {last["pid"]}


def check_goes_on(folder, killed_at_s, began_at_s):
    """The new workers do their first step soon. On a machine that has other things to do, what
    starting takes is what it took the first time.
    """
    steps = [n for n in everything(folder) if "step" in n]
    again = min(n["at_s"] for n in begins(folder) if n["at_s"] > killed_at_s)
    first_s = min(n["at_s"] for n in steps) - began_at_s
    again_s = min(n["at_s"] for n in steps if n["at_s"] > again) - killed_at_s
    print(
        f"\nfirst step after {first_s:.1f} s; {again_s:.1f} s from the death of a raylet to the "
        f"next (load {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores)",
        end="",
    )
    assert again_s < max(GOES_ON_S, 1.5 * first_s)


# -- jobs
# --------------------------------------------------------------------------------------------------


def trainer(tmp_path, train, **arguments):
    from ray.train import FailureConfig, RunConfig

    from argosy.ray import FleetTrainer

    ray.cloudpickle.register_pickle_by_value(ray_train)
    if "scaling_config" not in arguments:
        arguments = {"workers": 2, "resources_per_worker": {"CPU": 0, "work": 1}, **arguments}
    return FleetTrainer(
        train,
        run_config=RunConfig(
            name="run", storage_path=str(tmp_path), failure_config=FailureConfig(max_failures=2)
        ),
        **arguments,
    )


class When(threading.Thread):
    """Does something once enough steps were told; ``join`` raises what went wrong with it."""

    def __init__(self, folder, num_steps, act):
        super().__init__(name="when", daemon=True)
        self._folder, self._num_steps, self._act = folder, num_steps, act
        self.result = self.error = None
        self.start()

    def run(self):
        try:
            deadline = time.monotonic() + 300
            while sum("step" in n for n in everything(self._folder)) < self._num_steps:
                assert time.monotonic() < deadline, "the job does not come so far"
                time.sleep(0.05)
            self.result = self._act()
        except BaseException as error:
            self.error = error

    def done(self):
        self.join(30)
        if self.error is not None:
            raise self.error
        return self.result


def check_equal(folder, expected):
    found = final(folder)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def test_a_function_reaches_the_numbers_of_fleetrun_and_reports(tmp_path, fleetrun, raylets):
    result = trainer(tmp_path, ray_train.collective, config={"reports": True}).fit()
    folder = tmp_path / "run"
    check_equal(folder, fleetrun["collective"])
    check_samples(folder)
    weight = float(fleetrun["collective"]["1.weight"].sum())
    assert result.metrics["weight"] == weight
    assert (Path(result.checkpoint.path) / "weight").read_text() == str(weight)
    token = (folder / "token").read_bytes()
    assert len(token) >= 16
    for path in Path(raylets.folder).rglob("*"):
        if path.is_file():
            assert token not in path.read_bytes(), f"{path} shows the token"


def test_a_script_reaches_the_numbers_of_fleetrun(tmp_path, fleetrun):
    trainer(tmp_path, SCRIPT, script_args=["collective"]).fit()
    check_equal(tmp_path / "run", fleetrun["collective"])


def test_a_raylet_with_a_worker_is_killed(tmp_path, fleetrun, raylets):
    folder = tmp_path / "run"
    pids = lambda: [n["pid"] for n in begins(folder, 0) + begins(folder, 1)]  # noqa: E731
    killing = When(folder, 12, lambda: raylets.kill_that_of(pids()))
    began_at_s = time.monotonic()
    trainer(tmp_path, ray_train.collective, config={"pause_s": 0.3}).fit()
    killed_at_s = killing.done()
    check_goes_on(folder, killed_at_s, began_at_s)
    check_equal(folder, fleetrun["collective"])
    check_samples(folder)
    check_no_orphan(folder)


def test_a_raylet_with_a_worker_of_servers_is_killed(tmp_path, fleetrun, raylets):
    folder = tmp_path / "run"
    pids = lambda: [n["pid"] for n in begins(folder, 0) + begins(folder, 1)]  # noqa: E731
    killing = When(folder, 16, lambda: raylets.kill_that_of(pids()))
    began_at_s = time.monotonic()
    trainer(
        tmp_path,
        SCRIPT,
        script_args=["servers", str(folder), "0.3"],
        servers=2,
        resources_per_server={"CPU": 0, "calm": 1},
    ).fit()
    killed_at_s = killing.done()
    check_goes_on(folder, killed_at_s, began_at_s)
    check_equal(folder, fleetrun["servers"])
    check_no_orphan(folder)
    # the servers kept their tables: they were not started again, and no step was lost
    assert [len(notes(folder, f"server.{n}")) for n in (0, 1)] == [1, 1]
    assert begins(folder)[-1]["resumed_from"] is None
    check_samples(folder)


def test_a_raylet_with_a_server_is_killed(tmp_path, fleetrun, raylets):
    folder = tmp_path / "run"
    killing = When(folder, 16, lambda: raylets.kill_that_of([notes(folder, "server.0")[0]["pid"]]))
    began_at_s = time.monotonic()
    trainer(
        tmp_path,
        ray_train.servers,
        config={"pause_s": 0.3},
        resources_per_worker={"CPU": 0, "calm": 1},
        servers=1,
        resources_per_server={"CPU": 0, "serve": 1},
    ).fit()
    killed_at_s = killing.done()
    check_goes_on(folder, killed_at_s, began_at_s)
    # one server or two: tables hold the same numbers
    check_equal(folder, fleetrun["servers"])
    check_samples(folder)
    assert len(notes(folder, "server.0")) == 2
    assert begins(folder)[-1]["resumed_from"] > 0


def test_the_process_of_a_server_is_killed(tmp_path, fleetrun):
    folder = tmp_path / "run"
    killing = When(folder, 16, lambda: os.kill(notes(folder, "server.1")[0]["pid"], signal.SIGKILL))
    trainer(
        tmp_path,
        ray_train.servers,
        config={"pause_s": 0.1},
        servers=2,
        tls=True,
        resources_per_server={"CPU": 0, "calm": 1},
    ).fit()
    killing.done()
    check_equal(folder, fleetrun["servers"])
    assert [len(notes(folder, f"server.{n}")) for n in (0, 1)] == [1, 2]
    assert len(begins(folder)) == 1  # the workers went on


def test_one_or_two_workers(tmp_path, fleetrun, raylets):
    folder = tmp_path / "run"
    raylets.cluster.remove_node(raylets.others.pop())
    pids = lambda: [n["pid"] for n in begins(folder, 0) + begins(folder, 1)]  # noqa: E731
    killing = When(folder, 12, lambda: raylets.kill_that_of(pids()))
    began_at_s = time.monotonic()
    trainer(tmp_path, ray_train.collective, workers=(1, 2), config={"pause_s": 0.3}).fit()
    killed_at_s = killing.done()
    check_goes_on(folder, killed_at_s, began_at_s)
    assert [n["world"] for n in begins(folder)] == [2, 1]
    for name, value in fleetrun["collective"].items():
        np.testing.assert_allclose(final(folder)[name], value, rtol=1e-4, atol=1e-5)
    check_samples(folder)


def test_a_node_joins_and_workers_grow(tmp_path, fleetrun, raylets):
    from ray.train import ScalingConfig

    folder = tmp_path / "run"
    while raylets.others:
        raylets.cluster.remove_node(raylets.others.pop())
    joining = When(folder, 7, raylets.complete)
    scaling = ScalingConfig(
        num_workers=(1, 2),
        resources_per_worker={"CPU": 0, "work": 1},
        elastic_resize_monitor_interval_s=1,
    )
    # alone it does seven steps, and waits
    config = {"alone_until": 6}
    trainer(tmp_path, ray_train.collective, scaling_config=scaling, config=config).fit()
    joining.done()
    assert [n["world"] for n in begins(folder)] == [1, 2]
    assert begins(folder)[-1]["resumed_from"] == 6
    for name, value in fleetrun["collective"].items():
        np.testing.assert_allclose(final(folder)[name], value, rtol=1e-4, atol=1e-5)
    check_samples(folder)


def test_tune_varies_the_config_of_a_trainer(tmp_path):
    from ray import tune

    from argosy.ray import FleetTrainer

    ray.cloudpickle.register_pickle_by_value(ray_train)
    fleet_trainer = FleetTrainer(
        ray_train.collective,
        config={"reports": True, "rate": 1.0},
        resources_per_worker={"CPU": 0, "work": 1},
    )
    found = tune.Tuner(
        tune.with_resources(fleet_trainer, {"CPU": 0.5}),
        param_space={"rate": tune.grid_search([0.05, 0.1])},
        run_config=tune.RunConfig(name="tuned", storage_path=str(tmp_path)),
    ).fit()
    assert not found.errors
    weights = {}
    for result in found:
        [folder] = Path(result.path).glob("run-*")
        check_samples(folder)  # each trial by itself, from its first step
        assert begins(folder)[0]["resumed_from"] is None
        weights[result.config["rate"]] = float(final(folder)["1.weight"].sum())
        assert result.metrics["weight"] == weights[result.config["rate"]]
    assert len(set(weights.values())) == 2


def test_trials_of_tune_do_not_share_a_run(tmp_path):
    from ray import tune
    from ray.train import RunConfig

    from argosy.ray import FleetTrainer

    shared = RunConfig(name="shared", storage_path=str(tmp_path))
    fleet_trainer = FleetTrainer(lambda: None, run_config=shared)
    found = tune.Tuner(
        tune.with_resources(fleet_trainer, {"CPU": 0.5}),
        run_config=tune.RunConfig(name="tuned", storage_path=str(tmp_path)),
    ).fit()
    [error] = found.errors
    assert "one would go on from the other's checkpoints" in str(error)
    assert not (tmp_path / "shared").exists()


def test_a_ray_that_has_changed_is_refused():
    from argosy.foundation.errors import ConfigError
    from argosy.ray import private

    private.check()
    with pytest.raises(ConfigError, match=rf"Ray {ray.__version__} has no Raylets\.grow"):
        private.check(((Raylets, "grow"),))
