"""Collectives of the ranks of one host, through a shared segment.

Each collective is one or more *steps* (see ``layout.py``): write the own buffer, publish, wait for
all, read the others'. Tensors larger than a buffer go through in pieces, which also keeps them in
the cache. Small groups combine directly into the caller's tensor; from four ranks on each rank
combines its own share and the shares are collected in a second step.

The first step of a collective carries its fingerprint. While it waits, a rank looks every 50 ms
whether a peer has exited and whether the deadline has passed, and raises PeerLost or
CollectiveTimeout. After an error the group stays broken.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

import numpy as np
import torch

from argosy.foundation.errors import (
    ArgosyError,
    CollectiveMismatch,
    CollectiveTimeout,
    CommError,
    UsageError,
)
from argosy.runtime.comm import arguments, fingerprint
from argosy.runtime.comm.backend import Backend, ReduceOp, flattened
from argosy.runtime.comm.backends.shm import layout
from argosy.runtime.comm.backends.shm.board import Board, Seat, board_bytes
from argosy.runtime.comm.backends.shm.bucket import ShmBucket, bucket_offset, row_bytes
from argosy.runtime.comm.backends.shm.care import await_keys, poll
from argosy.runtime.comm.backends.shm.compiled import kernels
from argosy.runtime.comm.backends.shm.factored import ShmFactoredBucket, factors_bytes
from argosy.runtime.comm.backends.shm.mail import Letter, Mail
from argosy.runtime.comm.backends.shm.patience import patience_s
from argosy.runtime.comm.backends.shm.reduction import HAS_KERNEL, Rows, combine, operation_for
from argosy.runtime.comm.backends.shm.segment import Segment, handle_of_tensor, handle_tensor
from argosy.runtime.comm.backends.shm.shared import LEAST_BYTES, SharedTensors
from argosy.runtime.comm.backends.shm.steps import Steps
from argosy.runtime.comm.backends.shm.trial import Trial
from argosy.runtime.comm.bucket import Bucket, FactoredBucket
from argosy.runtime.comm.factors import is_gain

_P = ParamSpec("_P")
_R = TypeVar("_R")
_Method: TypeAlias = "Callable[Concatenate[ShmBackend, _P], _R]"

# Reading every buffer on every rank costs more than a second step beyond so many ranks, unless
# there is little to read.
_DIRECT_UP_TO = 3
_DIRECT_BYTES = 1 << 14
# of a sum: both ranks' fit into a second-level cache, and a step takes a microsecond
_PIECE_BYTES = 1 << 18
_LEAST_STREAMED = 1 << 14  # bytes; below it, writing past the cache costs more than it saves
# Bytes of a piece with which that is tried, and of the collectives that it follows: several, since
# ranks may share a core at first.
_TRIAL_BYTES = 1 << 18
_NUM_TURNS, _TURNS_AT_ONCE = 48, 16
_SUMS = frozenset((op, dtype) for op in (ReduceOp.SUM, ReduceOp.AVG) for dtype in HAS_KERNEL)


def _call(method: _Method[_P, _R]) -> _Method[_P, _R]:
    """Make ``method`` refuse to start on a broken group, and ``close`` wait for it once it has
    started.
    """

    name = method.__name__.lstrip("_")  # what messages call it

    @functools.wraps(method)
    def call(self: ShmBackend, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        # announced before the check: close() sets the error first and then looks who is inside
        self._steps.inside.append(None)
        try:
            if self._steps.error is not None:
                raise self._steps.refusal(name)
            return method(self, *args, **kwargs)
        except ArgosyError:
            raise
        except BaseException as caught:
            # cut off somewhere between two steps: what the next one would find in the buffers is
            # anybody's guess
            self._steps.give_up(CommError(f"{self._steps.activity} was interrupted by {caught!r}"))
            raise
        finally:
            self._steps.inside.pop()

    call.__name__ = name
    return call  # type: ignore[return-value]  # functools.wraps names the first argument


class ShmBackend(Backend):
    """One rank's end of a shared-memory group.

    ``store`` is a torch store that the ranks share; it is used once, to hand out the segment.
    ``seat`` says who the ranks are in their job. Collectives are called by one thread at a time;
    ``send`` and ``recv`` by one per peer and direction; ``close`` by any, it ends calls that wait.
    """

    kind = "shm"

    def __init__(
        self,
        name: str,
        rank: int,
        world_size: int,
        store: Any,
        timeout_s: float = 1800.0,
        slot_bytes: int = 1 << 20,
        seat: Seat | None = None,
    ) -> None:
        self.name = name
        self.rank = rank
        self.world_size = world_size
        self.timeout_s = timeout_s
        self._layout = layout.Layout(
            world_size=world_size,
            slot_bytes=slot_bytes,
            board_bytes=0 if seat else board_bytes(world_size),
        )
        self._segment = self._join(store, timeout_s, seat)
        self._own_board: Board | None = None
        if seat is None:
            self._own_board = Board(self._segment, self._layout.board_offset, rank, world_size)
            self._own_board.enter()
            seat = Seat(self._own_board, range(world_size))
        self._steps = Steps(name, rank, self._segment, timeout_s, seat.board, seat.ranks)
        self._streams = False
        self._trial = Trial(_NUM_TURNS if world_size > 1 else 0, min)  # of streaming
        self._mail = Mail(self._segment, self._layout, rank, self._steps)
        slots = self._segment.array(self._layout.data_offset, (world_size, 2, slot_bytes), np.uint8)
        self._rows = _RowsByDtype(torch.from_numpy(slots))
        # above this size each rank combines a share, which takes a second step
        self._direct_bytes = sys.maxsize if world_size <= _DIRECT_UP_TO else _DIRECT_BYTES
        self._most_sum_bytes = self._direct_bytes if world_size > 1 else -1  # by one kernel call
        self._num_buckets = 0
        self._shared = SharedTensors(name, rank)
        self._num_cores = len(os.sched_getaffinity(0))
        try:
            self._steps.join()
        except BaseException:
            self.close()
            raise

    def _join(self, store: Any, timeout_s: float, seat: Seat | None) -> Segment:
        key = f"argosy/shm/{self.name}"
        if self.rank == 0:
            segment = Segment.create(self.name, self._layout.total_bytes)
            store.set(key, segment.handle)
            return segment
        place = f"joining of group {self.name!r}"
        if seat is not None:
            await_keys(store, {seat.ranks[0]: key}, seat.board, place, timeout_s)
        elif not poll(lambda: store.check([key]), limit_s=timeout_s):
            raise CollectiveTimeout(
                f"rank {self.rank} waited {timeout_s:g} s in {place} for rank 0, which did not "
                "arrive."
            )
        segment = Segment.attach(store.get(key).decode())
        if segment.num_bytes != self._layout.total_bytes:
            raise CollectiveMismatch(
                f"{place}: rank 0 made it for another number of ranks than {self.world_size}, or "
                "with other sizes"
            )
        return segment

    def set_timeout(self, timeout_s: float) -> None:
        self.timeout_s = self._steps.timeout_s = timeout_s

    # -- steps
    # ----------------------------------------------------------------------------------------------

    @_call
    def wait_at(self, base: int, step: int, activity: str | None = None) -> None:
        """Wait until all ranks have published ``step`` in the control blocks at ``base``; dead and
        late peers are errors.
        """
        self._steps.wait_at(base, step, activity)

    def check_member(self, call: str) -> None:
        """UsageError in a process that was forked from this rank."""
        if self._steps.is_forked:
            raise self._steps.refusal(call)

    def _buffer(self, dtype: torch.dtype) -> Rows:
        """Buffers of the step to come."""
        return self._rows[dtype][(self._steps.num_done + 1) & 1]

    def _put(self, slots: Rows, start: int, source: torch.Tensor) -> None:
        """Write ``source``, which is flat, into the own buffer from element ``start`` on."""
        target = slots.tensor[self.rank, start : start + source.numel()]
        if self._streams and source.nbytes >= _LEAST_STREAMED:
            kernels.stream_copy(target.data_ptr(), source.data_ptr(), source.nbytes)
        else:
            target.copy_(source)

    @property
    def streams(self) -> bool:
        return self._streams

    def _try_streaming(self, num_bytes: int) -> None:
        """After a collective that moved ``num_bytes``, the same on all ranks: see which way to
        write is faster, if that is not known.

        The shortest times are compared, because that of a rank that was held up says nothing about
        memory. Since each waits for all others, what one of them loses all see.
        """
        if self._trial.is_over or num_bytes < _TRIAL_BYTES:
            return
        part = torch.zeros(min(_TRIAL_BYTES, self._layout.slot_bytes) // 4)
        for _ in range(_TURNS_AT_ONCE):
            self._streams, began_ns = self._trial.way, perf_counter_ns()
            rows = self._buffer(part.dtype)
            self._put(rows, 0, part)
            self._steps.run()
            n, into = self.world_size, part.numpy()
            kernels.add_others(rows.memory, rows.first, rows.stride, n, self.rank, into)
            # on one core no line has to be taken from another
            self._trial.note(perf_counter_ns() - began_ns, self._steps.are_apart())
        self._streams = self._trial.faster()

    def _pieces(self, count: int, dtype: torch.dtype, parts: int = 1) -> list[tuple[int, int]]:
        """Ranges of at most a buffer's share each; one empty range for nothing, so that every call
        has a step.
        """
        size = self._layout.slot_bytes // dtype.itemsize // parts
        return [(low, min(low + size, count)) for low in range(0, count, size)] or [(0, 0)]

    # -- collectives
    # --------------------------------------------------------------------------------------------

    @_call
    def barrier(self) -> None:
        self._steps.begin("barrier")
        self._steps.run(check=True)

    def _all_reduce(
        self, tensor: torch.Tensor, op: ReduceOp, limit_s: float | None = None
    ) -> Callable[[], None] | None:
        """The common case has little Python around the kernel, and no other frame: a small sum
        takes a few microseconds. With ``limit_s`` what a late rank leaves to do is returned.
        """
        if (op, tensor.dtype) not in _SUMS or tensor.nbytes > self._most_sum_bytes:
            self._all_reduce_generally(tensor, op)
            return None
        if not tensor.is_cpu:
            raise _not_cpu(tensor)
        is_plain = tensor.is_contiguous() and not tensor.is_neg()
        whole = tensor if is_plain else tensor.detach().resolve_neg().contiguous()
        dtype = whole.dtype
        rows = self._rows[dtype][(self._steps.num_done + 1) & 1]
        piece = min(_PIECE_BYTES, self._layout.slot_bytes) // dtype.itemsize
        divisor = self.world_size if op is ReduceOp.AVG else 1
        shared, sum_in_place = 0, None
        if tensor.nbytes >= LEAST_BYTES and (shared := self._shared.number_of(whole)):
            sum_in_place = functools.partial(self._sum_in_place, whole, divisor)
        left = self._steps.begin_sum(
            dtype, whole.numel(), int(op), rows, whole.data_ptr(), piece, divisor, limit_s,
            shared, sum_in_place, self._streams and whole.nbytes >= _LEAST_STREAMED,
        )  # fmt: skip
        if left is not None:
            if limit_s is not None and whole is tensor:
                return left
            left()
        if whole is not tensor:
            tensor.detach().copy_(whole)
        if whole.nbytes >= _TRIAL_BYTES:  # here too: a small sum has no frame to spare
            self._try_streaming(whole.nbytes)
        return None

    # without a limit it returns None
    all_reduce = _call(_all_reduce)  # type: ignore[arg-type]

    @_call
    def begin_all_reduce(self, tensor: torch.Tensor, op: ReduceOp) -> Callable[[], None] | None:
        threads = torch.get_num_threads()
        limit_s = patience_s(tensor.nbytes, self.world_size, threads, self._num_cores)
        has_kernel = (op, tensor.dtype) in _SUMS and tensor.nbytes <= self._most_sum_bytes
        is_plain = tensor.is_contiguous() and not tensor.is_neg()
        if limit_s == 0 or not (has_kernel and is_plain):
            return super().begin_all_reduce(tensor, op)
        left = self._all_reduce(tensor, op, limit_s)
        return None if left is None else functools.partial(self._finish, left, tensor)

    @_call
    def _finish(self, left: Callable[[], None], tensor: torch.Tensor) -> None:
        """Do what is left of a sum in ``tensor``, which lives until then."""
        left()
        self._try_streaming(tensor.nbytes)

    def _all_reduce_generally(self, tensor: torch.Tensor, op: ReduceOp) -> None:
        arguments.check_reducible("all_reduce", op, tensor.dtype)
        flat, finish = _flat(tensor)
        can_share = (op, tensor.dtype) in _SUMS and tensor.nbytes >= LEAST_BYTES
        shared = self._shared.number_of(flat) if can_share else 0
        self._steps.begin("all_reduce", tensor.dtype, flat.numel(), int(op), shared)
        divisor = self.world_size if op is ReduceOp.AVG else 1
        op = operation_for(op, tensor.dtype)
        for low, high in self._pieces(flat.numel(), flat.dtype):
            piece = flat[low:high]
            slots = self._buffer(flat.dtype)
            self._put(slots, 0, piece)
            self._steps.run(check=low == 0)
            if shared and low == 0 and self._steps.all_shared():
                self._sum_in_place(flat, divisor)
                return
            if flat.nbytes <= self._direct_bytes:
                combine(slots, 0, piece, op)
            else:
                self._combine_by_shares(slots, piece, op)
        finish()
        self._try_streaming(flat.nbytes)

    def _sum_in_place(self, tensor: torch.Tensor, divisor: int) -> None:
        """Sum the shared tensors with which all ranks have come to this collective."""

        def exchange(handle: torch.Tensor) -> list[torch.Tensor]:
            handles = [torch.empty_like(handle) for _ in range(self.world_size)]
            self._gather("all_gather", handles, handle, 0)
            return handles

        numbers = self._steps.shared_numbers()
        try:
            share = self._shared.share(numbers, tensor.dtype, exchange)
        except CommError as error:
            raise self._steps.give_up(error) from None
        is_power = divisor & (divisor - 1) == 0  # then its inverse is exact, and faster
        scale, by = (1 / divisor, 1) if is_power else (1.0, divisor)
        share.sum(tensor.numel(), scale, by)
        self._steps.run()

    def _combine_by_shares(self, slots: Rows, piece: torch.Tensor, op: ReduceOp) -> None:
        count, n = piece.numel(), self.world_size
        bounds = [count * r // n for r in range(n + 1)]
        results = self._buffer(piece.dtype)
        mine = slice(bounds[self.rank], bounds[self.rank + 1])
        combine(slots, mine.start, results.tensor[self.rank, mine], op)
        self._steps.run()
        for r in range(n):
            share = slice(bounds[r], bounds[r + 1])
            piece[share].copy_(results.tensor[r, share])

    @_call
    def reduce(self, tensor: torch.Tensor, dst: int, op: ReduceOp) -> None:
        arguments.check_root("reduce", "dst", dst, self.world_size)
        arguments.check_reducible("reduce", op, tensor.dtype)
        flat, finish = _flat(tensor)
        self._steps.begin("reduce", tensor.dtype, flat.numel(), fingerprint.reduction_to(op, dst))
        op = operation_for(op, tensor.dtype)
        for low, high in self._pieces(flat.numel(), flat.dtype):
            slots = self._buffer(flat.dtype)
            self._put(slots, 0, flat[low:high])
            self._steps.run(check=low == 0)
            if self.rank == dst:
                combine(slots, 0, flat[low:high], op)
        if self.rank == dst:
            finish()
        self._try_streaming(flat.nbytes)

    @_call
    def broadcast(self, tensor: torch.Tensor, src: int) -> None:
        arguments.check_root("broadcast", "src", src, self.world_size)
        flat, finish = _flat(tensor)
        self._steps.begin("broadcast", tensor.dtype, flat.numel(), src)
        for low, high in self._pieces(flat.numel(), flat.dtype):
            slots = self._buffer(flat.dtype)
            if self.rank == src:
                self._put(slots, 0, flat[low:high])
            self._steps.run(check=low == 0)
            if self.rank != src:
                flat[low:high].copy_(slots.tensor[src, : high - low])
        if self.rank != src:
            finish()
        self._try_streaming(flat.nbytes)

    @_call
    def all_gather(self, outputs: Sequence[torch.Tensor], tensor: torch.Tensor) -> None:
        self._gather("all_gather", outputs, tensor, 0)

    @_call
    def gather(
        self, outputs: Sequence[torch.Tensor] | None, tensor: torch.Tensor, dst: int
    ) -> None:
        arguments.check_root("gather", "dst", dst, self.world_size)
        if self.rank == dst and outputs is None:
            raise UsageError(
                f"gather: rank {dst} receives and must pass the list of {self.world_size} "
                "tensors to fill"
            )
        self._gather("gather", outputs if self.rank == dst else None, tensor, dst)

    def _gather(
        self, kind: str, outputs: Sequence[torch.Tensor] | None, tensor: torch.Tensor, detail: int
    ) -> None:
        if outputs is not None:
            arguments.check_parts(kind, outputs, tensor, self.world_size)
        flat, _ = _flat(tensor)
        targets = [_flat(output) for output in outputs or ()]
        self._steps.begin(kind, tensor.dtype, flat.numel(), detail)
        for low, high in self._pieces(flat.numel(), flat.dtype):
            slots = self._buffer(flat.dtype)
            self._put(slots, 0, flat[low:high])
            self._steps.run(check=low == 0)
            for r, (target, _) in enumerate(targets):
                target[low:high].copy_(slots.tensor[r, : high - low])
        for _, finish in targets:
            finish()
        self._try_streaming(flat.nbytes)

    @_call
    def scatter(
        self, tensor: torch.Tensor, inputs: Sequence[torch.Tensor] | None, src: int
    ) -> None:
        arguments.check_root("scatter", "src", src, self.world_size)
        sources: Sequence[torch.Tensor] = ()
        if self.rank == src:
            if inputs is None:
                raise UsageError(
                    f"scatter: rank {src} sends and must pass the list of {self.world_size} tensors"
                )
            arguments.check_parts("scatter", inputs, tensor, self.world_size)
            sources = [_flat(source)[0] for source in inputs]
        flat, finish = _flat(tensor)
        self._steps.begin("scatter", tensor.dtype, flat.numel(), src)
        for low, high in self._pieces(flat.numel(), flat.dtype, self.world_size):
            slots = self._buffer(flat.dtype)
            size = slots.tensor.shape[1] // self.world_size
            for r, source in enumerate(sources):
                if r != src:
                    self._put(slots, r * size, source[low:high])
            self._steps.run(check=low == 0)
            if self.rank != src:
                start = self.rank * size
                flat[low:high].copy_(slots.tensor[src, start : start + high - low])
        if self.rank == src:
            flat.copy_(sources[src])
        finish()
        self._try_streaming(flat.nbytes)

    @_call
    def reduce_scatter(
        self, tensor: torch.Tensor, inputs: Sequence[torch.Tensor], op: ReduceOp
    ) -> None:
        arguments.check_parts("reduce_scatter", inputs, tensor, self.world_size)
        arguments.check_reducible("reduce_scatter", op, tensor.dtype)
        flat, finish = _flat(tensor)
        sources = [_flat(source)[0] for source in inputs]
        self._steps.begin("reduce_scatter", tensor.dtype, flat.numel(), int(op))
        op = operation_for(op, tensor.dtype)
        for low, high in self._pieces(flat.numel(), flat.dtype, self.world_size):
            slots = self._buffer(flat.dtype)
            size = slots.tensor.shape[1] // self.world_size
            for r, source in enumerate(sources):
                self._put(slots, r * size, source[low:high])
            self._steps.run(check=low == 0)
            combine(slots, self.rank * size, flat[low:high], op)
        finish()
        self._try_streaming(flat.nbytes)

    @_call
    def all_to_all(self, outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]) -> None:
        n = self.world_size
        arguments.check_exchange(outputs, inputs, n)
        targets, sources = [_flat(t) for t in outputs], [_flat(t) for t in inputs]
        dtype = sources[0][0].dtype
        self._steps.begin("all_to_all", inputs[0].dtype)
        largest = self._compare_sizes(
            [s.numel() for s, _ in sources], [t.numel() for t, _ in targets]
        )
        others = [r for r in range(n) if r != self.rank]
        for low, high in self._pieces(largest, dtype, n):
            slots = self._buffer(dtype)
            size = slots.tensor.shape[1] // n
            for r in others:
                part = sources[r][0][low:high]
                self._put(slots, r * size, part)
            self._steps.run()
            for s in others:
                part = targets[s][0][low:high]
                part.copy_(slots.tensor[s, self.rank * size : self.rank * size + part.numel()])
        targets[self.rank][0].copy_(sources[self.rank][0])
        for _, finish in targets:
            finish()
        self._try_streaming(largest * dtype.itemsize)

    def _compare_sizes(self, sent: list[int], expected: list[int]) -> int:
        """Check on every rank that what each sends to each is what that one expects; return the
        largest part.
        """
        n = self.world_size
        slots = self._buffer(torch.int64)
        slots.tensor[self.rank, : 2 * n] = torch.tensor(sent + expected)
        self._steps.run(check=True)
        sizes = slots.tensor[:, : 2 * n].tolist()
        sides = fingerprint.size_disagreement(sizes)
        if sides:
            raise self._steps.give_up(
                CollectiveMismatch(
                    f"{self._steps.activity} on group {self.name!r}: sizes do not fit.\n  {sides}"
                )
            )
        return max(max(row) for row in sizes)

    # -- for those who use it as a part of a larger group
    # ----------------------------------------------------------------------------------------------

    @_call
    def agree(
        self, kind: str, dtype: torch.dtype | None, count: int, detail: int
    ) -> list[list[int]] | None:
        """Wait until every rank has called it. None if all are about to begin the same collective
        of the larger group, else the fingerprint of each.
        """
        self._steps.begin(kind, dtype, count, detail)
        self._steps.run()
        return self._steps.differing()

    # -- memory
    # ----------------------------------------------------------------------------------------------

    def allocate(self, numel: int, dtype: torch.dtype) -> torch.Tensor:
        if self.world_size == 1 or self._steps.error is not None:
            return super().allocate(numel, dtype)
        return self._shared.allocate(numel, dtype)

    def make_bucket(self, numel: int, dtype: torch.dtype) -> Bucket:
        segment = self._bucket_segment(numel, dtype)
        return ShmBucket(self, segment, numel, dtype, self._num_buckets - 1)

    def why_no_factors(self) -> str:
        return "" if self.world_size > 1 else "there is one rank"

    def takes_factors(self, shape: tuple[int, int], dtype: torch.dtype) -> bool:
        return dtype in HAS_KERNEL and is_gain(shape)

    def make_factored_bucket(
        self, numel: int, dtype: torch.dtype, shape: tuple[int, int]
    ) -> FactoredBucket:
        segment = self._bucket_segment(numel, dtype, factors_bytes(self.world_size, dtype, shape))
        return ShmFactoredBucket(self, segment, numel, dtype, shape, self._num_buckets - 1)

    def _bucket_segment(self, numel: int, dtype: torch.dtype, more_bytes: int = 0) -> Segment:
        """Memory that all ranks map for a bucket, and ``more_bytes`` behind it."""
        segment = None
        if self.rank == 0:
            num_bytes = bucket_offset(self.world_size) + self.world_size * row_bytes(numel, dtype)
            segment = Segment.create(f"{self.name}-bucket", num_bytes + more_bytes)
        handle = handle_tensor("" if segment is None else segment.handle)
        self.broadcast(handle, 0)
        if segment is None:
            segment = Segment.attach(handle_of_tensor(handle))
        self.barrier()  # before anybody can close it
        self._num_buckets += 1
        return segment

    # -- point to point
    # -----------------------------------------------------------------------------------------

    @_call
    def send(self, tensor: torch.Tensor, dst: int, tag: int = 0) -> None:
        arguments.check_peer("send", "dst", dst, self.rank, self.world_size)
        flat, _ = _flat(tensor)
        self._mail.send(tensor, flat, dst, tag)

    @_call
    def recv(self, tensor: torch.Tensor, src: int) -> None:
        arguments.check_peer("recv", "src", src, self.rank, self.world_size)
        flat, finish = _flat(tensor)
        try:
            self._mail.recv(tensor, flat, src)
        except CollectiveMismatch as error:
            raise self._steps.give_up(error) from None
        finish()

    @_call
    def has_room(self, num_bytes: int, dst: int) -> bool:
        """Whether a message of that size would be sent without waiting for ``dst``."""
        return self._mail.has_room(num_bytes, dst)

    @_call
    def has_letter(self, src: int) -> bool:
        """Whether a message of ``src`` lies here."""
        return self._mail.has_letter(src)

    @_call
    def letter(self, src: int) -> Letter:
        """What the next message of ``src`` is; waits for it. One thread per ``src`` at a time."""
        return self._mail.letter(src)

    @_call
    def await_any(self, is_there: Callable[[], bool]) -> None:
        """Wait until ``is_there()``, which some message will make true, while any other rank
        lives.
        """
        self._mail.await_any(is_there)

    def close(self) -> None:
        """Leave the group: calls of other threads end with CommError, the other ranks' with
        PeerLost.
        """
        if self._segment.is_closed or not self._steps.close():
            return
        if self._own_board is not None:
            self._own_board.close()
        self._rows = _RowsByDtype(torch.empty(0))
        self._segment.close()


class _RowsByDtype(dict[torch.dtype, tuple[Rows, Rows]]):
    """The buffers of even and of odd steps as rows of a dtype, made at its first use."""

    def __init__(self, slots: torch.Tensor) -> None:
        self._slots = slots

    def __missing__(self, dtype: torch.dtype) -> tuple[Rows, Rows]:
        made = self[dtype] = (Rows.of(self._slots, 0, dtype), Rows.of(self._slots, 1, dtype))
        return made


def _flat(tensor: torch.Tensor) -> tuple[torch.Tensor, Any]:
    """A flat contiguous view or copy of ``tensor``, and a call that writes a copy back."""
    if not tensor.is_cpu:
        raise _not_cpu(tensor)
    raw = tensor.detach()
    if raw.dtype is torch.bool:
        raw = raw.view(torch.uint8)
    flat = flattened(raw)
    if flat.data_ptr() == raw.data_ptr():
        return flat, _nothing
    return flat, lambda: raw.copy_(flat.view(raw.shape))


def _not_cpu(tensor: torch.Tensor) -> UsageError:
    return UsageError(
        f"the shared-memory backend takes CPU tensors, but received one on {tensor.device}"
    )


def _nothing() -> None:
    """The tensor itself was written."""
