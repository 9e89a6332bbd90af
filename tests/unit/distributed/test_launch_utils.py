"""Clusters on paper, and trainers that a script starts and watches itself."""

import argparse
import sys

import pytest

from argosy.distributed.fleet import cloud_utils
from argosy.distributed.fleet import launch as fleet_launch
from argosy.distributed.fleet import launch_utils as fleet_utils
from argosy.distributed.utils import launch_utils
from argosy.distributed.utils.log_utils import get_logger


def wait_for(procs, watch, nranks):
    while watch(procs, nranks):
        procs[0].proc.wait(timeout=60)


def test_a_cluster_numbers_its_trainers_over_the_hosts():
    endpoints = [["10.0.0.1:1", "10.0.0.1:2"], ["10.0.0.2:1", "10.0.0.2:2"]]
    cluster, pod = launch_utils.get_cluster(
        ["10.0.0.1", "10.0.0.2"], "10.0.0.2", endpoints, ["0", "1"]
    )
    assert (cluster.trainers_nranks(), cluster.pods_nranks()) == (4, 2)
    assert cluster.trainers_endpoints() == endpoints[0] + endpoints[1]
    assert [t.rank for t in pod.trainers] == [2, 3]
    assert pod.addr == "10.0.0.2"
    assert [t.gpus for t in pod.trainers] == [["0"], ["1"]]
    again, _ = launch_utils.get_cluster(["10.0.0.1", "10.0.0.2"], "10.0.0.1", endpoints, ["0", "1"])
    assert cluster == again
    again.pods[1].trainers[0].rank = 7
    assert cluster != again


def test_a_cluster_refuses_too_few_endpoints():
    with pytest.raises(AssertionError, match="greater equal"):
        launch_utils.get_cluster(["a"], "a", [["a:1"]], [0, 1])
    with pytest.raises(AssertionError, match="must be list"):
        launch_utils.get_cluster(["a"], "a", ("a:1",), [0])


def test_free_ports_are_a_set_of_as_many():
    ports = launch_utils.find_free_ports(3)
    assert isinstance(ports, set)
    assert len(ports) == 3


def test_cards_count_among_the_visible_ones(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5")
    assert launch_utils.get_gpus("5,4") == [1, 0]
    with pytest.raises(AssertionError):
        launch_utils.get_gpus("6")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert launch_utils.get_gpus("6, 7") == ["6", "7"]


def test_boolean_arguments_are_words():
    parser = argparse.ArgumentParser()
    launch_utils.add_arguments("use_gpu", bool, True, "Whether.", parser)
    assert parser.parse_args([]).use_gpu is True
    assert parser.parse_args(["--use_gpu", "no"]).use_gpu is False


def test_trainers_know_their_place_and_log_it(tmp_path, capsys):
    script = tmp_path / "trainer.py"
    script.write_text("import os; print('I am', os.environ['PADDLE_TRAINER_ID'])")
    cluster, pod = launch_utils.get_cluster(
        ["127.0.0.1"], "127.0.0.1", [["127.0.0.1:1", "127.0.0.1:2"]], ["0", "1"]
    )
    procs = launch_utils.start_local_trainers(cluster, pod, str(script), [], str(tmp_path))
    wait_for(procs, launch_utils.watch_local_trainers, 2)
    launch_utils.terminate_local_procs(procs)
    assert (tmp_path / "workerlog.1").read_text() == "I am 1\n"
    assert capsys.readouterr().out == "I am 0\n"


def test_a_failed_trainer_ends_the_others(tmp_path):
    script = tmp_path / "trainer.py"
    script.write_text(
        "import os, sys, time\n"
        "sys.exit(3) if os.environ['PADDLE_RANK_IN_NODE'] == '1' else time.sleep(600)"
    )
    cluster, pod = fleet_utils.get_cluster(
        ["127.0.0.1"], "127.0.0.1", [["127.0.0.1:1", "127.0.0.1:2"]],
        fleet_utils.DeviceMode.CPU, [0, 1],
    )  # fmt: skip
    procs = fleet_utils.start_local_trainers(cluster, pod, str(script), [])
    procs[1].proc.wait(timeout=60)
    with pytest.raises(SystemExit):
        fleet_utils.watch_local_trainers(procs, 2)
    assert [one.proc.poll() for one in procs] == [-15, 3]


@pytest.mark.parametrize(("mode", "cards"), [("GPU", [[0, 1], [2]]), ("CPU", [[], []])])
def test_cards_go_to_trainers_of_a_host_with_cards(mode, cards):
    cluster, pod = fleet_utils.get_cluster(
        ["h"], "h", [["h:1", "h:2"]], getattr(fleet_utils.DeviceMode, mode), [[0, 1], 2]
    )
    assert [t.accelerators for t in pod.trainers] == cards
    assert cluster.world_device_ids() == [[str(card) for card in own] for own in cards]


def test_backends_that_do_not_exist_or_have_no_device():
    with pytest.raises(ValueError, match="can only be one of"):
        fleet_utils.check_backend("tcp")
    with pytest.raises(RuntimeError, match="devices"):
        fleet_utils.get_device_mode("bkcl")
    assert fleet_utils.get_device_mode("gloo") == fleet_utils.DeviceMode.CPU


def test_ports_from_a_first_one(monkeypatch):
    monkeypatch.setenv("FLAGS_START_PORT", "7000")
    assert list(fleet_utils.get_ports(2, 5)) == [7005, 7006]


def test_a_cluster_manager_describes_the_hosts(monkeypatch):
    assert not cloud_utils.use_paddlecloud()
    described = {
        "PADDLE_TRAINERS": "10.0.0.1,10.0.0.2", "POD_IP": "10.0.0.2", "PADDLE_TRAINER_ID": "1",
        "TRAINER_PORTS_NUM": "2", "PADDLE_PORT": "6200",
    }  # fmt: skip
    for name, value in described.items():
        monkeypatch.setenv(name, value)
    assert cloud_utils.use_paddlecloud()
    cluster, pod = cloud_utils.get_cloud_cluster("127.0.0.1", fleet_utils.DeviceMode.CPU, [0, 1])
    assert cluster.trainers_endpoints() == [
        "10.0.0.1:6200", "10.0.0.1:6201", "10.0.0.2:6200", "10.0.0.2:6201",
    ]  # fmt: skip
    assert pod.rank == 1
    monkeypatch.setenv("DISTRIBUTED_TRAINER_ENDPOINTS", "a:1,a:2,b:1")
    with pytest.raises(AssertionError, match="3 endpoints"):
        cloud_utils.get_cloud_cluster("127.0.0.1", fleet_utils.DeviceMode.CPU, [0, 1])


class Arguments:
    backend, gpus, nproc_per_node, ips, host = "gloo", None, 2, "127.0.0.1", None
    run_mode, servers, enable_auto_mapping, log_dir = None, None, False, None


def test_launch_collective_runs_the_ranks_of_this_host(tmp_path):
    script = tmp_path / "trainer.py"
    script.write_text(
        "import os, sys\nopen(sys.argv[1] + os.environ['PADDLE_TRAINER_ID'], 'w').write("
        "os.environ['PADDLE_DISTRI_BACKEND'])"
    )
    args = Arguments()
    args.training_script, args.training_script_args = str(script), [f"{tmp_path}/rank"]
    fleet_launch.launch_collective(args)
    assert [(tmp_path / f"rank{r}").read_text() for r in (0, 1)] == ["gloo", "gloo"]


def test_a_job_on_cpus_has_one_host():
    args = Arguments()
    args.ips = "10.0.0.1,10.0.0.2"
    with pytest.raises(RuntimeError, match="single trainer"):
        fleet_launch.get_cluster_info(args)


def test_a_logger_has_one_handler_however_often_it_is_asked_for():
    logger = get_logger("WARNING", "test_launch_utils")
    assert get_logger("INFO", "test_launch_utils") is logger
    assert len(logger.handlers) == 1
    assert logger.level == 20
    assert logger.handlers[0].stream in (sys.stderr, sys.__stderr__)
