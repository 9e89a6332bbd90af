"""What the variables of each launcher say, one recorded environment after another."""

from __future__ import annotations

import pytest

from argosy.foundation.errors import ConfigError
from argosy.runtime.launch.environments import DETECTS, SIGNS, find, look
from argosy.runtime.launch.environments.placement import port_of
from argosy.runtime.launch.environments.slurm import counts_of, hosts_of
from support.environments import (
    BLAUNCH,
    HYDRA,
    JOBSET,
    JSRUN,
    OPEN_MPI,
    PADDLE,
    PADDLE_JOB,
    PADDLE_OPERATOR,
    PS_WORKER,
    PYTORCH_JOB,
    SBATCH,
    SLURM,
    TORCHRUN,
    TRAINER,
    VOLCANO,
)

RECORDED = {
    "torchrun": ("torchrun", TORCHRUN, {
        "rank": 1, "world_size": 2, "local_rank": 1, "num_hosts": 1, "this_host": 0,
        "processes_per_host": 2, "agent": "localhost:40935", "master": "", "attempt": "0",
        "is_one_host": True}),
    "torchrun on two hosts": ("torchrun",
        TORCHRUN | {"GROUP_WORLD_SIZE": "2", "GROUP_RANK": "1", "WORLD_SIZE": "4", "RANK": "3"}, {
        "rank": 3, "world_size": 4, "num_hosts": 2, "this_host": 1, "is_one_host": False}),
    "env:// by hand": ("torchrun",
        {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "::1", "MASTER_PORT": "5"}, {
        "rank": 1, "world_size": 2, "num_hosts": None, "agent": "", "master": "[::1]:5"}),
    "mpirun": ("openmpi", OPEN_MPI, {
        "rank": 1, "world_size": 2, "local_rank": 1, "is_one_host": True,
        "job_id": "1534459905"}),
    "mpirun on two hosts": ("openmpi",
        OPEN_MPI | {"OMPI_COMM_WORLD_SIZE": "4", "MASTER_ADDR": "a", "MASTER_PORT": "7000"}, {
        "world_size": 4, "is_one_host": False, "num_hosts": None, "master": "a:7000"}),
    "hydra": ("pmi", HYDRA, {
        "rank": 1, "world_size": 2, "local_rank": 1, "is_one_host": True, "job_id": ""}),
    "PALS": ("pmi", {"PMI_RANK": "3", "PMI_SIZE": "4", "PMI_LOCAL_RANK": "1",
        "PMI_LOCAL_SIZE": "2", "MASTER_ADDR": "a", "MASTER_PORT": "7000"}, {
        "rank": 3, "world_size": 4, "local_rank": 1, "processes_per_host": 2, "master": "a:7000"}),
    "srun": ("slurm", SLURM, {
        "rank": 4, "world_size": 7, "local_rank": 1, "num_hosts": 3, "this_host": 1,
        "processes_per_host": 3, "job_id": "4711.0", "master": f"n1:{port_of('4711.0')}"}),
    "srun with a port": ("slurm", SLURM | {"MASTER_PORT": "7000"}, {"master": "n1:7000"}),
    "Trainer v2": ("pet", TRAINER, {
        "rank": None, "num_hosts": 2, "this_host": 1, "processes_per_host": 4,
        "master": "job-node-0-0.job:29400"}),
    "Trainer v2, elastic": ("pet", TRAINER | {"PET_NNODES": "1:4", "PET_NPROC_PER_NODE": "auto"}, {
        "num_hosts": 1, "most_hosts": 4, "processes_per_host": None, "is_several": True,
        "is_one_host": False}),
    "PyTorchJob": ("pet", PYTORCH_JOB, {
        "rank": None, "num_hosts": 2, "this_host": 1, "master": "job-master-0:23456"}),
    "PaddleJob": ("paddle-job", PADDLE_JOB, {
        "rank": None, "num_hosts": 2, "this_host": None, "master": "job-worker-0:36543",
        "role": ""}),
    "PaddleJob, server": ("paddle-job", PADDLE_JOB | {"PADDLE_SERVER_NUM": "1"}, {
        "role": "server"}),
    "PaddleJob, worker": ("paddle-job", PADDLE_JOB | {"PADDLE_TRAINER_NUM": "1"}, {
        "role": "worker"}),
    "paddle-operator": ("paddle-operator", PADDLE_OPERATOR, {
        "rank": 1, "world_size": 2, "num_hosts": 2, "this_host": 1, "master": "10.0.0.1:41000",
        "endpoint": "10.0.0.2:41000", "role": ""}),
    "Volcano": ("volcano", VOLCANO, {
        "num_hosts": 3, "this_host": 2, "master": f"job-master-0.job:{port_of('job')}"}),
    "JobSet": ("kubernetes", JOBSET, {
        "num_hosts": 3, "this_host": 2,
        "master": f"train-worker-0-0.train:{port_of('train-worker-0')}"}),
    "jsrun": ("lsf", JSRUN, {
        "rank": 2, "world_size": 4, "local_rank": 0, "is_one_host": False,
        "master": f"a:{port_of('815')}"}),
    "blaunch": ("lsf", BLAUNCH, {
        "rank": 3, "world_size": 4, "local_rank": 1, "num_hosts": 2, "this_host": 1,
        "master": f"a:{port_of('815')}"}),
    "Paddle": ("paddle", PADDLE, {
        "rank": 1, "world_size": 2, "local_rank": 1, "num_hosts": 1, "master": "127.0.0.1:6000"}),
    "Paddle, worker": ("paddle", PS_WORKER, {"role": "worker"}),
}  # fmt: skip


@pytest.mark.parametrize("case", RECORDED)
def test_a_recorded_environment_tells_the_place(case):
    name, environment, expected = RECORDED[case]
    placement = DETECTS[name](environment)
    assert {field: getattr(placement, field) for field in expected} == expected


@pytest.mark.parametrize("case", RECORDED)
def test_the_launcher_is_found_among_all(case):
    name, environment, _ = RECORDED[case]
    chosen = look(environment)
    assert chosen is not None
    assert chosen.launcher == DETECTS[name](environment).launcher
    assert set(chosen.variables) <= set(environment)
    assert set(SIGNS) & set(environment)


ALONE = {
    "nobody": {"HOSTNAME": "vm", "HOME": "/root"},
    "the script of sbatch": SBATCH,
    "the shell of salloc": SBATCH | {"SLURM_STEP_ID": "4294967290", "SLURM_STEP_NUM_TASKS": "1"},
    "srun with one task": SLURM | {"SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0"},
    "mpirun -np 1": OPEN_MPI | dict.fromkeys(
        ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"), "1"),
    "hydra -n 1": HYDRA | {"PMI_SIZE": "1", "MPI_LOCALNRANKS": "1", "PMI_RANK": "0"},
    "torchrun with one process": TORCHRUN | {
        "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1", "RANK": "0"},
    "WORLD_SIZE without RANK": {"WORLD_SIZE": "8"},
    "independent pods of an Indexed Job": {"JOB_COMPLETION_INDEX": "3", "HOSTNAME": "sweep-3"},
    "an allocation of LSF": {"LSB_JOBID": "815", "LSB_MCPU_HOSTS": "a 2 b 2"},
}  # fmt: skip


@pytest.mark.parametrize("case", ALONE)
def test_one_process_is_alone(case):
    placement = look(ALONE[case])
    assert placement is None or not placement.is_several


def test_lists_of_slurm():
    assert list(hosts_of("login,n[1-3,7],rack[08-10]-x,z")) == [
        "login", "n1", "n2", "n3", "n7", "rack08-x", "rack09-x", "rack10-x", "z",
    ]  # fmt: skip
    assert list(hosts_of("r[1-2]n[0-1]")) == ["r1n0", "r1n1", "r2n0", "r2n1"]
    assert list(counts_of("2(x3),1")) == [2, 2, 2, 1]


@pytest.mark.parametrize("text", ["n[1-", "n[a-b]", "n[1,,2]"])
def test_a_list_of_slurm_that_is_none_is_named(text):
    with pytest.raises(ConfigError, match=r"SLURM_STEP_NODELIST.*n\["):
        list(hosts_of(text))


def test_a_variable_that_is_no_number_is_named():
    with pytest.raises(ConfigError, match="OMPI_COMM_WORLD_SIZE must be a number"):
        find(OPEN_MPI | {"OMPI_COMM_WORLD_SIZE": "two"})


def test_variables_of_a_step_that_submitted_a_script_are_not_those_of_the_script():
    """As Slurm 22.05 leaves them in the script of ``sbatch -N 1 -n 1``, called in a step."""
    step = SLURM | {"SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0"}
    assert look(step | {"SLURM_GTIDS": "0,1,2"}).world_size == 7
    assert look(step | {"SLURM_JOB_NODELIST": "n1"}) is None
    assert look(step | {"SLURM_GTIDS": "0"}) is None
    with pytest.raises(ConfigError, match="SLURM_NTASKS=1 and SLURM_STEP_NUM_TASKS=7"):
        look(step | {"SLURM_NTASKS": "1"})
    assert look(step | {"SLURM_NTASKS": "1", "ARGOSY_LAUNCHER": "none"}) is None
