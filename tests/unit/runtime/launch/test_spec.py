"""Command lines of every generation of Paddle's launchers, read into one value."""

from __future__ import annotations

import pytest

from argosy.foundation.errors import ConfigError, NotSupported
from argosy.runtime.launch import flags
from argosy.runtime.launch.spec import Generation, LaunchSpec, parse
from support.environments import JOBSET, OPEN_MPI, PADDLE_OPERATOR, SLURM, TRAINER


def read(words: str, device_count: int = 0, is_fleet: bool = False, **environ: str) -> LaunchSpec:
    return parse(words.split(), environ, device_count, is_fleet)


GENERATIONS = {
    # 1.8
    "--selected_gpus=0,1 t.py": {
        "nproc": 2,
        "devices": ("0", "1"),
        "log_dir": None,
        "generation": Generation.V1_8,
    },
    "--selected_gpus=0,1 --log_dir=out t.py": {
        "nproc": 2,
        "log_dir": "out",
        "generation": Generation.V1_8,
    },
    "--cluster_node_ips=10.0.0.1,10.0.0.2 --node_ip=10.0.0.2 --started_port=7000 t.py": {
        "ips": ("10.0.0.1", "10.0.0.2"),
        "host": "10.0.0.2",
        "start_port": 7000,
        "is_listed": True,
        "log_dir": None,
        "generation": Generation.V1_8,
    },
    "--print_config False --selected_gpus 0 t.py": {
        "nproc": 1,
        "shows_table": False,
        "generation": Generation.V1_8,
    },
    # 2.0 to 2.2
    "--gpus=0,1 --ips=127.0.0.1 t.py": {
        "nproc": 2,
        "log_dir": "log",
        "is_listed": False,
        "generation": Generation.V2_4,
    },
    "--selected_gpus=0,1 --nproc_per_node 2 t.py": {
        "nproc": 2,
        "log_dir": "log",
        "generation": Generation.V2_4,
    },
    "--nproc_per_node=4 --backend gloo t.py": {"nproc": 4, "devices": (), "backend": "gloo"},
    "--ips=10.0.0.1,10.0.0.2 t.py": {
        "is_listed": True,
        "start_port": 6070,
        "min_nodes": 2,
        "max_nodes": 2,
        "meets_at_master": False,
    },
    # 2.3 and later
    "t.py": {
        "nproc": 1,
        "log_dir": "log",
        "log_overwrite": False,
        "max_restart": 0,
        "generation": Generation.V2_4,
        "shows_table": True,
    },
    "--devices 0,1,2 t.py": {"nproc": 3, "devices": ("0", "1", "2"), "falls_back_to_cpu": True},
    "--devices 0,1 --nproc_per_node 1 t.py": {"nproc": 1, "devices": ("0,1",)},
    "--nnodes 2 --master 10.0.0.1:7000 --rank 1 t.py": {
        "min_nodes": 2,
        "max_nodes": 2,
        "master": "10.0.0.1:7000",
        "node_rank": 1,
        "meets_at_master": True,
    },
    "--nnodes 2 --master http://10.0.0.1:7000 t.py": {"master": "10.0.0.1:7000"},
    "--nnodes 1:3 --master h:1 t.py": {
        "min_nodes": 1,
        "max_nodes": 3,
        "max_restart": 3,
        "elastic_timeout_s": 30,
    },
    "--nnodes=1:3 --master=h:1 --max_restart=5 --elastic_timeout=7 t.py": {
        "max_restart": 5,
        "elastic_timeout_s": 7,
    },
    "--elastic_level 1 t.py": {"max_restart": 3},
    "--max_restart 2 t.py": {"max_restart": 2},
    "--log_overwrite true --job_id j --host h --sort_ip true t.py": {
        "log_overwrite": True,
        "job_id": "j",
        "host": "h",
        "sorts_hosts": True,
    },
    "--log_overwrite t.py": {"log_overwrite": True, "script": "t.py"},
    "--log_level WARNING t.py": {"shows_table": False},
    "--log_level 10 t.py": {"shows_table": True},
    "--legacy true t.py": {"generation": Generation.V2_0},
    "--with_gloo 1 --gloo_port 6767 --enable_gpu_log False --auto_parallel_config a.json t.py": {
        "with_gloo": "1"
    },
    "--num_threads 3 t.py": {"num_threads": 3},
}


@pytest.mark.parametrize("words", GENERATIONS)
def test_flags_of_every_generation(words):
    spec = read(words)
    for name, expected in GENERATIONS[words].items():
        assert getattr(spec, name) == expected, name


def test_fleet_launch_has_the_habits_of_2_0():
    assert read("--nproc_per_node 2 t.py", is_fleet=True).generation is Generation.V2_0


def test_the_script_ends_the_flags():
    spec = read("--nproc_per_node=2 train.py --nproc_per_node 7 -x --lr=0.1 other.py")
    assert (spec.nproc, spec.script) == (2, "train.py")
    assert spec.script_args == ("--nproc_per_node", "7", "-x", "--lr=0.1", "other.py")


def test_the_environment_overrides_the_command_line():
    spec = read(
        "--nproc_per_node 2 --log_dir a t.py",
        PADDLE_NPROC_PER_NODE="3",
        PADDLE_LOG_DIR="b",
        PADDLE_JOB_ID="j",
        POD_IP="h",
    )
    assert (spec.nproc, spec.log_dir, spec.job_id, spec.host) == (3, "b", "j", "h")
    assert read("--backend gloo t.py", PADDLE_DISTRI_BACKEND="shm").backend == "gloo"
    assert read("t.py", PADDLE_DISTRI_BACKEND="shm").backend == "shm"
    assert read("--rank 5 t.py", PADDLE_TRAINER_ID="2").node_rank == 2


def test_paddlecloud_reads_the_hosts_from_the_environment():
    spec = read("--use_paddlecloud t.py", PADDLE_TRAINERS="10.0.0.1,10.0.0.2", POD_IP="10.0.0.2")
    assert (spec.ips, spec.host) == (("10.0.0.1", "10.0.0.2"), "10.0.0.2")
    with pytest.raises(ConfigError, match="PADDLE_TRAINERS is not set"):
        read("--use_paddlecloud t.py", POD_IP="h")


@pytest.mark.parametrize(
    ("words", "device_count", "visible", "expected"),
    [
        ("t.py", 2, "", (2, ("0", "1"))),
        ("--nproc_per_node 1 t.py", 2, "", (1, ("0,1",))),
        ("--gpus=4,5 t.py", 4, "4,5,6,7", (2, ("0", "1"))),
        ("--gpus=6 t.py", 4, "4,5,6,7", (1, ("2",))),
        ("--nproc_per_node 2 --gpus=0,1,2 t.py", 3, "", (2, ("0", "1"))),
        ("--nproc_per_node 4 --gpus=0,1 t.py", 0, "", (4, ())),
    ],
)
def test_cards_are_positions_among_the_visible(words, device_count, visible, expected):
    spec = read(words, device_count, CUDA_VISIBLE_DEVICES=visible)
    assert (spec.nproc, spec.devices) == expected
    assert not spec.falls_back_to_cpu or device_count == 0


WRONG = {
    "": "no training script",
    "--nproc_per_node": "needs a value",
    "--nproc_per_nod 2 t.py": "Did you mean '--nproc_per_node'",
    "--nproc_per_node two t.py": "--nproc_per_node must be an integer, but is 'two'",
    "--nproc_per_node 0 t.py": "at least 1, but is 0",
    "--num_threads 0 t.py": "--num_threads must be at least 1",
    "--log_overwrite=maybe t.py": "true or false, but is 'maybe'",
    "--nnodes 2 t.py": "need --master",
    "--nnodes 3:2 --master h:1 t.py": "min at most max",
    "--nnodes two --master h:1 t.py": "a number of hosts or min:max",
    "--nnodes 3 --ips a,b t.py": "--ips lists 2 hosts",
    "--ips a,a t.py": "names a host twice",
    "--max_restart -1 t.py": "must not be negative",
}


@pytest.mark.parametrize("words", WRONG)
def test_wrong_command_lines(words):
    with pytest.raises(ConfigError) as caught:
        read(words)
    assert WRONG[words] in str(caught.value)


def test_wrong_cards_and_variables():
    with pytest.raises(ConfigError, match="GPU 9 was named, but CUDA_VISIBLE_DEVICES is 4,5"):
        read("--gpus=9 t.py", 2, CUDA_VISIBLE_DEVICES="4,5")
    with pytest.raises(ConfigError, match="GPU 2 was named, but torch sees only 0 to 1"):
        read("--gpus=2 t.py", 2)
    with pytest.raises(ConfigError, match=r"3 processes .* need 3 GPUs, but 2 can be used"):
        read("--nproc_per_node 3 t.py", 2)
    with pytest.raises(ConfigError, match="PADDLE_MAX_RESTART must be an integer, but is 'x'"):
        read("t.py", PADDLE_MAX_RESTART="x")


@pytest.mark.parametrize(
    "words",
    [
        "--heter_worker_num 2 --server_num 1 --worker_num 1 t.py",
        "--coordinator_num 1 t.py",
        "--run_mode heter t.py",
        "--elastic_server e:1 t.py",
        "--master etcd://e:1 --nnodes 2 t.py",
        "--auto_tuner_json t.json t.py",
        "--ips a,b --max_restart 1 t.py",
    ],
)
def test_what_cannot_be_started_is_refused(words):
    with pytest.raises(NotSupported) as caught:
        read(words)
    assert words.split()[0].split("=")[0] in str(caught.value)


def test_help_shows_the_flags_of_a_collective_job():
    text = flags.help_text()
    assert all(
        flag in text
        for flag in ("--nproc_per_node", "--gpus", "--master", "--max_restart", "--log_dir")
    )


def test_parameter_server_jobs():
    assert read("t.py").ps is None
    two = read("--server_num 2 --worker_num=3 t.py").ps
    assert (two.num_servers, two.num_workers, two.servers, two.workers) == (2, 3, (), ())
    assert read("--server_num 1 --trainer_num 4 t.py").ps.num_workers == 4
    listed = read("--run_mode ps --servers=a:1,b:2 --workers c,d t.py").ps
    assert (listed.servers, listed.workers, listed.num_servers) == (("a:1", "b:2"), ("c", "d"), 2)
    for words, message in (
        ("--run_mode ps t.py", "needs --server_num or --servers"),
        ("--server_num 2 t.py", "needs --worker_num or --workers"),
        ("--server_num two --worker_num 1 t.py", "--server_num must be an integer, but is 'two'"),
        (
            "--server_num 2 --servers a:1 --worker_num 1 t.py",
            "--server_num is 2, but --servers lists 1",
        ),
        ("--server_num 0 --worker_num 1 t.py", "--server_num must be at least 1"),
    ):
        with pytest.raises(ConfigError, match=message):
            read(words)


def test_the_token_is_named_by_a_file():
    assert read("--token_file secret t.py").token_file == "secret"
    assert read("--token_file secret t.py", ARGOSY_TOKEN_FILE="other").token_file == "other"
    # others would see it among the processes
    with pytest.raises(ConfigError, match="there is no option '--token'"):
        read("--token 0123456789abcdef t.py")


def test_the_line_for_other_hosts():
    kept = ["--nnodes=2", "--legacy", "--master", "10.0.0.1:5", "t.py", "--rank", "7"]
    words = ["--rank", "0", kept[0], "--host=10.0.0.1", kept[1], "--token_file", "f", *kept[2:]]
    assert flags.without(words, ("rank", "host", "token_file")) == kept


# -- in the environment of another launcher

ONE_TASK_PER_HOST = SLURM | {
    "SLURM_NTASKS": "3",
    "SLURM_STEP_NUM_TASKS": "3",
    "SLURM_PROCID": "1",
    "SLURM_LOCALID": "0",
    "SLURM_STEP_TASKS_PER_NODE": "1(x3)",
}


def hosts(found: LaunchSpec) -> tuple[object, ...]:
    return found.min_nodes, found.max_nodes, found.node_rank, found.master, found.nproc


def test_one_task_per_host_needs_no_flags():
    found = read("t.py", **ONE_TASK_PER_HOST)
    assert hosts(found)[:3] == (3, 3, 1)
    assert found.master.startswith("n1:")
    assert hosts(read("t.py", **TRAINER)) == (2, 2, 1, "job-node-0-0.job:29400", 4)
    elastic = TRAINER | {"PET_NNODES": "1:4"}
    assert hosts(read("t.py", **elastic)) == (1, 4, -1, "job-node-0-0.job:29400", 4)
    assert hosts(read("t.py", **PADDLE_OPERATOR))[:4] == (2, 2, 1, "10.0.0.1:41000")
    assert hosts(read("t.py", **JOBSET))[:3] == (3, 3, 2)
    assert read("t.py", **TRAINER | {"PET_NNODES": "1"}).nproc == 4


def test_flags_that_do_not_name_hosts_leave_them_to_the_other_launcher():
    found = read("--nproc_per_node 8 --log_dir out t.py", **TRAINER)
    assert hosts(found) == (2, 2, 1, "job-node-0-0.job:29400", 8)


def test_hosts_on_the_command_line_win():
    assert hosts(read("--nnodes 1 --nproc_per_node 2 t.py", **OPEN_MPI))[:2] == (1, 1)
    found = read("--nnodes 2 --master 10.0.0.1:80 t.py", **ONE_TASK_PER_HOST)
    assert hosts(found)[:4] == (2, 2, -1, "10.0.0.1:80")


def test_paddles_variables_win():
    assert hosts(read("t.py", PADDLE_NNODES="1", **ONE_TASK_PER_HOST))[:2] == (1, 1)
    assert read("t.py", PADDLE_MASTER="10.0.0.1:80", **ONE_TASK_PER_HOST).master == "10.0.0.1:80"


def test_a_rank_of_ours_may_start_a_launcher():
    assert hosts(read("t.py", **OPEN_MPI, PADDLE_TRAINERS_NUM="2"))[:2] == (1, 1)


def test_launchers_started_as_ranks_are_refused():
    with pytest.raises(ConfigError, match="one launcher per host"):
        read("--nproc_per_node 2 t.py", **OPEN_MPI)
