"""What a FleetTrainer asks for, and what it refuses, without Ray."""

import math
import subprocess
import sys

import pytest

from argosy.foundation.errors import ConfigError, UsageError
from argosy.ray import FleetTrainer, run_folder
from argosy.ray.folder import VARIABLE, shared_folder
from argosy.ray.request import checked_servers, checked_workers, num_fitting, room
from argosy.ray.trial import Trial


@pytest.mark.parametrize("workers", [1, 4, (1, 1), (2, 4)])
def test_workers_are_a_number_or_the_least_and_the_most(workers):
    assert checked_workers(workers) == workers


@pytest.mark.parametrize("workers", [0, -1, True, 1.5, "2", (0, 2), (3, 2), (1, 2, 3), None])
def test_other_numbers_of_workers_are_refused(workers):
    with pytest.raises(ConfigError, match="workers"):
        checked_workers(workers)


def test_each_server_has_a_bundle_of_its_own():
    assert checked_servers(2, None).bundles == [{"CPU": 1}, {"CPU": 1}]
    servers = checked_servers(1, {"CPU": 2, "memory": 1e9, "disk": 1})
    assert servers.bundles == [{"CPU": 2, "memory": 1e9, "disk": 1}]
    assert servers.options == {"num_cpus": 2, "memory": 1e9, "resources": {"disk": 1}}


@pytest.mark.parametrize(("servers", "resources"), [(-1, None), (True, None), (0, {"CPU": 1})])
def test_other_servers_are_refused(servers, resources):
    with pytest.raises(ConfigError, match="server"):
        checked_servers(servers, resources)


def test_what_servers_take_is_no_room_for_workers():
    nodes = {"a": {"CPU": 4.0}, "b": {"CPU": 2.0, "GPU": 1.0}}
    taken = [("a", {"CPU": 1}), ("a", {"CPU": 1}), ("gone", {"CPU": 1}), (None, {"CPU": 1})]
    assert room(nodes, taken) == {"a": {"CPU": 2.0}, "b": {"CPU": 2.0, "GPU": 1.0}}


def train(config):
    pass


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"train": 3}, "function or the path"),
        ({"train": "nowhere.py"}, "no script"),
        ({"train": train, "script_args": ["x"]}, "config, not script_args"),
        ({"train": __file__, "config": {}}, "script_args, not config"),
        ({"train": train, "scaling_config": object(), "workers": 2}, "leave out workers"),
        ({"train": lambda a, b: None}, "2 arguments"),
    ],
)
def test_a_wrong_call_is_refused_when_the_trainer_is_made(arguments, words):
    with pytest.raises(UsageError, match=words):
        FleetTrainer(arguments.pop("train"), **arguments)


def test_a_storage_with_paths_has_a_folder_for_the_run():
    assert shared_folder("/data/runs", "one") == "/data/runs/one"
    assert shared_folder("file:///data/runs", "one") == "/data/runs/one"
    assert shared_folder("s3://bucket/runs", "one") == ""


def test_the_folder_of_a_run_is_known_in_its_processes_only(monkeypatch):
    monkeypatch.setenv(VARIABLE, "/data/runs/one")
    assert run_folder("checkpoints") == "/data/runs/one/checkpoints"
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(ConfigError, match="storage_path"):
        run_folder()


def test_ray_is_imported_by_nobody_who_does_not_train_on_it():
    code = "import sys, argosy, argosy.ray; assert 'ray' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)


def test_without_ray_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install \"argosy\[ray\]\""):
        FleetTrainer(train).fit()


def test_as_many_fit_as_each_node_has_room_for():
    nodes = {"a": {"CPU": 4.0, "GPU": 1.0}, "b": {"CPU": 1.0, "GPU": 8.0}, "c": {"CPU": 9.0}}
    assert num_fitting(nodes, {"CPU": 1, "GPU": 1}) == 2
    assert num_fitting(nodes, {"CPU": 2}) == 2 + 0 + 4
    assert num_fitting(nodes, {"CPU": 1, "GPU": 0}) == 14
    assert num_fitting({"a": {"CPU": 0.3}}, {"CPU": 0.1}) == 3
    assert num_fitting({"a": {"CPU": -1.0}, "b": {"CPU": 1.0}}, {"CPU": 1}) == 1
    assert num_fitting(nodes, {"CPU": 0}) == math.inf


def test_the_run_of_a_trial_is_its_own():
    trial = Trial("ab12_00001", "/data/tuned/train_ab12_00001")
    assert trial.storage["storage_path"] == trial.path
    trial.check(trial.storage["name"])
    trial.check("mine-ab12_00001")
    with pytest.raises(ConfigError, match=r"'shared'.*\n.*'ab12_00001'"):
        trial.check("shared")


def test_tune_cannot_vary_the_config_of_a_script(tmp_path):
    script = tmp_path / "train.py"
    script.touch()
    with pytest.raises(UsageError, match="script_args"):
        FleetTrainer(script)({"rate": 1})


def test_a_trainer_has_room_for_what_tune_writes_on_it():
    """``tune.with_resources`` sets ``_resources``; trials are called by ``__name__``."""
    trainer = FleetTrainer(train, resources_per_worker={"CPU": 2})
    assert not hasattr(trainer, "_resources")
    assert trainer.__name__ == "FleetTrainer"
