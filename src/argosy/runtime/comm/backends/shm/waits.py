"""Ranks that wait for each other in different places.

While it waits, a rank's control block says what it waits for and for which ranks. Two ranks of which each has waited a second for the other will
wait for ever: they called different things, or the same ones in another order. Only the main thread takes part. It does one thing at a time,
whereas a collective in a lane may wait while its rank goes on working.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from argosy.runtime.comm import fingerprint
from argosy.runtime.comm.backends.shm import layout

COLLECTIVE, BUCKET = 1, 2
What = tuple[int, int, int]  # COLLECTIVE, its number, 0; or BUCKET, the bucket's number, its round

_SURE_S = 1.0
_AT = layout.WAITING // 8
_SERIAL, _WHAT, _MASK = _AT, slice(_AT + 1, _AT + 4), _AT + 4
_MASK_BITS = 63


class Control:
    """The control blocks of a group as int64 [world_size, fields]. ``close`` lets go of the memory, which a traceback may outlive."""

    def __init__(self, fields: npt.NDArray[Any]) -> None:
        self.fields = fields

    def close(self) -> None:
        self.fields = self.fields[:0].copy()


class Wait:
    """One wait of this rank: visible to the others from its making until ``end``."""

    def __init__(self, control: Control, rank: int, what: What | None) -> None:
        is_shown = what is not None and threading.current_thread() is threading.main_thread()
        self._control = control
        self._rank = rank
        self._what = what if is_shown else None
        self._since_by_wait: dict[tuple[int, int], float] = {}
        if self._what is not None:
            fields = control.fields
            fields[rank, _MASK] = 0
            fields[rank, _WHAT] = self._what
            fields[rank, _SERIAL] += 1

    def opposite(self, missing: Sequence[int]) -> int | None:
        """The first of the ranks we miss that has for a second been waiting for us, elsewhere."""
        if self._what is None:
            return None
        self._control.fields[self._rank, _MASK] = sum(1 << r for r in missing if r < _MASK_BITS)
        now = time.monotonic()
        for r in missing:
            if self.is_opposed_by(r):
                since = self._since_by_wait.setdefault((r, int(self._control.fields[r, _SERIAL])), now)
                if now - since >= _SURE_S:
                    return r
        return None

    def is_opposed_by(self, rank: int) -> bool:
        """Whether ``rank`` waits for us, elsewhere."""
        theirs = tuple(self._control.fields[rank, _WHAT].tolist())
        is_for_us = self._rank < _MASK_BITS and int(self._control.fields[rank, _MASK]) >> self._rank & 1
        return self._what is not None and theirs[0] != 0 and theirs != self._what and bool(is_for_us)

    def place_of(self, rank: int) -> str:
        """Where ``rank`` waits, in words."""
        kind, number, round_number = self._control.fields[rank, _WHAT].tolist()
        if kind == BUCKET:
            return bucket_text(number, round_number)
        at = layout.FINGERPRINT // 8 + (number & 1) * 8
        return fingerprint.describe(self._control.fields[rank, at : at + layout.FINGERPRINT_FIELDS].tolist())

    def end(self) -> None:
        """It was worth it; after an error the record stays, to tell the others."""
        if self._what is not None:
            self._control.fields[self._rank, _WHAT] = 0


def bucket_text(number: int, round_number: int) -> str:
    """``the average of gradients in backward #12 (bucket 0)``."""
    return f"the average of gradients in backward #{round_number} (bucket {number})"
