"""``paddle.distributed.parallel``: the module path under which scripts import data parallelism."""

from argosy.distributed._data_parallel import (
    DataParallel,
    ParallelStrategy,
    build_groups,
    sync_params_buffers,
)
from argosy.distributed._default import get_rank, get_world_size, init_parallel_env, is_initialized
from argosy.distributed._env import ParallelEnv

__all__ = [
    "DataParallel", "ParallelEnv", "ParallelStrategy", "build_groups", "get_rank",
    "get_world_size", "init_parallel_env", "is_initialized",
    "sync_params_buffers",
]  # fmt: skip
