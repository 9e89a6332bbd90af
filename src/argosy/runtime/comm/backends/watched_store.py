"""A store for the making of a process group of torch: while it waits for a key, it looks whether
the ranks that are to set it live.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch.distributed as dist

from argosy.foundation.deadline import Deadline
from argosy.foundation.errors import CollectiveTimeout, PeerLost
from argosy.runtime.comm.backends.shm.board import Seat
from argosy.runtime.comm.backends.shm.care import poll


class WatchedStore(dist.Store):  # type: ignore[name-defined,misc]
    """``inner``, whose waits end with PeerLost when a rank of ``seat`` is gone. ``place`` is what
    errors call the wait.
    """

    def __init__(self, inner: Any, seat: Seat, place: str) -> None:
        super().__init__()
        self._inner = inner
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
        return bytes(self._inner.get(key))

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        self.wait(keys)
        return list(self._inner.multi_get(list(keys)))

    def set(self, key: str, value: str | bytes) -> None:
        self._inner.set(key, value)

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        self._inner.multi_set(list(keys), list(values))

    def add(self, key: str, value: int) -> int:
        return int(self._inner.add(key, value))

    def check(self, keys: Sequence[str]) -> bool:
        return bool(self._inner.check(list(keys)))

    def compare_set(self, key: str, expected_value: str, desired_value: str) -> bytes:
        return bytes(self._inner.compare_set(key, expected_value, desired_value))

    def append(self, key: str, value: str | bytes) -> None:
        self._inner.append(key, value)

    def delete_key(self, key: str) -> bool:
        return bool(self._inner.delete_key(key))

    def num_keys(self) -> int:
        return int(self._inner.num_keys())

    def has_extended_api(self) -> bool:
        return True

    # the names under which torch's C++ code looks for these two
    deleteKey = delete_key
    getNumKeys = num_keys
