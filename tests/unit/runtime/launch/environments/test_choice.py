"""Launchers inside launchers: who is believed, and what is refused."""

from __future__ import annotations

import pytest

from argosy.foundation.errors import ConfigError
from argosy.runtime.launch.environments import as_host, as_rank, find, look, variables_of
from support.environments import (
    BLAUNCH,
    HYDRA,
    OPEN_MPI,
    PADDLE,
    PADDLE_JOB,
    PADDLE_OPERATOR,
    PS_WORKER,
    SBATCH,
    SLURM,
    TORCHRUN,
    TRAINER,
    VOLCANO,
)

TWO_TASKS = SLURM | {
    "SLURM_NTASKS": "2",
    "SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "1", "SLURM_LOCALID": "0", "SLURM_NODEID": "1",
    "SLURM_STEP_NUM_NODES": "2", "SLURM_STEP_NODELIST": "n[1-2]",
    "SLURM_STEP_TASKS_PER_NODE": "1(x2)",
}  # fmt: skip
TWO_TASKS_OF_ONE_HOST = TWO_TASKS | {
    "SLURM_NODEID": "0", "SLURM_STEP_NUM_NODES": "1", "SLURM_STEP_NODELIST": "n1",
    "SLURM_STEP_TASKS_PER_NODE": "2",
}  # fmt: skip
TORCHRUN_OF_TWO_HOSTS = TORCHRUN | {
    "GROUP_WORLD_SIZE": "2", "GROUP_RANK": "1", "WORLD_SIZE": "4", "RANK": "3",
    "MASTER_ADDR": "n1",
}  # fmt: skip


def test_torchrun_on_the_hosts_of_slurm_is_believed():
    assert look(TORCHRUN_OF_TWO_HOSTS | TWO_TASKS).launcher == "torchrun"


def test_torchrun_in_a_pod_of_the_trainer_is_believed():
    environment = TORCHRUN_OF_TWO_HOSTS | TRAINER
    assert look(environment).rank == 3


def test_torchrun_in_a_batch_script_is_believed():
    assert look(TORCHRUN | SBATCH).world_size == 2


def test_mpirun_in_tasks_of_slurm_learns_where_to_meet_from_it():
    placement = look(OPEN_MPI | {"OMPI_COMM_WORLD_SIZE": "4"} | TWO_TASKS)
    assert placement.launcher == "mpirun of Open MPI"
    assert placement.master.startswith("n1:")


def test_torchrun_numbers_the_hosts_as_it_likes():
    """It sorts them by name, n10 before n9; Slurm has them in the order of its numbers."""
    other_way = {"GROUP_RANK": "0", "RANK": "1"}
    assert look(TORCHRUN_OF_TWO_HOSTS | TWO_TASKS | other_way).rank == 1
    one_each = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1", "GROUP_RANK": "0", "RANK": "0"}
    assert look(TORCHRUN_OF_TWO_HOSTS | TWO_TASKS | one_each).rank == 0


def test_an_elastic_torchrun_has_as_many_hosts_as_have_come():
    elastic = TRAINER | {"PET_NNODES": "1:4"}
    assert look(TORCHRUN_OF_TWO_HOSTS | elastic).world_size == 4
    with pytest.raises(ConfigError, match="contradict each other"):
        look(TORCHRUN_OF_TWO_HOSTS | {"GROUP_WORLD_SIZE": "5"} | elastic)


def test_daemons_of_mpirun_are_not_its_ranks():
    """It starts them on the other hosts by means of the cluster, which numbers them."""
    several = OPEN_MPI | {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "3"}
    master = {"MASTER_ADDR": "a", "MASTER_PORT": "29400"}
    blaunch = BLAUNCH | {"LSF_PM_TASKID": "2"}
    assert look(several | blaunch | master).rank == 3
    few = OPEN_MPI | {"OMPI_COMM_WORLD_LOCAL_SIZE": "1", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}
    assert look(few | TWO_TASKS | {"SLURM_PROCID": "0", "SLURM_NODEID": "0"} | master).rank == 1


def test_volcanos_lists_are_in_no_order():
    """So a plugin of its own may number the pods otherwise."""
    pods = VOLCANO | {"VC_WORKER_HOSTS": "", "VC_EXECUTOR_HOSTS": VOLCANO["VC_WORKER_HOSTS"]}
    numbers = {"RANK": "2", "WORLD_SIZE": "3", "MASTER_ADDR": "job-master-0", "MASTER_PORT": "1"}
    assert look(pods | numbers).rank == 2
    with pytest.raises(ConfigError, match="contradict each other"):
        look(pods | numbers | {"RANK": "1", "WORLD_SIZE": "2"})


def test_the_same_tasks_under_two_names_agree():
    assert look(HYDRA | TWO_TASKS_OF_ONE_HOST).rank == 1


@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        (TORCHRUN, TWO_TASKS),  # each task has a torchrun by itself
        (TORCHRUN, TWO_TASKS_OF_ONE_HOST),
        (TORCHRUN | {"WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1", "RANK": "0"}, TWO_TASKS),
        (OPEN_MPI, HYDRA | {"PMI_SIZE": "4", "MPI_LOCALNRANKS": "4"}),
        (OPEN_MPI, HYDRA | {"PMI_RANK": "0"}),
        (TORCHRUN, VOLCANO),
    ],
)
def test_launchers_that_contradict_each_other_are_shown(inner, outer):
    with pytest.raises(ConfigError, match="contradict each other") as caught:
        look(inner | outer)
    words = str(caught.value)
    for environment in (inner, outer):
        (placement,) = find(environment).values()
        assert placement.shown(environment) in words
    assert "ARGOSY_LAUNCHER" in words


def test_the_launcher_to_believe_can_be_named():
    environment = TORCHRUN | TWO_TASKS
    assert look(environment | {"ARGOSY_LAUNCHER": "torchrun"}).world_size == 2
    assert look(environment | {"ARGOSY_LAUNCHER": "slurm"}).launcher == "srun of Slurm"
    assert look(environment | {"ARGOSY_LAUNCHER": "none"}) is None
    with pytest.raises(ConfigError, match=r"ARGOSY_LAUNCHER must be one of .* 'torchrum'"):
        look(environment | {"ARGOSY_LAUNCHER": "torchrum"})


def test_paddles_own_variables_win():
    assert look(PADDLE | TORCHRUN | TWO_TASKS | {"PADDLE_TRAINERS_NUM": "5"}).world_size == 5


@pytest.mark.parametrize(
    "environment",
    [
        {"RANK": "0", "WORLD_SIZE": "2"},
        OPEN_MPI | {"OMPI_COMM_WORLD_SIZE": "4"},
        HYDRA | {"PMI_SIZE": "4"},
        {"PET_NNODES": "2", "PET_NODE_RANK": "0"},
        {"PADDLE_NNODES": "2"},
    ],
)
def test_several_processes_without_a_place_to_meet_are_an_error(environment):
    with pytest.raises(ConfigError, match="where they can meet") as caught:
        look(environment)
    assert find(environment).popitem()[1].shown(environment) in str(caught.value)
    assert "MASTER_ADDR" in str(caught.value)


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        (TORCHRUN | {"RANK": "2"}, "gives this process the rank 2, but there are 2 ranks"),
        (
            {"PET_NNODES": "2", "PET_NODE_RANK": "2"},
            "gives this host the number 2, but there are 2 hosts",
        ),
    ],
)
def test_a_number_beyond_the_last_is_an_error_for_ranks_and_hosts(environment, words):
    for view in (as_rank, as_host):
        with pytest.raises(ConfigError, match=words) as caught:
            view(environment)
        assert find(environment).popitem()[1].shown(environment) in str(caught.value)


# -- as a rank


def test_a_rank_of_one_host_is_told_as_paddle_tells_it():
    told = variables_of(as_rank(OPEN_MPI))
    assert told == {
        "PADDLE_TRAINER_ID": "1", "PADDLE_GLOBAL_RANK": "1", "PADDLE_TRAINERS_NUM": "2",
        "PADDLE_GLOBAL_SIZE": "2", "PADDLE_LOCAL_RANK": "1", "PADDLE_RANK_IN_NODE": "1",
        "PADDLE_LOCAL_SIZE": "2", "PADDLE_NNODES": "1", "ARGOSY_MEETING": "job 1534459905-0",
    }  # fmt: skip


def test_how_ranks_meet():
    assert variables_of(as_rank(TORCHRUN))["ARGOSY_MEETING"] == "agent here localhost:40935 0"
    several = variables_of(as_rank(TORCHRUN_OF_TWO_HOSTS))
    assert several["ARGOSY_MEETING"] == "agent hosts n1:40935 0"
    assert variables_of(as_rank(HYDRA))["ARGOSY_MEETING"] == "below PMI_RANK"
    slurm = variables_of(as_rank(SLURM))
    assert slurm["PADDLE_MASTER"].startswith("n1:")
    assert slurm["ARGOSY_MEETING"] == f"at {slurm['PADDLE_MASTER']}"


def test_a_pod_that_is_one_process_is_a_rank():
    told = variables_of(as_rank(TRAINER | {"PET_NPROC_PER_NODE": "1"}))
    assert (told["PADDLE_TRAINER_ID"], told["PADDLE_TRAINERS_NUM"]) == ("1", "2")
    assert told["PADDLE_MASTER"] == "job-node-0-0.job:29400"
    told = variables_of(as_rank(PADDLE_OPERATOR))
    assert told["PADDLE_CURRENT_ENDPOINT"] == "10.0.0.2:41000"


@pytest.mark.parametrize(
    "environment", [TRAINER, PADDLE_JOB, PADDLE_JOB | {"PADDLE_TRAINER_NUM": "1"},
                    TRAINER | {"PET_NNODES": "1"},
                    TRAINER | {"PET_NNODES": "1:4", "PET_NPROC_PER_NODE": "1"}]
)  # fmt: skip
def test_a_process_where_a_launcher_was_wanted_is_told_so(environment):
    with pytest.raises(ConfigError, match=r"fleetrun train\.py"):
        as_rank(environment)


def test_children_of_our_launcher_ask_nobody_else():
    assert as_rank(PADDLE | TORCHRUN | TWO_TASKS) is None
    assert as_rank(PS_WORKER | OPEN_MPI) is None


def test_a_rank_beyond_the_world_is_refused():
    with pytest.raises(ConfigError, match="the rank 5, but there are 2 ranks"):
        variables_of(as_rank(TORCHRUN | {"RANK": "5"}))


# -- as a host


def test_one_task_per_host_is_a_host():
    host = as_host(TWO_TASKS)
    assert (host.num_hosts, host.this_host, host.rank) == (2, 1, None)
    assert host.master.startswith("n1:")
    assert as_host(TRAINER).processes_per_host == 4
    assert as_host(PADDLE_OPERATOR).this_host == 1


@pytest.mark.parametrize("environment", [OPEN_MPI, TORCHRUN, SLURM, TORCHRUN_OF_TWO_HOSTS])
def test_several_launchers_on_one_host_are_refused(environment):
    with pytest.raises(ConfigError, match="one launcher per host"):
        as_host(environment)


def test_a_launcher_that_was_started_once_is_alone():
    assert as_host(SBATCH) is None
    assert as_host(TORCHRUN | {"WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1", "RANK": "0"}) is None
