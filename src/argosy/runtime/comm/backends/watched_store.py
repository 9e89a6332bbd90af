"""A store for the making of a process group of torch: while it waits for a key, it looks whether
the ranks that are to set it live.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from argosy.foundation.deadline import Deadline
from argosy.foundation.errors import CollectiveTimeout, PeerLost
from argosy.runtime.comm.backends.shm.board import Seat
from argosy.runtime.comm.backends.shm.care import poll
from argosy.runtime.comm.inner_store import InnerStore


class WatchedStore(InnerStore):
    """``inner``, whose waits end with PeerLost when a rank of ``seat`` is gone. ``place`` is what
    errors call the wait.
    """

    def __init__(self, inner: Any, seat: Seat, place: str) -> None:
        super().__init__(inner)
        self._seat = seat
        self._place = place

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        limit_s = (self.timeout if timeout is None else timeout).total_seconds()
        deadline, board = Deadline.after(limit_s), self._seat.board
        while True:
            fates = board.fates()
            if poll(lambda: self._inner.check(list(keys))):
                return
            gone = next((r for r in self._seat.ranks if r in fates), None)
            if gone is not None:
                raise PeerLost(
                    f"rank {board.rank} was in {self._place} when {board.who(gone)} {fates[gone]}."
                )
            if deadline.expired:
                raise CollectiveTimeout(
                    f"rank {board.rank} waited {limit_s:g} s in {self._place}: not all ranks came."
                )

    def get(self, key: str) -> bytes:
        self.wait([key])
        return super().get(key)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        self.wait(keys)
        return super().multi_get(keys)
