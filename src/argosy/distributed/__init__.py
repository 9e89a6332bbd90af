"""Running on several processes: the environment, groups, collectives, data parallelism, spawn and
launch.
"""

from argosy.distributed import collective, communication, entry_attr, parallel, stream
from argosy.distributed._collectives import (
    P2POp,
    ReduceOp,
    all_gather,
    all_reduce,
    alltoall,
    alltoall_single,
    barrier,
    batch_isend_irecv,
    broadcast,
    gather,
    irecv,
    isend,
    recv,
    reduce,
    reduce_scatter,
    scatter,
    send,
    wait,
)
from argosy.distributed._data_parallel import DataParallel
from argosy.distributed._default import (
    destroy_process_group,
    get_backend,
    get_group,
    get_rank,
    get_world_size,
    init_parallel_env,
    is_initialized,
    new_group,
)
from argosy.distributed._env import ParallelEnv
from argosy.distributed._gloo import gloo_barrier, gloo_init_parallel_env, gloo_release
from argosy.distributed._group import Group
from argosy.distributed._objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from argosy.distributed._spawn import spawn
from argosy.distributed.collective import is_available
from argosy.distributed.launch.main import launch
from argosy.runtime.ps.entries import CountFilterEntry, ProbabilityEntry, ShowClickEntry

# names that most scripts do without, and the modules that have them
_LATER = {
    "InMemoryDataset": "fleet.dataset",
    "QueueDataset": "fleet.dataset",
    "ParallelMode": "fleet.base.topology",
    "group_sharded_parallel": "sharding",
    "save_group_sharded_model": "sharding",
}


def __getattr__(name: str) -> object:
    """Import ``fleet``, ``sharding`` and what they bring when they are first used."""
    import importlib

    if name in ("fleet", "sharding"):
        return importlib.import_module(f"argosy.distributed.{name}")
    if name in _LATER:
        return getattr(importlib.import_module(f"argosy.distributed.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
