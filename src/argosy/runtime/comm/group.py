"""A group: some ranks of the job, in order, and the backend through which they talk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from argosy.foundation.errors import BadArgument, CommError, UsageError
from argosy.runtime.comm import forks
from argosy.runtime.comm.backend import Backend
from argosy.runtime.comm.work import Lane, Work


class Group:
    """``ranks`` are global; ``rank`` is this process's place among them, -1 if it is not one of
    them.

    Collectives run in the order in which they are called, whether waited for or not.
    """

    def __init__(
        self, *, id: int, name: str, ranks: Sequence[int], global_rank: int, backend: Backend | None
    ) -> None:
        self.id = id
        self.name = name
        self.ranks = list(ranks)
        self.rank = self.ranks.index(global_rank) if global_rank in self.ranks else -1
        self._global_rank = global_rank
        self._is_forked = False
        self._backend = backend
        self._lane = Lane(name)
        self.run = self._lane.run  # runs a collective of this group and waits for it
        # Messages have lanes of their own, one for each peer and direction: a send that waits for
        # its receiver must not hold up the receive that somebody else waits for.
        self._message_lanes: dict[tuple[str, int], Lane] = {}
        forks.register(self)

    @property
    def world_size(self) -> int:
        return len(self.ranks)

    @property
    def is_member(self) -> bool:
        return self.rank >= 0

    @property
    def backend(self) -> Backend:
        if self._backend is None:
            raise CommError(
                f"this process is not in group {self.name!r} (ranks {self.ranks}), or the group "
                "is closed"
            )
        return self._backend

    def replace_backend(self, backend: Backend) -> None:
        """Let collectives go through ``backend``, which stands in front of the one before."""
        self._backend = backend

    def rank_of(self, global_rank: int, call: str = "collective") -> int:
        """The place of a global rank in this group; an error that names the group if it is not in
        it.
        """
        if global_rank not in self.ranks:
            raise BadArgument(
                f"{call}: rank {global_rank} is not in group {self.name!r}, whose ranks are "
                f"{self.ranks}"
            )
        return self.ranks.index(global_rank)

    def submit(self, call: Callable[..., Any], *args: Any) -> Work:
        """Start a collective of this group and return at once."""
        return self._lane.submit(call, *args)

    def message(
        self, direction: str, peer: int, is_async: bool, call: Callable[..., Any], *args: Any
    ) -> Work:
        """Run or start a ``send`` to or ``recv`` from ``peer``; those of one direction and peer
        keep their order.
        """
        lane = self._message_lanes.get((direction, peer))
        if lane is None:
            fresh = Lane(f"{self.name}-{direction}-{peer}")
            if self._is_forked:
                fresh.refuse_in_child(self._refusal)
            lane = self._message_lanes.setdefault((direction, peer), fresh)
        if is_async:
            return lane.submit(call, *args)
        return Work.completed(lane.run(call, *args), direction)

    @property
    def num_pending(self) -> int:
        """Calls that were submitted and have not finished."""
        return sum(lane.num_pending for lane in self._lanes())

    def on_forked(self) -> None:
        self._is_forked = True
        for lane in self._lanes():
            lane.refuse_in_child(self._refusal)

    def _refusal(self, call: str) -> UsageError:
        return forks.refusal(call, self._global_rank, self.name)

    def _lanes(self) -> list[Lane]:
        return [self._lane, *self._message_lanes.values()]

    def close(self) -> None:
        backend, self._backend = self._backend, None
        if backend is not None:
            backend.close()
        for lane in self._lanes():
            lane.close()
