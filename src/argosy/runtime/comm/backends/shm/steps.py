"""The steps of a group's collectives: publishing, waiting with care for late and dead peers, giving
up, leaving.

While it waits, a rank looks every 50 ms whether a peer has exited or left, whether the ranks wait
for each other, and whether the deadline has passed.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from argosy.foundation.account import account
from argosy.foundation.deadline import Deadline
from argosy.foundation.errors import ArgosyError, CollectiveMismatch, CommError
from argosy.foundation.trace import trace
from argosy.runtime.comm import fingerprint, forks
from argosy.runtime.comm.backends.shm import layout
from argosy.runtime.comm.backends.shm.board import LOOK_S, Board
from argosy.runtime.comm.backends.shm.care import WARN_S, poll, wait_with_care
from argosy.runtime.comm.backends.shm.compiled import kernels
from argosy.runtime.comm.backends.shm.reduction import Rows
from argosy.runtime.comm.backends.shm.segment import Segment

_ALL_REDUCE = fingerprint.CODE_BY_KIND["all_reduce"]
_CLOSE_S = 5.0
_WORTH_BLAME_NS = 50_000  # shorter waits are part of the exchange


class Steps:
    """One rank's part in the steps of its group; ``error`` is what ended it, None while it works.

    ``ranks`` are the rows of the group's ranks on ``board``, which is the job's or the group's own.
    Messages name these.
    """

    def __init__(
        self,
        name: str,
        rank: int,
        segment: Segment,
        timeout_s: float,
        board: Board,
        ranks: Sequence[int],
    ) -> None:
        self.name = name
        self.rank = rank
        self.world_size = len(ranks)
        self._kind = "joining"
        self.error: ArgosyError | None = None  # set once; whoever waits looks at it
        self.inside: list[None] = []  # one entry per call under way; append and pop are atomic
        self.num_done = 0
        self.timeout_s = timeout_s
        self._number = 0
        self._base = segment.address
        self._timespec = np.array([0, int(LOOK_S * 1e9)], np.int64)
        self.timespec_address = int(self._timespec.ctypes.data)
        self._patience = np.array([0, 0], np.int64)
        # this rank if it may leave a core to another rank: if there is one for each; else negative
        self.mover = -1
        self._control: npt.NDArray[Any] = segment.array(
            0, (self.world_size, layout.CONTROL_BYTES // 8), np.int64
        )
        self._board = board
        self._ranks = list(ranks)
        self._control[rank, layout.PID // 8] = os.getpid()
        self.is_forked = False
        forks.register(self)

    def join(self) -> None:
        """Wait until every rank has mapped the segment. The loops are not needed for it, so they
        are not loaded yet.
        """
        pids = self._control[:, layout.PID // 8]

        def look() -> list[int]:
            return (
                []
                if poll(lambda: bool(pids.all()))
                else [int(r) for r in np.flatnonzero(pids == 0)]
            )

        if not pids.all():
            self.wait_with_care(look, "joining", WARN_S)
        num_ranks = max(self.world_size, self._board.num_here())
        if num_ranks <= len(os.sched_getaffinity(0)):
            self.mover = self.rank

    @property
    def activity(self) -> str:
        """The collective under way: ``all_reduce #41``."""
        return f"{self._kind} #{self._number}" if self._number else self._kind

    def begin(
        self,
        kind: str,
        dtype: torch.dtype | None = None,
        count: int = 0,
        detail: int = 0,
        shared: int = 0,
    ) -> None:
        """Start a collective: its fingerprint becomes visible with the next step, and ``shared``,
        the number of the shared tensor that it is about.
        """
        self._number += 1
        self._kind = kind
        code = fingerprint.CODE_BY_KIND[kind]
        dtype_code = fingerprint.CODE_BY_DTYPE[dtype]
        kernels.write_fingerprint(
            self._base, self.rank, self._number, code, dtype_code, count, detail, shared
        )

    def run(self, check: bool = False) -> None:
        """Publish this rank's step and wait for the others'; with ``check``, compare
        fingerprints.
        """
        self.num_done += 1
        base, step = self._base, self.num_done
        kernels.arrive(base, self.rank, step)
        self.wait_at(base, step)
        if check:
            self._compare()

    def begin_sum(
        self,
        dtype: torch.dtype,
        count: int,
        detail: int,
        rows: Rows,
        address: int,
        piece: int,
        divisor: int,
        patience_s: float | None = None,
        shared: int = 0,
        sum_in_place: Callable[[], None] | None = None,
        streams: bool = False,
    ) -> Callable[[], None] | None:
        """Sum the ``count`` elements at ``address`` over all ranks in place and divide them by
        ``divisor``, a step per ``piece`` elements through ``rows``, while no rank is late by more
        than ``patience_s``. Returns what is left to do, None if it is done.

        The fingerprint of the collective is ``dtype``, ``count`` and ``detail``. If all ranks come
        with shared tensors, ``shared`` being the number of this one, ``sum_in_place`` does it. With
        ``streams`` rows are written past the cache.
        """
        self._number += 1
        self._kind = "all_reduce"
        base, rank, n = self._base, self.rank, self.world_size
        memory, stride, parity_offset = rows.memory, rows.stride, rows.stride // 2
        before, total = self.num_done, -(-count // piece) or 1

        data = (self.mover, memory, parity_offset, stride, address, count, piece, streams)
        kind, code = _ALL_REDUCE, fingerprint.CODE_BY_DTYPE[dtype]

        def finish(done: int, number: int) -> None:
            """Go on where the next piece is published, but a rank was late or disagrees."""
            while done < total:
                self.num_done = before + done + 1
                self.wait_at(base, self.num_done, since_ns=began_ns if number else None)
                if number:
                    self._compare()
                    if sum_in_place is not None and self.all_shared():
                        sum_in_place()
                        return
                low = (total - 1 - done) * piece
                kernels.sum_late_piece(
                    memory, (self.num_done & 1) * parity_offset, stride, n, rank,
                    address + low * memory.itemsize, min(piece, count - low), divisor,
                )  # fmt: skip
                done, number = done + 1, 0
                if done < total:
                    step, timespec = before + done + 1, self.timespec_address
                    done = kernels.sum_pieces(
                        base, rank, n, step, 0, kind, code, detail, timespec, *data, done, divisor,
                        0,
                    )  # fmt: skip
            self.num_done = before + total

        timespec = self.timespec_address
        if patience_s is not None:
            self._patience[1] = int(patience_s * 1e9)
            timespec = int(self._patience.ctypes.data)
        began_ns = time.perf_counter_ns()
        number = self._number
        done = kernels.sum_pieces(
            base, rank, n, before + 1, number, kind, code, detail, timespec, *data, 0, divisor,
            shared,
        )  # fmt: skip
        if done < 0 and sum_in_place is not None:
            self.num_done = before + 1
            sum_in_place()
            return None
        if done < total:
            return functools.partial(finish, done, number if done == 0 else 0)
        self.num_done = before + total
        if time.perf_counter_ns() - began_ns > _WORTH_BLAME_NS:
            self._blame(began_ns, base)
        return None

    def are_apart(self) -> bool:
        """Whether the ranks were on different cores when they published their last step; True also
        where there are not enough cores for that.
        """
        cores = self._control[:, layout.FLAG_CPU // 8].tolist()
        return self.mover < 0 or len(set(cores)) == len(cores)

    def _compare(self) -> None:
        if kernels.first_disagreement(self._base, self.world_size, self.rank, self._number) >= 0:
            raise self.give_up(self._mismatch())

    def all_shared(self) -> bool:
        """Whether every rank has come to this collective with a shared tensor; asked after its
        first step.
        """
        return bool(kernels.all_shared(self._base, self.world_size, self._number))

    def shared_numbers(self) -> tuple[int, ...]:
        """The number of each rank's shared tensor."""
        at = (layout.FINGERPRINT + (self._number & 1) * 64 + layout.FINGERPRINT_SHARED) // 8
        return tuple(self._control[:, at].tolist())

    def differing(self) -> list[list[int]] | None:
        """The fingerprints of all ranks, None if they are equal."""
        if kernels.first_disagreement(self._base, self.world_size, self.rank, self._number) < 0:
            return None
        return self._fingerprints()

    def _fingerprints(self) -> list[list[int]]:
        at = layout.FINGERPRINT // 8 + (self._number & 1) * 8
        rows: list[list[int]] = self._control[:, at : at + layout.FINGERPRINT_FIELDS].tolist()
        return rows

    def wait_at(
        self, base: int, step: int, activity: str | None = None, since_ns: int | None = None
    ) -> None:
        """Wait until all ranks have published ``step`` in the control blocks at ``base``, by
        default for the collective under way. ``since_ns`` is when the wait began, if before now.
        """
        n, timespec = self.world_size, self.timespec_address
        began_ns = time.perf_counter_ns() if since_ns is None else since_ns
        late = kernels.wait_step(base, n, 0, step, timespec, self.mover)
        if late == n:
            if time.perf_counter_ns() - began_ns > _WORTH_BLAME_NS:
                self._blame(began_ns, base)
            return

        def look() -> list[int]:
            first = kernels.wait_step(base, n, late, step, timespec, self.mover)
            return [r for r in range(first, n) if not kernels.has_arrived(base, r, step)]

        self.wait_with_care(look, activity or self.activity)
        self._blame(began_ns, base)

    def _blame(self, since_ns: int, base: int) -> None:
        """Have the account know who was waited for: the last that came, until it came."""
        # of a bucket what counts is when it was published, of a collective when it was called
        noted_at = layout.FLAG_TIME
        if base == self._base:
            noted_at = layout.FINGERPRINT + (self._number & 1) * 64 + layout.FINGERPRINT_TIME
        now_ns = time.perf_counter_ns()
        rank, came_ns = kernels.latest(base, self.world_size, noted_at)
        waited_ns = min(came_ns, now_ns) - since_ns
        if rank != self.rank and waited_ns > 0:
            account.blame(self._ranks[rank], waited_ns)
            if trace.recordings:
                name, ended_ns = f"wait for rank {self._ranks[rank]}", since_ns + waited_ns
                trace.add(name, "wait", since_ns, {"rank": self._ranks[rank]}, ended_ns=ended_ns)

    def wait_with_care(
        self, look: Callable[[], list[int]], activity: str, warn_s: float | None = None
    ) -> None:
        """Repeat ``look``, which sleeps a moment and returns the ranks of the group still awaited,
        until there are none.
        """
        place = f"{activity} of group {self.name!r}"

        def missing() -> list[int]:
            found = look()
            if found and self.error is not None:
                raise CommError(f"{place}: the group was closed meanwhile")
            return [self._ranks[r] for r in found]

        try:
            wait_with_care(self._board, place, self.timeout_s, missing, self._fates, warn_s)
        except CommError as error:
            raise self.give_up(error) from None

    def fates_here(self) -> dict[int, str]:
        """``_fates`` by the rank inside the group."""
        fates = self._fates()
        return {r: fates[row] for r, row in enumerate(self._ranks) if row in fates}

    def _fates(self) -> dict[int, str]:
        """What became of the ranks that are not with us any more.

        Flags first, processes second: a rank that gave up because of a death has seen it, so we see
        it too and name it.
        """
        words = {
            layout.CLOSED: "left the group",
            layout.GAVE_UP: "gave up on the group after an error",
        }
        why = self._control[:, layout.DEPARTED // 8].tolist()
        departed = {self._ranks[r]: words[w] for r, w in enumerate(why) if w}
        return self._board.leavers() | departed | self._board.exits()

    def _mismatch(self) -> CollectiveMismatch:
        sides = fingerprint.disagreement(self._fingerprints())
        return CollectiveMismatch(
            f"{self.activity} on group {self.name!r}: ranks called different collectives.\n  "
            f"{sides}"
        )

    def give_up(self, error: CommError) -> CommError:
        """Take no further part because of ``error``, and let the others know; returns it, to be
        raised.
        """
        if self.error is None:
            self.error = error
            self._depart(layout.GAVE_UP)
        return error

    def refusal(self, call: str) -> ArgosyError:
        """What ``call`` is told after the end."""
        if self.is_forked:
            return forks.refusal(call, self._ranks[self.rank], self.name)
        text = f"group {self.name!r} cannot be used any more: {self.error}"
        return type(self.error)(text)  # type: ignore[misc]

    def on_forked(self) -> None:
        self.is_forked = True
        self.error = forks.refusal("the group", self._ranks[self.rank], self.name)

    def _depart(self, why: int) -> None:
        if self.num_done or self._number:
            kernels.depart(self._base, self.rank, why)
        else:  # nothing was communicated, so there are no writes that this one must follow
            self._control[self.rank, layout.DEPARTED // 8] = why

    def close(self) -> bool:
        """Leave; wait for the calls under way. False if one does not end, and the segment must stay
        mapped.
        """
        if self.error is None:
            self._depart(layout.CLOSED)
            self.error = CommError("it was closed")
        if self.is_forked:
            return not self.inside  # those of other threads will not end: there are none here
        until = Deadline.after(_CLOSE_S)
        while self.inside and not until.expired:
            time.sleep(0.001)
        if self.inside:
            return False
        self._control = self._control[:0].copy()  # a traceback may outlive the memory
        return True
