"""The job that this process has joined: the state that Paddle's functions without a group argument
share.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
from typing import Any

from argosy.distributed import trainers
from argosy.foundation import env
from argosy.foundation.deadline import Deadline
from argosy.foundation.errors import ConfigError
from argosy.foundation.process_state import register
from argosy.foundation.trace import trace
from argosy.nn import SyncBatchNorm
from argosy.runtime.comm.group import Group
from argosy.runtime.comm.meeting import Meeting
from argosy.runtime.comm.rendezvous import SERVED, connect
from argosy.runtime.comm.session import Session, StoreEnded
from argosy.runtime.parallel.totals import total
from argosy.tensor.engine import Tensor, wrap

__all__ = ["Job", "NotInitialised", "default_group", "job", "meet"]

_WORLD_NAME = "_default_pg"  # Paddle's name of the group of all ranks


class NotInitialised(ConfigError, RuntimeError):
    """The call needs a job that this process has not joined."""


class Job:
    """One per process; ``close()`` puts it back to the start.

    ``world`` is the group of all ranks, None outside a job; ``parallel_env`` the environment as it
    was when it was last read. ``promised`` joins the job, for whoever first needs the other ranks.
    """

    def __init__(self) -> None:
        self.session: Session | None = None
        self.world: Group | None = None
        self.groups: dict[int, Group] = {}
        self.parallel_env: Any = None
        self.promised: Callable[[], object] | None = None

    def promise(self, join: Callable[[], object]) -> None:
        """Let ranks meet by ``join`` when one of them first talks to the others. Programs are
        recorded before that, and by processes that never run them.
        """
        if self.world is None:
            self.promised = join
            trainers.promise(join)

    def enter(self, session: Session) -> Group:
        """Make ``session`` the process's, for SyncBatchNorm and the trainers of programs too."""
        self.session, self.promised = session, None
        self.world = world = self.groups[0] = session.world
        trace.join_job(session.rank, session.clock_offset)

        def reduce_moments(moments: Tensor) -> Tensor:
            return wrap(total(moments.raw, world))

        SyncBatchNorm.reduce_moments = reduce_moments
        trainers.install(world)
        return world

    def close(self) -> None:
        session, self.session, self.world = self.session, None, None
        self.groups.clear()
        self.parallel_env = self.promised = None
        SyncBatchNorm.reduce_moments = None
        trainers.uninstall()
        if session is not None:
            trace.leave_job()
            session.close()


job = Job()
register(
    "default group", job, attributes=("session", "world", "groups", "promised"), reset=job.close
)
register("parallel environment", job, attributes=("parallel_env",))
atexit.register(job.close)


def default_group(call: str) -> Group:
    """The group of all ranks, which meet now if that was promised; an error that names ``call``
    before ``init_parallel_env``.
    """
    if job.world is None and job.promised is not None:
        job.promised()
    if job.world is None:
        raise NotInitialised(
            f"{call}: call paddle.distributed.init_parallel_env() first, in every process of the "
            "job"
        )
    return job.world


def meet(
    master: str | Meeting,
    rank: int,
    world_size: int,
    backend: str,
    timeout_s: float,
    address: str,
) -> Session:
    """Join the other ranks in the job's store at ``master``, an address or how to learn it.

    Where rank 0 serves it, a rank that leaves a job and joins again may be faster than rank 0 and
    find the old store just before it ends: then it looks for the new one.
    """
    deadline = Deadline.after(timeout_s)
    while True:
        store = (
            connect(master, rank, deadline.remaining_s())
            if isinstance(master, str)
            else master.connect(rank, deadline)
        )
        try:
            return Session(
                rank=rank,
                world_size=world_size,
                store=store,
                backend=backend,
                timeout_s=timeout_s,
                address=address,
                name=_WORLD_NAME,
            )
        except StoreEnded:
            store.close()
            if rank == 0 or env.get(SERVED) == "1" or deadline.expired:
                raise
        except BaseException:
            store.close()
            raise
        finally:
            if rank == 0 and isinstance(master, Meeting):
                master.adjourn()
