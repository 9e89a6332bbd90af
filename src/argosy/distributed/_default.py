"""The process's session and default group: the state that Paddle's functions without a group
argument share.
"""

from __future__ import annotations

import atexit
import warnings
from typing import Any

from argosy.distributed import _sync_batch_norm, _trainers
from argosy.distributed._env import ParallelEnv
from argosy.foundation import env
from argosy.foundation.deadline import Deadline
from argosy.foundation.errors import BadArgument, ConfigError, UsageError
from argosy.runtime.comm import hosts
from argosy.runtime.comm.group import Group
from argosy.runtime.comm.rendezvous import SERVED, connect
from argosy.runtime.comm.session import Session, StoreEnded
from argosy.tensor.engine import defaults

DEFAULT_GROUP_NAME = "_default_pg"
_NEEDED = ("PADDLE_TRAINER_ID", "PADDLE_CURRENT_ENDPOINT", "PADDLE_TRAINERS_NUM")


class NotInitialised(ConfigError, RuntimeError):
    """The call needs a job that this process has not joined."""


class _State:
    """One per process; ``close()`` puts it back to the start."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.groups: dict[int, Group] = {}
        self.parallel_env: ParallelEnv | None = None

    def close(self) -> None:
        session, self.session = self.session, None
        self.groups.clear()
        self.parallel_env = None
        _sync_batch_norm.uninstall()
        _trainers.uninstall()
        if session is not None:
            session.close()


state = _State()
atexit.register(state.close)


def parallel_env() -> ParallelEnv:
    """The environment as it was at the last ``init_parallel_env`` or first use."""
    if state.parallel_env is None:
        state.parallel_env = ParallelEnv()
    return state.parallel_env


def init_parallel_env(nccl_config: Any = None) -> Group | None:
    """Join the job that the environment describes and return its group of all ranks.

    With one process it warns and does nothing. A second call returns the same group. Every process
    of the job must call it. ``nccl_config`` only tunes.
    """
    state.parallel_env = ParallelEnv()
    if state.parallel_env.world_size < 2:
        warnings.warn(
            "Currently not a parallel execution environment, "
            "`paddle.distributed.init_parallel_env` will not do anything.",
            stacklevel=2,
        )
        return None
    if state.session is not None:
        if state.session.is_forked:
            raise UsageError(
                f"init_parallel_env: this process was forked from rank {state.session.rank}, "
                "which has joined the job, and cannot join in its place.\n"
                "  Start processes that are to be ranks with paddle.distributed.spawn or launch."
            )
        return state.groups[0]
    backend = env.get("PADDLE_DISTRI_BACKEND", "auto")
    # an unknown name fails before anybody waits
    hosts.choose(backend, ["here", "here"], is_cuda=False)
    for name in env.missing(_NEEDED):
        raise ConfigError(
            f"paddle.distributed initialize error: {name} is not set, so init_parallel_env() "
            "cannot know this process's place in the job.\n"
            "  Start the script with `python -m paddle.distributed.launch train.py` or through "
            "dist.spawn(train, nprocs=2)."
        )
    settings = state.parallel_env
    if not 0 <= settings.rank < settings.world_size:
        raise BadArgument(
            f"init_parallel_env: PADDLE_TRAINER_ID is {settings.rank} and PADDLE_TRAINERS_NUM "
            f"{settings.world_size}: "
            "rank must be non-negative and world_size must be the maximum rank plus one."
        )
    if backend != "gloo" and defaults.device.type == "cuda":
        defaults.set_place(f"gpu:{settings.device_id}")
    state.session = _join(settings, backend)
    _sync_batch_norm.install(state.session.world)
    _trainers.install(state.session.world)
    state.groups[0] = state.session.world
    return state.session.world


def _join(settings: ParallelEnv, backend: str) -> Session:
    """Meet the other ranks in the job's store.

    Where rank 0 serves it, a rank that leaves a job and joins again may be faster than rank 0 and
    find the old store just before it ends: then it looks for the new one.
    """
    deadline = Deadline.after(settings.pg_timeout / 1000)
    address = settings.current_endpoint.rpartition(":")[0] or "127.0.0.1"
    while True:
        store = connect(_master(settings), settings.rank, deadline.remaining_s())
        try:
            return Session(
                rank=settings.rank,
                world_size=settings.world_size,
                store=store,
                backend=backend,
                timeout_s=deadline.seconds,
                address=address,
                name=DEFAULT_GROUP_NAME,
            )
        except StoreEnded:
            store.close()
            if settings.rank == 0 or env.get(SERVED) == "1" or deadline.expired:
                raise
        except BaseException:
            store.close()
            raise


def _master(settings: ParallelEnv) -> str:
    """Where the ranks meet: MASTER_ADDR and MASTER_PORT, else PADDLE_MASTER, else the first
    trainer's endpoint.
    """
    address, port = env.get("MASTER_ADDR"), env.get("MASTER_PORT")
    endpoint = (
        f"{address}:{port}"
        if address and port
        else env.get("PADDLE_MASTER") or settings.trainer_endpoints[0]
    )
    if not endpoint:
        raise ConfigError(
            "init_parallel_env: none of MASTER_ADDR with MASTER_PORT, PADDLE_MASTER and "
            "PADDLE_TRAINER_ENDPOINTS is set, "
            "so the ranks do not know where to meet.\n  Start the script with `python -m "
            "paddle.distributed.launch train.py`."
        )
    return endpoint


def is_initialized() -> bool:
    """Whether ``init_parallel_env`` has joined a job."""
    return state.session is not None


def default_group(call: str) -> Group:
    """The group of all ranks; an error that names ``call`` before ``init_parallel_env``."""
    if state.session is None:
        raise NotInitialised(
            f"{call}: call paddle.distributed.init_parallel_env() first, in every process of the "
            "job"
        )
    return state.groups[0]


def get_rank(group: Group | None = None) -> int:
    """This process's rank in ``group``, -1 if it is not in it; without a group its rank in the
    job.
    """
    return group.rank if group is not None else parallel_env().rank


def get_world_size(group: Group | None = None) -> int:
    """The number of ranks in ``group``, -1 if this process is not in it; without a group that of
    the job.
    """
    if group is None and state.session is not None:
        group = state.groups[0]
    return group.world_size if group is not None else parallel_env().world_size


def new_group(
    ranks: Any = None,
    backend: str | None = None,
    timeout: Any = None,
    nccl_comm_init_option: int = 0,
    nccl_config: Any = None,
) -> Group:
    """Make a group of ``ranks`` (all without it). Every process of the job calls it, members or
    not, in the same order.

    ``timeout`` is a timedelta. The NCCL options only tune.
    """
    world = default_group("new_group")
    assert state.session is not None
    members = sorted(int(r) for r in ranks) if ranks is not None else world.ranks
    limit = None if timeout is None else timeout.total_seconds()
    group = state.session.new_group(members, None if backend == "auto" else backend, limit)
    state.groups[group.id] = group
    return group


def get_group(id: int = 0) -> Group | None:
    """The group that was made with this id; None with a warning if there is none."""
    if id not in state.groups:
        warnings.warn(f"Group {id} is not initialized.", stacklevel=2)
        return None
    return state.groups[id]


def get_backend(group: Group | None = None) -> str:
    """The name of the backend of ``group`` (all ranks without it), in capitals: SHM, GLOO, NCCL."""
    chosen = group if group is not None else default_group("get_backend")
    if chosen.rank < 0:
        raise NotInitialised(
            f"get_backend: this process is not in group {chosen.name!r} (ranks {chosen.ranks})"
        )
    return chosen.backend


def destroy_process_group(group: Group | None = None) -> None:
    """Leave ``group``; without one, leave the job."""
    if group is None or group.id == 0:
        state.close()
    elif state.session is not None:
        state.groups.pop(group.id, None)
        state.session.drop(group)
