"""Collectives of the ranks of one host, through a shared segment.

Each collective is one or more *steps* (see ``layout.py``): write the own buffer, publish, wait for all, read the others'. Tensors
larger than a buffer go through in pieces, which also keeps them in the cache. Small groups combine directly into the caller's tensor;
from four ranks on each rank combines its own share and the shares are collected in a second step.

The first step of a collective carries its fingerprint. While it waits, a rank looks every 50 ms whether a peer has exited and
whether the deadline has passed, and raises PeerLost or CollectiveTimeout. After an error the group stays broken.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec

import numpy as np
import torch

from argosy.foundation.deadline import Deadline
from argosy.foundation.errors import (
    ArgosyError,
    CollectiveMismatch,
    CollectiveTimeout,
    CommError,
    PeerLost,
    UsageError,
)
from argosy.runtime.comm import arguments
from argosy.runtime.comm.backend import Backend, ReduceOp
from argosy.runtime.comm.backends.shm import fingerprint, kernels, layout
from argosy.runtime.comm.backends.shm.bucket import ShmBucket, bucket_offset, row_bytes
from argosy.runtime.comm.backends.shm.mail import Mail
from argosy.runtime.comm.backends.shm.peers import Peers
from argosy.runtime.comm.backends.shm.reduction import combine, operation_for
from argosy.runtime.comm.backends.shm.segment import Segment
from argosy.runtime.comm.bucket import Bucket

_P = ParamSpec("_P")

_DIRECT_UP_TO = 3  # ranks; beyond, reading every buffer on every rank costs more than a second step
_LOOK_S = 0.05
_CLOSE_S = 5.0


def _call(method: Callable[Concatenate[ShmBackend, _P], None]) -> Callable[Concatenate[ShmBackend, _P], None]:
    """Make ``method`` refuse to start on a broken group, and ``close`` wait for it once it has started."""

    @functools.wraps(method)
    def call(self: ShmBackend, *args: _P.args, **kwargs: _P.kwargs) -> None:
        # announced before the check: close() sets the error first and then looks who is inside
        self._inside.append(None)
        try:
            if self._error is not None:
                raise type(self._error)(f"group {self.name!r} cannot be used any more: {self._error}")
            method(self, *args, **kwargs)
        except ArgosyError:
            raise
        except BaseException as error:
            # cut off somewhere between two steps: what the next one would find in the buffers is anybody's guess
            self._break(CommError(f"{self._activity} was interrupted by {error!r}"))
            raise
        finally:
            self._inside.pop()

    return call


class ShmBackend(Backend):
    """One rank's end of a shared-memory group.

    ``store`` is a torch store that the ranks share; it is used once, to hand out the segment. Collectives are called by one thread
    at a time; ``send`` and ``recv`` by one per peer and direction; ``close`` by any, it ends calls that wait.
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
    ) -> None:
        self.name = name
        self.rank = rank
        self.world_size = world_size
        self._timeout_s = timeout_s
        self._layout = layout.Layout(world_size=world_size, slot_bytes=slot_bytes)
        self._number = 0
        self._step = 0
        self._error: CommError | None = None  # set once; whoever waits looks at it
        self._inside: list[None] = []  # one entry per call under way; append and pop are atomic
        self._activity = "joining"
        self._timespec = np.array([0, int(_LOOK_S * 1e9)], np.int64)
        self._timespec_address = int(self._timespec.ctypes.data)
        self._peers = Peers()
        self._segment = self._join(store)
        self._base = self._segment.address
        self._slots = torch.from_numpy(
            self._segment.array(self._layout.data_offset, (world_size, 2, slot_bytes), np.uint8)
        )
        self._typed: dict[tuple[torch.dtype, int], torch.Tensor] = {}
        self._control = self._segment.array(0, (world_size, layout.CONTROL_BYTES // 8), np.int64)
        self._control[rank, layout.PID // 8] = os.getpid()
        self._mail = Mail(self._segment, self._layout, rank, self._timespec_address, self._wait_with_care)
        try:
            self._run_step()
        except BaseException:
            self.close()
            raise
        self._segment.release_name()

    def _join(self, store: Any) -> Segment:
        key = f"argosy/shm/{self.name}"
        if self.rank == 0:
            segment = Segment.create(self.name, self._layout.total_bytes)
            store.set(key, segment.handle)
            return segment
        return Segment.attach(store.get(key).decode())

    # -- steps --------------------------------------------------------------------------------------------------

    def _begin(self, kind: str, dtype: torch.dtype | None = None, count: int = 0, detail: int = 0) -> None:
        self._number += 1
        self._activity = f"{kind} #{self._number}"
        code = fingerprint.CODE_BY_KIND[kind]
        dtype_code = fingerprint.CODE_BY_DTYPE[dtype]
        kernels.write_fingerprint(self._base, self.rank, self._number, code, dtype_code, count, detail)

    def _run_step(self, check: bool = False) -> None:
        """Publish this rank's step and wait for the others'; with ``check``, compare fingerprints."""
        self._step += 1
        base, step = self._base, self._step
        kernels.arrive(base, self.rank, step)
        self.wait_at(base, step)
        if check and kernels.first_disagreement(base, self.world_size, self.rank, self._number) >= 0:
            raise self._break(self._mismatch())

    def wait_at(self, base: int, step: int, activity: str | None = None) -> None:
        """Wait until all ranks have published ``step`` in the control blocks at ``base``; dead and late peers are errors."""
        n, timespec = self.world_size, self._timespec_address
        late = kernels.wait_step(base, n, 0, step, timespec)
        if late == n:
            return

        def look() -> list[int]:
            first = kernels.wait_step(base, n, late, step, timespec)
            return [r for r in range(first, n) if not kernels.has_arrived(base, r, step)]

        self._wait_with_care(look, self._activity if activity is None else activity)

    def _wait_with_care(self, look: Callable[[], list[int]], activity: str) -> None:
        """Repeat ``look``, which sleeps a moment and returns the ranks still awaited, until there are none."""
        deadline = Deadline.after(self._timeout_s)
        while True:
            # before the flags: a rank that arrives and then leaves or exits must not be reported
            fate_by_rank = self._departures()
            missing = look()
            if not missing:
                return
            if self._error is not None:
                raise CommError(f"{activity} of group {self.name!r}: the group was closed meanwhile")
            gone = next((r for r in missing if r in fate_by_rank), None)
            if gone is not None:
                raise self._break(
                    PeerLost(
                        f"rank {self.rank} was in {activity} of group {self.name!r} when {self._who(gone)} {fate_by_rank[gone]}."
                    )
                )
            if deadline.expired:
                raise self._break(
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
        words = {layout.CLOSED: "left the group", layout.GAVE_UP: "gave up on the group after an error"}
        fates = {r: words[w] for r, w in enumerate(why) if w}
        return fates | dict.fromkeys(self._peers.lost(), "exited")

    def _who(self, rank: int) -> str:
        pid = int(self._control[rank, layout.PID // 8])
        return f"rank {rank} (pid {pid})" if pid else f"rank {rank} (not seen yet)"

    def _break(self, error: CommError) -> CommError:
        """Give the group up: this rank's calls fail from now on, and the others are told."""
        if self._error is None:
            self._error = error
            kernels.depart(self._base, self.rank, layout.GAVE_UP)
        return error

    def _mismatch(self) -> CollectiveMismatch:
        at = layout.FINGERPRINT // 8 + (self._number & 1) * 8
        sides = fingerprint.disagreement(self._control[:, at : at + layout.FINGERPRINT_FIELDS].tolist())
        return CollectiveMismatch(
            f"{self._activity} on group {self.name!r}: ranks called different collectives.\n  {sides}"
        )

    def _buffer(self, dtype: torch.dtype) -> torch.Tensor:
        """Buffers of the step to come: [world_size, elements]."""
        parity = (self._step + 1) & 1
        key = (dtype, parity)
        found = self._typed.get(key)
        if found is None:
            found = self._typed[key] = self._slots[:, parity].view(dtype)
        return found

    def _pieces(self, count: int, dtype: torch.dtype, parts: int = 1) -> list[tuple[int, int]]:
        """Ranges of at most a buffer's share each; one empty range for nothing, so that every call has a step."""
        size = self._layout.slot_bytes // dtype.itemsize // parts
        return [(low, min(low + size, count)) for low in range(0, count, size)] or [(0, 0)]

    # -- collectives --------------------------------------------------------------------------------------------

    @_call
    def barrier(self) -> None:
        self._begin("barrier")
        self._run_step(check=True)

    @_call
    def all_reduce(self, tensor: torch.Tensor, op: ReduceOp) -> None:
        arguments.check_reducible("all_reduce", op, tensor.dtype)
        flat, finish = _flat(tensor)
        self._begin("all_reduce", tensor.dtype, flat.numel(), int(op))
        op = operation_for(op, tensor.dtype)
        for low, high in self._pieces(flat.numel(), flat.dtype):
            piece = flat[low:high]
            slots = self._buffer(flat.dtype)
            slots[self.rank, : high - low].copy_(piece)
            self._run_step(check=low == 0)
            if self.world_size <= _DIRECT_UP_TO:
                combine(slots, 0, piece, op)
            else:
                self._combine_by_shares(slots, piece, op)
        finish()

    def _combine_by_shares(self, slots: torch.Tensor, piece: torch.Tensor, op: ReduceOp) -> None:
        count, n = piece.numel(), self.world_size
        bounds = [count * r // n for r in range(n + 1)]
        results = self._buffer(piece.dtype)
        mine = slice(bounds[self.rank], bounds[self.rank + 1])
        combine(slots, mine.start, results[self.rank, mine], op)
        self._run_step()
        for r in range(n):
            share = slice(bounds[r], bounds[r + 1])
            piece[share].copy_(results[r, share])

    @_call
    def reduce(self, tensor: torch.Tensor, dst: int, op: ReduceOp) -> None:
        arguments.check_root("reduce", "dst", dst, self.world_size)
        arguments.check_reducible("reduce", op, tensor.dtype)
        flat, finish = _flat(tensor)
        self._begin("reduce", tensor.dtype, flat.numel(), fingerprint.reduction_to(op, dst))
        op = operation_for(op, tensor.dtype)
        for low, high in self._pieces(flat.numel(), flat.dtype):
            slots = self._buffer(flat.dtype)
            slots[self.rank, : high - low].copy_(flat[low:high])
            self._run_step(check=low == 0)
            if self.rank == dst:
                combine(slots, 0, flat[low:high], op)
        if self.rank == dst:
            finish()

    @_call
    def broadcast(self, tensor: torch.Tensor, src: int) -> None:
        arguments.check_root("broadcast", "src", src, self.world_size)
        flat, finish = _flat(tensor)
        self._begin("broadcast", tensor.dtype, flat.numel(), src)
        for low, high in self._pieces(flat.numel(), flat.dtype):
            slots = self._buffer(flat.dtype)
            if self.rank == src:
                slots[src, : high - low].copy_(flat[low:high])
            self._run_step(check=low == 0)
            if self.rank != src:
                flat[low:high].copy_(slots[src, : high - low])
        if self.rank != src:
            finish()

    @_call
    def all_gather(self, outputs: Sequence[torch.Tensor], tensor: torch.Tensor) -> None:
        self._gather("all_gather", outputs, tensor, 0)

    @_call
    def gather(self, outputs: Sequence[torch.Tensor] | None, tensor: torch.Tensor, dst: int) -> None:
        arguments.check_root("gather", "dst", dst, self.world_size)
        if self.rank == dst and outputs is None:
            raise UsageError(f"gather: rank {dst} receives and must pass the list of {self.world_size} tensors to fill")
        self._gather("gather", outputs if self.rank == dst else None, tensor, dst)

    def _gather(self, kind: str, outputs: Sequence[torch.Tensor] | None, tensor: torch.Tensor, detail: int) -> None:
        if outputs is not None:
            arguments.check_parts(kind, outputs, tensor, self.world_size)
        flat, _ = _flat(tensor)
        targets = [_flat(output) for output in outputs or ()]
        self._begin(kind, tensor.dtype, flat.numel(), detail)
        for low, high in self._pieces(flat.numel(), flat.dtype):
            slots = self._buffer(flat.dtype)
            slots[self.rank, : high - low].copy_(flat[low:high])
            self._run_step(check=low == 0)
            for r, (target, _) in enumerate(targets):
                target[low:high].copy_(slots[r, : high - low])
        for _, finish in targets:
            finish()

    @_call
    def scatter(self, tensor: torch.Tensor, inputs: Sequence[torch.Tensor] | None, src: int) -> None:
        arguments.check_root("scatter", "src", src, self.world_size)
        sources: Sequence[torch.Tensor] = ()
        if self.rank == src:
            if inputs is None:
                raise UsageError(f"scatter: rank {src} sends and must pass the list of {self.world_size} tensors")
            arguments.check_parts("scatter", inputs, tensor, self.world_size)
            sources = [_flat(source)[0] for source in inputs]
        flat, finish = _flat(tensor)
        self._begin("scatter", tensor.dtype, flat.numel(), src)
        for low, high in self._pieces(flat.numel(), flat.dtype, self.world_size):
            slots = self._buffer(flat.dtype)
            size = slots.shape[1] // self.world_size
            for r, source in enumerate(sources):
                slots[src, r * size : r * size + high - low].copy_(source[low:high])
            self._run_step(check=low == 0)
            flat[low:high].copy_(slots[src, self.rank * size : self.rank * size + high - low])
        finish()

    @_call
    def reduce_scatter(self, tensor: torch.Tensor, inputs: Sequence[torch.Tensor], op: ReduceOp) -> None:
        arguments.check_parts("reduce_scatter", inputs, tensor, self.world_size)
        arguments.check_reducible("reduce_scatter", op, tensor.dtype)
        flat, finish = _flat(tensor)
        sources = [_flat(source)[0] for source in inputs]
        self._begin("reduce_scatter", tensor.dtype, flat.numel(), int(op))
        op = operation_for(op, tensor.dtype)
        for low, high in self._pieces(flat.numel(), flat.dtype, self.world_size):
            slots = self._buffer(flat.dtype)
            size = slots.shape[1] // self.world_size
            for r, source in enumerate(sources):
                slots[self.rank, r * size : r * size + high - low].copy_(source[low:high])
            self._run_step(check=low == 0)
            combine(slots, self.rank * size, flat[low:high], op)
        finish()

    @_call
    def all_to_all(self, outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]) -> None:
        n = self.world_size
        arguments.check_exchange(outputs, inputs, n)
        targets, sources = [_flat(t) for t in outputs], [_flat(t) for t in inputs]
        dtype = sources[0][0].dtype
        self._begin("all_to_all", inputs[0].dtype)
        largest = self._compare_sizes([s.numel() for s, _ in sources], [t.numel() for t, _ in targets])
        for low, high in self._pieces(largest, dtype, n):
            slots = self._buffer(dtype)
            size = slots.shape[1] // n
            for r, (source, _) in enumerate(sources):
                part = source[low:high]
                slots[self.rank, r * size : r * size + part.numel()].copy_(part)
            self._run_step()
            for s, (target, _) in enumerate(targets):
                part = target[low:high]
                part.copy_(slots[s, self.rank * size : self.rank * size + part.numel()])
        for _, finish in targets:
            finish()

    def _compare_sizes(self, sent: list[int], expected: list[int]) -> int:
        """Check on every rank that what each sends to each is what that one expects; return the largest part."""
        n = self.world_size
        slots = self._buffer(torch.int64)
        slots[self.rank, : 2 * n] = torch.tensor(sent + expected)
        self._run_step(check=True)
        sizes = slots[:, : 2 * n].tolist()
        wrong = [(s, r) for s in range(n) for r in range(n) if sizes[s][r] != sizes[r][n + s]]
        if wrong:
            sides = "   ".join(
                f"rank {s} sends {sizes[s][r]} elements to rank {r}, which expects {sizes[r][n + s]}" for s, r in wrong
            )
            raise self._break(
                CollectiveMismatch(f"{self._activity} on group {self.name!r}: sizes do not fit.\n  {sides}")
            )
        return max(max(row) for row in sizes)

    # -- buckets ------------------------------------------------------------------------------------------------

    def make_bucket(self, numel: int, dtype: torch.dtype) -> Bucket:
        n = self.world_size
        handle = torch.zeros(64, dtype=torch.uint8)
        segment = None
        if self.rank == 0:
            segment = Segment.create(f"{self.name}-bucket", bucket_offset(n) + n * row_bytes(numel, dtype))
            text = segment.handle.encode()
            handle[: len(text)] = torch.frombuffer(bytearray(text), dtype=torch.uint8)
        self.broadcast(handle, 0)
        if segment is None:
            segment = Segment.attach(bytes(handle.tolist()).rstrip(b"\0").decode())
        self.barrier()
        segment.release_name()
        return ShmBucket(self, segment, numel, dtype)

    # -- point to point -----------------------------------------------------------------------------------------

    @_call
    def send(self, tensor: torch.Tensor, dst: int) -> None:
        arguments.check_peer("send", "dst", dst, self.rank, self.world_size)
        flat, _ = _flat(tensor)
        self._mail.send(tensor, flat, dst)

    @_call
    def recv(self, tensor: torch.Tensor, src: int) -> None:
        arguments.check_peer("recv", "src", src, self.rank, self.world_size)
        flat, finish = _flat(tensor)
        try:
            self._mail.recv(tensor, flat, src)
        except CollectiveMismatch as error:
            raise self._break(error) from None
        finish()

    def close(self) -> None:
        """Leave the group: calls of other threads end with CommError, the other ranks' with PeerLost."""
        if self._segment.is_closed:
            return
        if self._error is None:
            kernels.depart(self._base, self.rank, layout.CLOSED)
            self._error = CommError("it was closed")
        until = Deadline.after(_CLOSE_S)
        while self._inside and not until.expired:
            time.sleep(0.001)
        if self._inside:
            # a call that does not come back (a signal handler closes under its own feet): its memory must stay mapped
            return
        self._peers.close()
        self._typed.clear()
        self._control = self._control[:0].copy()
        self._slots = torch.empty(0)
        self._segment.close()


def _flat(tensor: torch.Tensor) -> tuple[torch.Tensor, Any]:
    """A flat contiguous view or copy of ``tensor``, and a call that writes a copy back."""
    if tensor.device.type != "cpu":
        raise UsageError(f"the shared-memory backend takes CPU tensors, but received one on {tensor.device}")
    raw = tensor.detach()
    if raw.dtype is torch.bool:
        raw = raw.view(torch.uint8)
    if raw.is_contiguous():
        return raw.view(-1), _nothing
    copy = raw.contiguous()
    return copy.view(-1), lambda: raw.copy_(copy)


def _nothing() -> None:
    """The tensor itself was written."""
