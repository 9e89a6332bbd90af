"""A group: some ranks of the job, in order, and the transport through which they talk.

It is the class that users meet as ``paddle.distributed.Group``, so its public names mean what
Paddle documents: ``world_size`` is -1 and ``backend`` empty where this process is not a member,
``is_member()`` wants a second one. The runtime reads ``nranks``, ``has_me`` and ``transport``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from argosy.foundation.errors import BadArgument, CommError, UsageError
from argosy.runtime.comm import forks
from argosy.runtime.comm.backend import Backend
from argosy.runtime.comm.process_group import ProcessGroup
from argosy.runtime.comm.work import CommQueue, Work

__all__ = ["Group"]


class Group:
    """Some ranks of the job that communicate among themselves.

    ``ranks`` are global; ``rank`` is this process's own among them, -1 if it is not a member.
    Collectives run in the order in which they are called, whether waited for or not. ``label`` is
    what messages call the group, its ``name`` unless said otherwise.

    Groups that communicate are made by a session; it names the ``global_rank`` of this process and
    the ``transport``. A script may describe one as in Paddle, by its own rank in it: such a group
    has no transport unless it is given one.
    """

    def __init__(
        self,
        rank_in_group: int | None = None,
        id: int = 0,
        ranks: Sequence[int] | int = (),
        pg: Any = None,
        name: str | None = None,
        *,
        global_rank: int | None = None,
        transport: Backend | None = None,
        label: str | None = None,
    ) -> None:
        members: Any = ranks
        if isinstance(ranks, int):  # up to Paddle 2.3: rank, number of ranks, id, ranks
            id, members, pg = ranks, pg, None
        transport = transport if transport is not None else pg
        self.id = id
        self.name = name if name is not None else f"_default_pg{id}"
        self.label = label or self.name
        self.ranks: list[int] = list(members)
        self.nranks = len(self.ranks)
        if global_rank is None:
            own = -1 if rank_in_group is None else rank_in_group
            global_rank = self.ranks[own] if own >= 0 else -1
            self.rank = own
        else:
            self.rank = self.get_group_rank(global_rank)
        self.has_me = self.rank >= 0
        self.world_size = self.nranks if self.has_me else -1
        # Read at every collective. Where there is none, reading a collective of it is the error.
        self.transport = transport if transport is not None else self._no_transport()
        self._global_rank = global_rank
        self._is_forked = False
        self._queue = CommQueue(self.label)
        self.run = self._queue.run  # runs a collective of this group and waits for it
        self.submit = self._queue.submit  # starts a collective of this group
        self.start = self._queue.start  # the same, and begins it here if nothing is pending
        # Messages have queues of their own, one for each peer and direction: a send that waits for
        # its receiver must not hold up the receive that somebody else waits for.
        self._message_queues: dict[tuple[str, int], CommQueue] = {}
        forks.register(self)

    @property
    def process_group(self) -> ProcessGroup | None:
        """The collectives by their names in Paddle's core; None if this process is not a
        member.
        """
        return ProcessGroup(self) if self.has_me else None

    pg = process_group

    @property
    def backend(self) -> str:
        """The kind of the transport in capitals: SHM, GLOO, NCCL."""
        return self.transport.kind.upper() if self.has_me else ""

    def is_member(self) -> bool:
        """Whether this process is in the group and it has more than one member."""
        return self.has_me and self.nranks > 1

    def get_group_rank(self, rank: int) -> int:
        """The rank inside the group of a global rank; -1 if it is not a member."""
        return self.ranks.index(rank) if rank in self.ranks else -1

    def get_global_rank(self, rank: int) -> int:
        """The global rank of a rank of the group; -1 if this process is not a member."""
        return self.ranks[rank] if self.has_me else -1

    def __repr__(self) -> str:
        return (
            f"rank: {self.rank}, nranks: {self.nranks}, id: {self.id}, ranks: "
            f"{', '.join(map(str, self.ranks))}; name: {self.name}"
        )

    def rank_of(self, global_rank: int, call: str = "collective") -> int:
        """The rank inside the group of a global rank; an error that names the group if it is not
        a member.
        """
        if global_rank not in self.ranks:
            raise BadArgument(
                f"{call}: rank {global_rank} is not in group {self.label!r}, whose ranks are "
                f"{self.ranks}"
            )
        return self.ranks.index(global_rank)

    def message(
        self, direction: str, peer: int, is_async: bool, call: Callable[..., Any], *args: Any
    ) -> Work:
        """Run or start a ``send`` to or ``recv`` from ``peer``; those of one direction and peer
        keep their order.
        """
        queue = self._message_queues.get((direction, peer))
        if queue is None:
            fresh = CommQueue(f"{self.label}-{direction}-{peer}")
            if self._is_forked:
                fresh.refuse_in_child(self._refusal)
            queue = self._message_queues.setdefault((direction, peer), fresh)
        if is_async:
            return queue.submit(call, *args)
        return Work.completed(queue.run(call, *args), direction)

    @property
    def num_pending(self) -> int:
        """Calls that were submitted and have not finished."""
        return sum(queue.num_pending for queue in self._queues())

    def on_forked(self) -> None:
        self._is_forked = True
        for queue in self._queues():
            queue.refuse_in_child(self._refusal)

    def _refusal(self, call: str) -> UsageError:
        return forks.refusal(call, self._global_rank, self.label)

    def _queues(self) -> list[CommQueue]:
        return [self._queue, *self._message_queues.values()]

    def _no_transport(self) -> Backend:
        return cast(Backend, ClosedTransport(self.label, self.ranks))

    def close(self) -> None:
        transport, self.transport = self.transport, self._no_transport()
        transport.close()
        for queue in self._queues():
            queue.close()


class ClosedTransport:
    """Stands for the transport that this process does not have: every collective is an error."""

    def __init__(self, label: str, ranks: list[int]) -> None:
        self._label = label
        self._ranks = ranks

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python itself asks for, to copy or to inspect
            raise AttributeError(name)
        raise CommError(
            f"this process is not in group {self._label!r} (ranks {self._ranks}), or the group "
            "is closed"
        )

    def close(self) -> None:
        """There is nothing to end."""
