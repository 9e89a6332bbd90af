"""Averaging row-sparse gradients: each rank adds up its own rows of one id, all ranks exchange
what that leaves, and each adds up what came.

One exchange carries everything, in a message of the same length on every rank::

    0          is_fresh, kind, number of rows; int64
    24         ids, int64, ``capacity`` of them
    ...        their rows, ``capacity`` of them, from a cache line on; up to 63 bytes unused before
               and 7 behind

A rank whose rows do not fit says how many there are; then all make room and exchange once more.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from argosy.foundation import torch_private
from argosy.foundation.errors import InternalError
from argosy.runtime.comm.backend import Backend, ReduceOp
from argosy.runtime.comm.bucket import Bucket

Rows = tuple[torch.Tensor, torch.Tensor]  # ids, and for each a row: [n] and [n, width]

_NONE, _ROWS, _DENSE = 0, 1, 2
_HEADER_BYTES = 24
_LINE = 64
_FEW_PARTS = 8  # that are merged by looking at each one's next id; more are sorted
_COMPILED = (torch.float32, torch.float64)  # dtypes that the loops of ``kernels.py`` add


class RowAverage:
    """The averages of the row-sparse gradients of ``param``. One that is ``lasting`` is made by all
    ranks together, used in every round and closed.
    """

    def __init__(self, param: torch.Tensor, backend: Backend, is_lasting: bool) -> None:
        is_shared = is_lasting and backend.kind == "shm" and param.device.type == "cpu"
        self._messages: _Messages = (
            _SharedMessages(backend) if is_shared else _GatheredMessages(backend, param.device)
        )
        self._param = param
        self._width = param[0].numel() if param.shape[0] else 0
        self._transport = backend
        self._capacity = 0  # rows in a message, the same on every rank

    def average(self, is_fresh: bool) -> None:
        """Average the gradient: the rows of all ranks, divided by the number of ranks.

        A rank without a gradient takes part with no rows. Where no rank says ``is_fresh`` the
        gradients stay as they are; where one has a dense gradient (the parameter is also used
        densely) all take dense ones.
        """
        param, grad = self._param, self._param.grad
        kind = _NONE if grad is None else _DENSE
        if grad is not None and grad.layout is torch.sparse_coo and grad.sparse_dim() == 1:
            kind = _ROWS
        own = _Sums([self._rows_of(grad if kind == _ROWS else None)], param.shape[0], 1.0)
        said, parts = self._exchange(is_fresh, kind, own)
        if not any(fresh for fresh, _, _ in said):
            return
        if any(kind == _DENSE for _, kind, _ in said):
            dense = torch.zeros_like(param) if grad is None else grad
            dense = dense.to_dense() if dense.is_sparse else dense
            self._transport.all_reduce(dense, ReduceOp.AVG)
            param.grad = dense
            return
        ids, rows = _merged(parts, param.shape[0], 1.0 / self._transport.world_size)
        param.grad = torch.sparse_coo_tensor(
            ids[None],
            rows.view(-1, *param.shape[1:]),
            param.shape,
            check_invariants=False,
            is_coalesced=True,
        )

    def _rows_of(self, grad: torch.Tensor | None) -> Rows:
        """Ids and rows of a gradient, as they are in it; none without a gradient."""
        if grad is None:
            ids = torch.empty(0, dtype=torch.int64, device=self._param.device)
            return ids, self._param.detach().new_empty(0, self._width)
        rows = torch_private.sparse_values(grad).reshape(-1, self._width)
        return torch_private.sparse_indices(grad)[0], rows.contiguous()

    def _exchange(
        self, is_fresh: bool, kind: int, own: _Sums
    ) -> tuple[list[list[int]], list[Rows]]:
        """What the headers of all messages say, and the rows in them."""
        while True:
            capacity = self._capacity
            size = self._rows_at(capacity) + capacity * self._width * self._param.itemsize
            message = self._messages.room(-(-size // 8) * 8)
            header = torch.tensor([int(is_fresh), kind, own.count])
            message[:_HEADER_BYTES].view(torch.int64).copy_(header)
            if own.count <= capacity:
                streams = self._messages.are_shared and self._transport.streams
                own.write(*self._parts(message, capacity, own.count), streams)
            every = self._messages.exchange()
            headers = torch.stack([m[:_HEADER_BYTES] for m in every]).view(torch.int64)
            said: list[list[int]] = headers.tolist()
            most = max(count for _, _, count in said)
            if most > capacity or most < capacity // 4:
                self._capacity = most + most // 8  # batches differ a little
            if most <= capacity:
                return said, [
                    self._parts(m, capacity, count)
                    for m, (_, _, count) in zip(every, said, strict=True)
                ]

    def _rows_at(self, capacity: int) -> int:
        """Where the rows of a message begin."""
        return -(-(_HEADER_BYTES + 8 * capacity) // _LINE) * _LINE

    def _parts(self, message: torch.Tensor, capacity: int, count: int) -> Rows:
        """The ids and the rows in a message."""
        start = self._rows_at(capacity)
        stop = start + count * self._width * self._param.itemsize
        ids = message[_HEADER_BYTES : _HEADER_BYTES + 8 * count].view(torch.int64)
        return ids, message[start:stop].view(self._param.dtype).view(count, self._width)

    def close(self) -> None:
        self._messages.close()


class _Messages(abc.ABC):
    """Moves messages of equal length between the ranks."""

    are_shared = False  # whether other ranks read them where they were written

    @abc.abstractmethod
    def room(self, size: int) -> torch.Tensor:
        """Bytes for the own message; all ranks ask for as many."""

    @abc.abstractmethod
    def exchange(self) -> Sequence[torch.Tensor]:
        """The messages of all ranks, to be read until the next call of ``room``."""

    @abc.abstractmethod
    def close(self) -> None: ...


class _SharedMessages(_Messages):
    """Messages lie where all ranks can read them: nothing is copied. See ``Bucket.gathered``."""

    are_shared = True

    def __init__(self, backend: Backend) -> None:
        self._transport = backend
        self._buckets: list[Bucket] = []

    def room(self, size: int) -> torch.Tensor:
        if not self._buckets or self._buckets[0].tensor.numel() != size:
            old = self._buckets
            self._buckets = [self._transport.make_bucket(size, torch.uint8) for _ in range(2)]
            for bucket in old:
                bucket.close()
        self._buckets.reverse()
        return self._buckets[0].tensor

    def exchange(self) -> Sequence[torch.Tensor]:
        self._buckets[0].publish()
        every = self._buckets[0].gathered()
        if every is None:
            raise InternalError(f"buckets of {self._transport.kind!r} cannot be read by all ranks")
        return every

    def close(self) -> None:
        for bucket in self._buckets:
            bucket.close()


class _GatheredMessages(_Messages):
    """Messages in private memory, gathered by any backend."""

    def __init__(self, backend: Backend, device: torch.device) -> None:
        self._transport = backend
        self._own = torch.empty(0, dtype=torch.uint8, device=device)

    def room(self, size: int) -> torch.Tensor:
        if self._own.numel() != size:
            self._own = self._own.new_empty(size)
        return self._own

    def exchange(self) -> Sequence[torch.Tensor]:
        every = [torch.empty_like(self._own) for _ in range(self._transport.world_size)]
        self._transport.all_gather(every, self._own)
        return every

    def close(self) -> None:
        """There is nothing to end."""


class _Sums:
    """The sums of the rows of one id each, by id, added in the order of ``parts``, times
    ``scale``.
    """

    def __init__(self, parts: Sequence[Rows], num_ids: int, scale: float) -> None:
        like = parts[0][1]
        self._parts = parts  # the rows are read in ``write``
        self._scale = scale
        self._is_compiled = _is_compiled(like)
        if self._is_compiled:
            step = like.shape[1] * like.itemsize
            self._ids = np.concatenate([ids.numpy() for ids, _ in parts])
            self._addresses = np.concatenate(
                [rows.data_ptr() + np.arange(len(rows)) * step for _, rows in parts]
            )
            spare = np.empty_like(self._ids), np.empty_like(self._addresses)
            self.count = int(_kernels().sort_by_id(self._ids, self._addresses, *spare, num_ids))
        else:
            self._total = torch.sparse_coo_tensor(
                torch.cat([ids for ids, _ in parts])[None],
                torch.cat([rows for _, rows in parts]),
                (num_ids, like.shape[1]),
                check_invariants=False,
            ).coalesce()
            self.count = self._total.indices().shape[1]

    def write(self, ids: torch.Tensor, rows: torch.Tensor, streams: bool = False) -> None:
        """Write ``count`` ids in ascending order, and the sums, past the cache if ``streams``."""
        if self._is_compiled:
            out = ids.numpy(), rows.numpy()
            _kernels().add_by_id(self._ids, self._addresses, self._scale, *out, streams)
        else:
            ids.copy_(self._total.indices()[0])
            rows.copy_(self._total.values() * self._scale)


def _merged(parts: Sequence[Rows], num_ids: int, scale: float) -> Rows:
    """The sums over ``parts``, in each of which ids ascend, times ``scale``."""
    ids, rows = parts[0]
    most = sum(len(ids) for ids, _ in parts)
    out = ids.new_empty(most), rows.new_empty(most, rows.shape[1])
    if _is_compiled(rows) and len(parts) <= _FEW_PARTS:
        every = np.concatenate([ids.numpy() for ids, _ in parts])
        addresses = np.array([rows.data_ptr() for _, rows in parts])
        given = (addresses, scale, *(t.numpy() for t in out))
        if len(parts) == 2:
            spare = np.empty_like(every), np.empty_like(every)
            count = _kernels().merge_two(every, len(ids), *given, *spare)
        else:
            bounds = np.cumsum([0, *(len(ids) for ids, _ in parts)])
            count = _kernels().merge_by_id(every, bounds, *given)
    else:
        total = _Sums(parts, num_ids, scale)
        count = total.count
        total.write(out[0][:count], out[1][:count])
    return out[0][:count], out[1][:count]


def _is_compiled(rows: torch.Tensor) -> bool:
    return rows.device.type == "cpu" and rows.dtype in _COMPILED


def _kernels() -> Any:
    # loads numba, which a model without sparse gradients does not need
    from argosy.runtime.parallel import kernels

    return kernels
