"""What the ranks of a job are told, and what lies beside their logs."""

from __future__ import annotations

from argosy.runtime.launch.hosts import Host, Rendezvous
from argosy.runtime.launch.machine import Machine
from argosy.runtime.launch.planners.collective import plan, public
from argosy.runtime.launch.roster import place_ranks
from argosy.runtime.launch.spec import Generation, LaunchSpec

MEETING = Rendezvous("10.0.0.1:9", "secret")
SPEC = LaunchSpec(script="train.py", job_id="job", log_dir="logs")
TWO_HOSTS = place_ranks(
    [
        Host("10.0.0.1", -1, ("10.0.0.1:1", "10.0.0.1:2"), ("0", "1")),
        Host("10.0.0.2", -1, ("10.0.0.2:1", "10.0.0.2:2"), ("2", "3")),
    ],
    MEETING,
    this_host=1,
)
ALONE = place_ranks([Host("10.0.0.1", -1, ("10.0.0.1:1", "10.0.0.1:2"))], MEETING)


def environments(spec=SPEC, roster=TWO_HOSTS, num_cores=6, **inherited):
    machine = Machine(inherited, num_cores, "/work", "abcdef")
    return [process.environment for process in plan(spec, roster, machine).processes]


def test_every_variable_of_a_collective_worker():
    assert environments(HOME="/h")[1] == {
        "HOME": "/h",
        "PADDLE_TRAINER_ID": "3",
        "PADDLE_TRAINERS_NUM": "4",
        "PADDLE_TRAINER_ENDPOINTS": "10.0.0.1:1,10.0.0.1:2,10.0.0.2:1,10.0.0.2:2",
        "PADDLE_CURRENT_ENDPOINT": "10.0.0.2:2",
        "PADDLE_RANK_IN_NODE": "1",
        "PADDLE_LOCAL_RANK": "1",
        "PADDLE_GLOBAL_RANK": "3",
        "PADDLE_LOCAL_SIZE": "2",
        "PADDLE_GLOBAL_SIZE": "4",
        "PADDLE_NNODES": "2",
        "PADDLE_MASTER": "10.0.0.1:9",
        "PADDLE_JOB_ID": "job",
        "PADDLE_LOG_DIR": "/work/logs",
        "PADDLE_DISTRI_BACKEND": "auto",
        "PADDLE_WITH_GLOO": "0",
        "PADDLE_AUTO_CLUSTER": "0",
        "PADDLE_LOCAL_DEVICE_IDS": "3",
        "PADDLE_WORLD_DEVICE_IDS": "0,1,2,3",
        "FLAGS_selected_gpus": "3",
        "FLAGS_selected_accelerators": "3",
        "POD_NAME": "abcdef",
        "OMP_NUM_THREADS": "3",
        "MKL_NUM_THREADS": "3",
        "ARGOSY_TOKEN": "secret",
        "ARGOSY_STORE_SERVED": "1",
        "ARGOSY_REQUEUE_CODE": "75",
    }


def test_without_cards_none_is_selected():
    env = environments(LaunchSpec(script="train.py", log_dir=None), ALONE)[0]
    assert (env["PADDLE_LOCAL_DEVICE_IDS"], env["PADDLE_WORLD_DEVICE_IDS"]) == ("", ",")
    assert "FLAGS_selected_gpus" not in env
    assert "PADDLE_LOG_DIR" not in env


def test_cards_count_only_if_every_process_has_some():
    hosts = [Host("a", -1, ("a:1",), ("0",)), Host("b", -1, ("b:1",))]
    env = environments(roster=place_ranks(hosts, MEETING))[0]
    assert (env["PADDLE_LOCAL_DEVICE_IDS"], env["PADDLE_WORLD_DEVICE_IDS"]) == ("", ",")


def test_what_would_mislead_a_worker_is_not_inherited():
    misleading = {"http_proxy": "p", "https_proxy": "p", "MASTER_ADDR": "old", "MASTER_PORT": "1"}
    env = environments(PADDLE_TRAINER_ID="9", **misleading)[0]
    assert not misleading.keys() & env.keys()
    assert env["PADDLE_TRAINER_ID"] == "2"


def test_threads_are_asked_for_or_inherited_or_a_share_of_the_cores():
    asked = LaunchSpec(script="train.py", num_threads=2)
    assert environments(OMP_NUM_THREADS="7")[0]["OMP_NUM_THREADS"] == "7"
    assert environments(OMP_NUM_THREADS="7")[0]["MKL_NUM_THREADS"] == "7"
    assert environments(asked, OMP_NUM_THREADS="7")[0]["OMP_NUM_THREADS"] == "2"
    assert environments(num_cores=5)[0]["OMP_NUM_THREADS"] == "2"
    assert environments(num_cores=1)[0]["OMP_NUM_THREADS"] == "1"


def test_a_list_too_long_for_the_kernel_is_left_out():
    endpoints = tuple(f"10.0.0.1:{port}" for port in range(10_000, 20_000))
    many = place_ranks(
        [Host("10.0.0.1", -1, endpoints[:1]), Host("10.0.0.1", -1, endpoints[1:])], MEETING
    )
    [env] = environments(roster=many, PADDLE_TRAINER_ENDPOINTS="old")
    assert "PADDLE_TRAINER_ENDPOINTS" not in env
    assert env["PADDLE_CURRENT_ENDPOINT"] == "10.0.0.1:10000"


def files(generation):
    spec = LaunchSpec(script="train.py", generation=generation)
    return plan(spec, ALONE, Machine({"HOME": "/h"}, 2, "/work", "abcdef")).text_by_file


def test_each_generation_has_its_files():
    assert files(Generation.V1_8) == {}
    assert files(Generation.V2_0) == {
        "endpoints.log": "PADDLE_TRAINER_ENDPOINTS: \n10.0.0.1:1\n10.0.0.1:2"
    }
    newest = files(Generation.V2_4)
    assert sorted(newest) == ["default.abcdef.log", "envlog.0", "envlog.1"]
    assert newest["default.abcdef.log"] == (
        "PADDLE_MASTER=10.0.0.1:9\nrank 0: 10.0.0.1:1\nrank 1: 10.0.0.1:2\n"
    )
    assert "PADDLE_TRAINER_ID=1\n" in newest["envlog.1"]
    assert not any("secret" in text or "/h" in text for text in newest.values())


def test_logs_show_paddles_variables_only():
    lines = public(
        {
            "PADDLE_B": "1",
            "FLAGS_A": "2",
            "ARGOSY_TOKEN": "secret",
            "AWS_SECRET_ACCESS_KEY": "x",
            "HOME": "/h",
        }
    )
    assert lines == ["FLAGS_A=2", "PADDLE_B=1"]
