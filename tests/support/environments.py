"""Environments as launchers leave them, recorded or written by their documents."""

from __future__ import annotations


def variables(text: str) -> dict[str, str]:
    pairs = (line.strip().partition("=") for line in text.splitlines() if line.strip())
    return {name: value for name, _, value in pairs}


# of torchrun 2.13, `--nproc_per_node 2`, the second process
TORCHRUN = variables("""
    GROUP_RANK=0
    GROUP_WORLD_SIZE=1
    LOCAL_RANK=1
    LOCAL_WORLD_SIZE=2
    MASTER_ADDR=localhost
    MASTER_PORT=40935
    RANK=1
    ROLE_NAME=default
    ROLE_RANK=1
    ROLE_WORLD_SIZE=2
    TORCHELASTIC_MAX_RESTARTS=0
    TORCHELASTIC_RESTART_COUNT=0
    TORCHELASTIC_RUN_ID=bcd0e6f0-9d26-4ed6-9d57-de881bc752d9
    TORCHELASTIC_USE_AGENT_STORE=True
    WORLD_SIZE=2
""")
# of Open MPI 4.1.4, `mpirun -np 2`, the second process
OPEN_MPI = variables("""
    OMPI_APP_CTX_NUM_PROCS=2
    OMPI_COMM_WORLD_LOCAL_RANK=1
    OMPI_COMM_WORLD_LOCAL_SIZE=2
    OMPI_COMM_WORLD_NODE_RANK=1
    OMPI_COMM_WORLD_RANK=1
    OMPI_COMM_WORLD_SIZE=2
    OMPI_MCA_ess_base_jobid=1534459905
    OMPI_UNIVERSE_SIZE=2
    PMIX_NAMESPACE=1534459905
    PMIX_RANK=1
""")
# of MPICH 4.0.2, `mpiexec.hydra -n 2`, the second process
HYDRA = variables("""
    HYDI_CONTROL_FD=7
    MPIR_CVAR_CH3_INTERFACE_HOSTNAME=vm
    MPI_LOCALNRANKS=2
    MPI_LOCALRANKID=1
    PMI_FD=8
    PMI_RANK=1
    PMI_SIZE=2
""")
# `srun -N 3 -n 7`, a task of the second host
SLURM = variables("""
    SLURM_JOB_ID=4711
    SLURM_JOB_NODELIST=n[1-3]
    SLURM_JOB_NUM_NODES=3
    SLURM_LOCALID=1
    SLURM_NNODES=3
    SLURM_NODEID=1
    SLURM_NTASKS=7
    SLURM_PROCID=4
    SLURM_STEP_ID=0
    SLURM_STEP_NODELIST=n[1-3]
    SLURM_STEP_NUM_NODES=3
    SLURM_STEP_NUM_TASKS=7
    SLURM_STEP_TASKS_PER_NODE=3(x2),1
""")
# the script of `sbatch -N 2 -n 4`
SBATCH = variables("""
    SLURM_JOB_ID=4711
    SLURM_JOB_NODELIST=n[1-2]
    SLURM_JOB_NUM_NODES=2
    SLURM_LOCALID=0
    SLURM_NNODES=2
    SLURM_NODEID=0
    SLURM_NTASKS=4
    SLURM_PROCID=0
    SLURM_TASKS_PER_NODE=2(x2)
""")
# a pod of a TrainJob with `mlPolicy.torch`
TRAINER = variables("""
    HOSTNAME=job-node-0-1
    JOB_COMPLETION_INDEX=1
    PET_MASTER_ADDR=job-node-0-0.job
    PET_MASTER_PORT=29400
    PET_NNODES=2
    PET_NODE_RANK=1
    PET_NPROC_PER_NODE=4
""")
# the worker of a PyTorchJob of Kubeflow's training-operator 1.9
PYTORCH_JOB = variables("""
    MASTER_ADDR=job-master-0
    MASTER_PORT=23456
    PET_MASTER_ADDR=job-master-0
    PET_MASTER_PORT=23456
    PET_NNODES=2
    PET_NODE_RANK=1
    RANK=1
    WORLD_SIZE=2
""")
PADDLE_JOB = variables("""
    PADDLE_JOB_ID=job
    PADDLE_MASTER=job-worker-0:36543
    PADDLE_NNODES=2
""")
PADDLE_OPERATOR = variables("""
    PADDLE_PORT=41000
    PADDLE_TRAINERS=10.0.0.1,10.0.0.2
    PADDLE_TRAINERS_NUM=2
    PADDLE_TRAINER_ENDPOINTS=10.0.0.1:41000,10.0.0.2:41000
    PADDLE_TRAINER_ID=1
    PADDLE_TRAINING_ROLE=TRAINER
    POD_IP=10.0.0.2
    TRAINER_PORTS_NUM=20
    TRAINING_ROLE=TRAINER
""")
VOLCANO = variables("""
    HOSTNAME=job-worker-1
    VC_MASTER_HOSTS=job-master-0.job
    VC_MASTER_NUM=1
    VC_TASK_INDEX=1
    VC_WORKER_HOSTS=job-worker-0.job,job-worker-1.job
    VC_WORKER_NUM=2
    VK_TASK_INDEX=1
""")
JOBSET = variables("""
    HOSTNAME=train-worker-0-2
    JOBSET_NAME=train
    JOB_COMPLETION_INDEX=2
    PADDLE_NNODES=3
""")
JSRUN = variables("""
    JSM_NAMESPACE_LOCAL_RANK=0
    JSM_NAMESPACE_LOCAL_SIZE=2
    JSM_NAMESPACE_RANK=2
    JSM_NAMESPACE_SIZE=4
    LSB_JOBID=815
    LSB_MCPU_HOSTS=batch 1 a 2 b 2
""")
BLAUNCH = variables("""
    LSB_JOBID=815
    LSB_MCPU_HOSTS=a 2 b 2
    LSF_PM_TASKID=4
""")
PADDLE = variables("""
    PADDLE_CURRENT_ENDPOINT=127.0.0.1:6071
    PADDLE_LOCAL_RANK=1
    PADDLE_LOCAL_SIZE=2
    PADDLE_MASTER=127.0.0.1:6000
    PADDLE_NNODES=1
    PADDLE_TRAINERS_NUM=2
    PADDLE_TRAINER_ENDPOINTS=127.0.0.1:6070,127.0.0.1:6071
    PADDLE_TRAINER_ID=1
""")
PS_WORKER = PADDLE | {"TRAINING_ROLE": "TRAINER", "PADDLE_PSERVERS_IP_PORT_LIST": "127.0.0.1:6000"}
