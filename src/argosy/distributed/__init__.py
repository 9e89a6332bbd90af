"""Running on several processes: the environment, groups, collectives, data parallelism, spawn and
launch.
"""

from argosy.distributed import collective, communication, entry_attr, parallel
from argosy.distributed._split import split
from argosy.distributed.collective import is_available, new_group
from argosy.distributed.communication import (
    P2POp,
    ReduceOp,
    all_gather,
    all_gather_object,
    all_reduce,
    alltoall,
    alltoall_single,
    barrier,
    batch_isend_irecv,
    broadcast,
    broadcast_object_list,
    destroy_process_group,
    gather,
    gather_object,
    get_backend,
    get_group,
    irecv,
    is_initialized,
    isend,
    recv,
    recv_object_list,
    reduce,
    reduce_scatter,
    scatter,
    scatter_object_list,
    send,
    send_object_list,
    stream,
    wait,
)
from argosy.distributed.communication.group import Group
from argosy.distributed.entry_attr import CountFilterEntry, ProbabilityEntry, ShowClickEntry
from argosy.distributed.launch.main import launch
from argosy.distributed.parallel import (
    DataParallel,
    ParallelEnv,
    get_rank,
    get_world_size,
    init_parallel_env,
)
from argosy.distributed.parallel_with_gloo import (
    gloo_barrier,
    gloo_init_parallel_env,
    gloo_release,
)
from argosy.distributed.spawn import spawn

# names that most scripts do without, and the modules that have them
_LATER = {
    "InMemoryDataset": "fleet.dataset",
    "QueueDataset": "fleet.dataset",
    "ParallelMode": "fleet.base.topology",
    "group_sharded_parallel": "sharding",
    "save_group_sharded_model": "sharding",
}


def __getattr__(name: str) -> object:
    """Import ``fleet``, ``rpc``, ``sharding`` and what they bring when they are first used."""
    import importlib

    if name in ("fleet", "rpc", "sharding"):
        return importlib.import_module(f"argosy.distributed.{name}")
    if name in _LATER:
        return getattr(importlib.import_module(f"argosy.distributed.{_LATER[name]}"), name)
    raise AttributeError(f"module 'paddle.distributed' has no attribute {name!r}")
