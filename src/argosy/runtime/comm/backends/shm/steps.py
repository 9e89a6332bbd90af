"""The steps of a group's collectives: publishing, waiting with care for late and dead peers, giving up, leaving.

While it waits, a rank looks every 50 ms whether a peer has exited or left and whether the deadline has passed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from argosy.foundation.deadline import Deadline
from argosy.foundation.errors import CollectiveMismatch, CollectiveTimeout, CommError, PeerLost
from argosy.runtime.comm import fingerprint
from argosy.runtime.comm.backends.shm import layout
from argosy.runtime.comm.backends.shm.compiled import kernels
from argosy.runtime.comm.backends.shm.peers import Peers
from argosy.runtime.comm.backends.shm.reduction import Rows
from argosy.runtime.comm.backends.shm.segment import Segment
from argosy.runtime.comm.backends.shm.waits import BUCKET, COLLECTIVE, Control, Wait, What, bucket_text

_LOOK_S = 0.05
_JOIN_S = 0.001
_ALL_REDUCE = fingerprint.CODE_BY_KIND["all_reduce"]
_CLOSE_S = 5.0


class Steps:
    """One rank's part in the steps of its group; ``error`` is what ended it, None while it works."""

    def __init__(self, name: str, rank: int, world_size: int, segment: Segment, timeout_s: float) -> None:
        self.name = name
        self.rank = rank
        self.world_size = world_size
        self._kind = "joining"
        self.error: CommError | None = None  # set once; whoever waits looks at it
        self.inside: list[None] = []  # one entry per call under way; append and pop are atomic
        self.num_done = 0
        self._timeout_s = timeout_s
        self._number = 0
        self._base = segment.address
        self._timespec = np.array([0, int(_LOOK_S * 1e9)], np.int64)
        self.timespec_address = int(self._timespec.ctypes.data)
        self._blocks = Control(segment.array(0, (world_size, layout.CONTROL_BYTES // 8), np.int64))
        self._control[rank, layout.PID // 8] = os.getpid()
        self._peers = Peers()

    def join(self) -> None:
        """Wait until every rank has mapped the segment. The loops are not needed for it, so they are not loaded yet."""
        deadline = Deadline.after(self._timeout_s)
        while not (pids := self._control[:, layout.PID // 8]).all():
            if deadline.expired:
                absent = ", ".join(self._who(int(r)) for r in np.flatnonzero(pids == 0))
                raise self.give_up(
                    CollectiveTimeout(
                        f"rank {self.rank} waited {self._timeout_s:g} s in joining of group {self.name!r} for {absent}, which did not arrive."
                    )
                )
            time.sleep(_JOIN_S)

    @property
    def _control(self) -> npt.NDArray[Any]:
        return self._blocks.fields

    @property
    def activity(self) -> str:
        """The collective under way: ``all_reduce #41``."""
        return f"{self._kind} #{self._number}" if self._number else self._kind

    def begin(self, kind: str, dtype: torch.dtype | None = None, count: int = 0, detail: int = 0) -> None:
        """Start a collective: its fingerprint becomes visible with the next step."""
        self._number += 1
        self._kind = kind
        code = fingerprint.CODE_BY_KIND[kind]
        dtype_code = fingerprint.CODE_BY_DTYPE[dtype]
        kernels.write_fingerprint(self._base, self.rank, self._number, code, dtype_code, count, detail)

    def run(self, check: bool = False) -> None:
        """Publish this rank's step and wait for the others'; with ``check``, compare fingerprints."""
        self.num_done += 1
        base, step = self._base, self.num_done
        kernels.arrive(base, self.rank, step)
        self.wait_at(base, step)
        if check:
            self._compare()

    def run_sum(self, dtype: torch.dtype, count: int, detail: int, rows: Rows, address: int, piece: int) -> None:
        """Sum the ``count`` elements at ``address`` over all ranks in place, a step per ``piece`` elements through ``rows``.

        The fingerprint of the collective is ``dtype``, ``count`` and ``detail``.
        """
        self._number += 1
        self._kind = "all_reduce"
        base, rank, n, memory, stride = self._base, self.rank, self.world_size, rows.memory, rows.stride
        parity_offset = stride // 2
        before, done, number, total = self.num_done, 0, self._number, -(-count // piece) or 1
        while True:
            low = done * piece
            done += kernels.sum_pieces(
                base, rank, n, self.num_done + 1, number, _ALL_REDUCE, fingerprint.CODE_BY_DTYPE[dtype], count, detail, self.timespec_address,
                memory, parity_offset, stride, address + low * memory.itemsize, count - low, piece,
            )  # fmt: skip
            if done == total:
                self.num_done = before + done
                return
            # the next piece is published, but a rank is late or disagrees
            self.num_done = before + done + 1
            self.wait_at(base, self.num_done)
            if number:
                self._compare()
            low = done * piece
            kernels.sum_late_piece(
                memory, (self.num_done & 1) * parity_offset, stride, n, rank, address + low * memory.itemsize, min(piece, count - low)
            )  # fmt: skip
            done, number = done + 1, 0
            if done == total:
                return

    def _compare(self) -> None:
        if kernels.first_disagreement(self._base, self.world_size, self.rank, self._number) >= 0:
            raise self.give_up(self._mismatch())

    def wait_at(self, base: int, step: int, what: What | None = None) -> None:
        """Wait until all ranks have published ``step`` in the control blocks at ``base``, by default for the collective under way."""
        n, timespec = self.world_size, self.timespec_address
        late = kernels.wait_step(base, n, 0, step, timespec)
        if late == n:
            return

        def look() -> list[int]:
            first = kernels.wait_step(base, n, late, step, timespec)
            return [r for r in range(first, n) if not kernels.has_arrived(base, r, step)]

        if what is None:
            what = (COLLECTIVE, self._number, 0)
        self.wait_with_care(look, bucket_text(*what[1:]) if what[0] == BUCKET else self.activity, what)

    def wait_with_care(self, look: Callable[[], list[int]], activity: str, what: What | None = None) -> None:
        """Repeat ``look``, which sleeps a moment and returns the ranks still awaited, until there are none."""
        deadline = Deadline.after(self._timeout_s)
        wait = Wait(self._blocks, self.rank, what)
        while True:
            # before the flags: a rank that arrives and then leaves or exits must not be reported
            fate_by_rank = self._departures()
            missing = look()
            if not missing:
                wait.end()
                return
            if self.error is not None:
                raise CommError(f"{activity} of group {self.name!r}: the group was closed meanwhile")
            opposite = wait.opposite(missing)
            for r in missing:
                if kernels.departure(self._base, r) == layout.DISAGREED and wait.is_opposed_by(r):
                    opposite = r
            if opposite is not None:
                raise self.give_up(self._deadlock(wait, opposite, activity), layout.DISAGREED)
            gone = next((r for r in missing if r in fate_by_rank), None)
            if gone is not None:
                who, fate = self._who(gone), fate_by_rank[gone]
                raise self.give_up(
                    PeerLost(f"rank {self.rank} was in {activity} of group {self.name!r} when {who} {fate}.")
                )
            if deadline.expired:
                raise self.give_up(
                    CollectiveTimeout(
                        f"rank {self.rank} waited {self._timeout_s:g} s in {activity} of group {self.name!r} for "
                        f"{', '.join(map(self._who, missing))}, which did not arrive."
                    )
                )

    def _departures(self) -> dict[int, str]:
        """What became of the ranks that are not with us any more.

        Flags first, processes second: a rank that gave up because of a death has seen it, so we see it too and name it.
        """
        why = [kernels.departure(self._base, r) for r in range(self.world_size)]
        for r in range(self.world_size):
            pid = int(self._control[r, layout.PID // 8])
            if r != self.rank and pid:
                self._peers.watch(r, pid)
        words = {layout.CLOSED: "left the group"}
        fates = {r: words.get(w, "gave up on the group after an error") for r, w in enumerate(why) if w}
        return fates | dict.fromkeys(self._peers.lost(), "exited")

    def _who(self, rank: int) -> str:
        pid = int(self._control[rank, layout.PID // 8])
        return f"rank {rank} (pid {pid})" if pid else f"rank {rank} (not seen yet)"

    def _mismatch(self) -> CollectiveMismatch:
        at = layout.FINGERPRINT // 8 + (self._number & 1) * 8
        sides = fingerprint.disagreement(self._control[:, at : at + layout.FINGERPRINT_FIELDS].tolist())
        return CollectiveMismatch(
            f"{self.activity} on group {self.name!r}: ranks called different collectives.\n  {sides}"
        )

    def _deadlock(self, wait: Wait, opposite: int, activity: str) -> CollectiveMismatch:
        return CollectiveMismatch(
            f"rank {self.rank} is in {activity} of group {self.name!r} and waits for {self._who(opposite)}, which waits for rank "
            f"{self.rank} in {wait.place_of(opposite)}.\n  All ranks must call the same collectives and backwards in the same order."
        )

    def give_up(self, error: CommError, why: int = layout.GAVE_UP) -> CommError:
        """Take no further part because of ``error``, and let the others know; returns it, to be raised."""
        if self.error is None:
            self.error = error
            self._depart(why)
        return error

    def _depart(self, why: int) -> None:
        if self.num_done or self._number:
            kernels.depart(self._base, self.rank, why)
        else:  # nothing was communicated, so there are no writes that this one must follow
            self._control[self.rank, layout.DEPARTED // 8] = why

    def close(self) -> bool:
        """Leave; wait for the calls under way. False if one does not end, and the segment must stay mapped."""
        if self.error is None:
            self._depart(layout.CLOSED)
            self.error = CommError("it was closed")
        until = Deadline.after(_CLOSE_S)
        while self.inside and not until.expired:
            time.sleep(0.001)
        if self.inside:
            return False
        self._peers.close()
        self._blocks.close()
        return True
