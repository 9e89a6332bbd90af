"""The environment that a job's processes are given."""

from __future__ import annotations

from argosy.runtime.launch.rank_env import Job, public, worker_env

JOB = Job(
    endpoints=["10.0.0.1:1", "10.0.0.1:2", "10.0.0.2:1", "10.0.0.2:2"],
    master="10.0.0.1:9",
    token="secret",
    num_nodes=2,
    nproc=2,
    first_rank=2,
    job_id="job",
    pod_name="abcdef",
    log_dir="/logs",
    num_threads=3,
    devices=["0", "1", "2", "3"],
)


def test_every_variable_of_a_collective_worker():
    assert worker_env(JOB, 1, {"HOME": "/h"}) == {
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
        "PADDLE_LOG_DIR": "/logs",
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
    }


def test_without_cards_none_is_selected():
    env = worker_env(Job(endpoints=["a:1", "a:2"], master="a:9", token="t"), 0, {})
    assert (env["PADDLE_LOCAL_DEVICE_IDS"], env["PADDLE_WORLD_DEVICE_IDS"]) == ("", ",")
    assert "FLAGS_selected_gpus" not in env
    assert "PADDLE_LOG_DIR" not in env


def test_what_would_mislead_a_worker_is_not_inherited():
    inherited = {
        "http_proxy": "p",
        "https_proxy": "p",
        "MASTER_ADDR": "old",
        "MASTER_PORT": "1",
        "PADDLE_TRAINER_ID": "9",
    }
    env = worker_env(JOB, 0, inherited)
    assert not {"http_proxy", "https_proxy", "MASTER_ADDR", "MASTER_PORT"} & set(env)
    assert env["PADDLE_TRAINER_ID"] == "2"


def test_the_users_thread_count_is_kept_unless_the_command_line_has_one():
    assert worker_env(JOB, 0, {"OMP_NUM_THREADS": "7"})["OMP_NUM_THREADS"] == "7"
    asked = Job(
        endpoints=["a:1"], master="a:9", token="t", num_threads=2, is_num_threads_asked=True
    )
    assert worker_env(asked, 0, {"OMP_NUM_THREADS": "7"})["OMP_NUM_THREADS"] == "2"


def test_a_list_too_long_for_the_kernel_is_left_out():
    many = Job(
        endpoints=[f"10.0.0.1:{port}" for port in range(10_000, 20_000)], master="a:9", token="t"
    )
    env = worker_env(many, 0, {"PADDLE_TRAINER_ENDPOINTS": "old"})
    assert "PADDLE_TRAINER_ENDPOINTS" not in env
    assert env["PADDLE_CURRENT_ENDPOINT"] == "10.0.0.1:10000"


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
