"""Averaging row-sparse gradients: each rank adds up its own rows of one id, all ranks exchange
what that leaves, and each adds up what came.

One exchange carries everything, in a message of the same length on every rank::

    0          is_fresh, kind, number of rows; int64
    24         ids, int64, ``capacity`` of them
    ...        their rows, ``capacity`` of them, and up to 7 bytes unused

A rank whose rows do not fit says how many there are; then all make room and exchange once more.
"""

from __future__ import annotations

import numpy as np
import torch

from argosy.runtime.comm.backend import Backend, ReduceOp

_NONE, _ROWS, _DENSE = 0, 1, 2
_HEADER_BYTES = 24
_COMPILED = (torch.float32, torch.float64)  # dtypes that the loops of ``row_kernels.py`` add


class RowAverage:
    """The averages of one parameter's gradients, round after round."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._capacity = 0  # rows in a message, the same on every rank
        self._messages = torch.empty(0)

    def average(self, param: torch.Tensor, is_fresh: bool) -> None:
        """Average the gradient of ``param``: the rows of all ranks, divided by the number of ranks.

        A rank without a gradient takes part with no rows. Where no rank says ``is_fresh`` the
        gradients stay as they are; where one has a dense gradient (the parameter is also used
        densely) all take dense ones.
        """
        grad = param.grad
        kind = _NONE if grad is None else _DENSE
        if grad is not None and grad.layout is torch.sparse_coo and grad.sparse_dim() == 1:
            kind = _ROWS
        ids, rows = _merged_gradient(grad if kind == _ROWS else None, param)
        said, capacity = self._exchange(is_fresh, kind, ids, rows)
        if not any(fresh for fresh, _, _ in said):
            return
        if any(kind == _DENSE for _, kind, _ in said):
            dense = torch.zeros_like(param) if grad is None else grad
            dense = dense.to_dense() if dense.is_sparse else dense
            self._backend.all_reduce(dense, ReduceOp.AVG)
            param.grad = dense
            return
        parts = [
            _parts(message, capacity, count, rows)
            for message, (_, _, count) in zip(self._messages, said, strict=True)
        ]
        memory = self._messages.view(-1).view(param.dtype)
        ids, rows = _merged(parts, memory, param.shape[0], 1.0 / self._backend.world_size)
        param.grad = torch.sparse_coo_tensor(
            ids[None],
            rows.view(-1, *param.shape[1:]),
            param.shape,
            check_invariants=False,
            is_coalesced=True,
        )

    def _exchange(
        self, is_fresh: bool, kind: int, ids: torch.Tensor, rows: torch.Tensor
    ) -> tuple[list[list[int]], int]:
        """Leave everybody's message in ``_messages``; what the headers say, and the capacity of the
        messages.
        """
        while True:
            capacity = self._capacity
            size = -(-(_HEADER_BYTES + capacity * (8 + _row_bytes(rows))) // 8) * 8
            message = rows.new_empty(size, dtype=torch.uint8)
            message[:_HEADER_BYTES].view(torch.int64).copy_(
                torch.tensor([int(is_fresh), kind, ids.numel()])
            )
            if ids.numel() <= capacity:
                for target, part in zip(
                    _parts(message, capacity, ids.numel(), rows), (ids, rows), strict=True
                ):
                    target.copy_(part)
            shape = (self._backend.world_size, size)
            if self._messages.shape != shape:
                self._messages = message.new_empty(shape)
            self._backend.all_gather(list(self._messages), message)
            headers = self._messages[:, :_HEADER_BYTES].contiguous().view(torch.int64)
            said: list[list[int]] = headers.tolist()
            most = max(count for _, _, count in said)
            if most > capacity or most < capacity // 4:
                self._capacity = most + most // 8  # batches differ a little
            if most <= capacity:
                return said, capacity


def _row_bytes(rows: torch.Tensor) -> int:
    return rows.shape[1] * rows.itemsize


def _parts(
    message: torch.Tensor, capacity: int, count: int, like: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The ids and the rows in a message."""
    start = _HEADER_BYTES + 8 * capacity
    ids = message[_HEADER_BYTES : _HEADER_BYTES + 8 * count].view(torch.int64)
    rows = message[start : start + count * _row_bytes(like)].view(like.dtype)
    return ids, rows.view(count, like.shape[1])


def _merged_gradient(
    grad: torch.Tensor | None, param: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The ids of a gradient's rows, sorted and each once, and the rows; none without a gradient."""
    width = param[0].numel() if param.shape[0] else 0
    if grad is None:
        ids = torch.empty(0, dtype=torch.int64, device=param.device)
        return ids, param.detach().new_empty(0, width)
    if grad.is_coalesced():
        return grad.indices()[0], grad.values().reshape(-1, width)
    # the tensors inside, without a copy; those of a gradient that is not coalesced
    ids, rows = grad._indices()[0], grad._values().reshape(-1, width).contiguous()
    return _merged([(ids, rows)], rows.view(-1), param.shape[0], 1.0)


def _merged(
    parts: list[tuple[torch.Tensor, torch.Tensor]], memory: torch.Tensor, num_ids: int, scale: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """The ids in ``parts``, sorted and each once, and the sums of their rows, in the order of the
    parts, times ``scale``. ``memory`` is the flat tensor in which the rows lie.
    """
    rows = parts[0][1]
    if rows.device.type == "cpu" and rows.dtype in _COMPILED and rows.shape[1]:
        return _merged_compiled(parts, memory, num_ids, scale)
    together = torch.sparse_coo_tensor(
        torch.cat([ids for ids, _ in parts])[None],
        torch.cat([rows for _, rows in parts]),
        (num_ids, rows.shape[1]),
        check_invariants=False,
    ).coalesce()
    return together.indices()[0], together.values() * scale


def _merged_compiled(
    parts: list[tuple[torch.Tensor, torch.Tensor]], memory: torch.Tensor, num_ids: int, scale: float
) -> tuple[torch.Tensor, torch.Tensor]:
    # loads numba, which a model without sparse gradients does not need
    from argosy.runtime.parallel import row_kernels

    width, size = parts[0][1].shape[1], memory.itemsize
    ids = np.concatenate([ids.numpy() for ids, _ in parts])
    starts = np.concatenate(
        [
            (rows.data_ptr() - memory.data_ptr()) // size + np.arange(len(rows)) * width
            for _, rows in parts
        ]
    )
    spare_ids, spare_starts = np.empty_like(ids), np.empty_like(starts)
    count = row_kernels.sort_by_id(ids, starts, spare_ids, spare_starts, num_ids)
    out_ids, out_rows = parts[0][0].new_empty(count), memory.new_empty(count, width)
    row_kernels.add_by_id(ids, starts, memory.numpy(), scale, out_ids.numpy(), out_rows.numpy())
    return out_ids, out_rows
