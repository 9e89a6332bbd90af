"""Averaging gradients outside a reducer: row-sparse ones, and dense ones after backward."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from argosy.runtime.comm.backend import Backend, ReduceOp
from argosy.runtime.parallel.broadcast import packs, unpack

_NONE, _ROWS, _DENSE = 0, 1, 2
_PACK_BYTES = 32 << 20


@torch.no_grad()
def average_rows(param: torch.Tensor, is_fresh: bool, backend: Backend) -> None:
    """Average a row-sparse gradient: the rows of all ranks, each divided by the number of ranks.

    A rank without a gradient takes part with no rows. Where no rank says ``is_fresh`` the gradients
    stay as they are; where one has a dense gradient (the parameter is also used densely) all take
    dense ones.
    """
    grad = param.grad
    kind = _NONE if grad is None else _ROWS if grad.layout is torch.sparse_coo else _DENSE
    rows, values = _rows_of(grad, param)
    mine = torch.tensor([int(is_fresh), kind, rows.numel()])
    every = [torch.empty_like(mine) for _ in range(backend.world_size)]
    backend.all_gather(every, mine)
    said = [t.tolist() for t in every]
    if not any(fresh for fresh, _, _ in said):
        return
    if any(kind == _DENSE for _, kind, _ in said):
        dense = (
            torch.zeros_like(param) if grad is None else grad.to_dense() if grad.is_sparse else grad
        )
        backend.all_reduce(dense, ReduceOp.AVG)
        param.grad = dense
        return
    param.grad = _joined(rows, values, [count for _, _, count in said], param, backend)


def _rows_of(grad: torch.Tensor | None, param: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    if grad is None or grad.layout is not torch.sparse_coo:
        return torch.empty(0, dtype=torch.int64, device=param.device), param.new_empty(
            0, *param.shape[1:]
        )
    grad = grad.coalesce()
    return grad.indices()[0], grad.values()


def _joined(
    rows: torch.Tensor,
    values: torch.Tensor,
    counts: Sequence[int],
    param: torch.Tensor,
    backend: Backend,
) -> torch.Tensor:
    """The rows of all ranks as one gradient. Ranks exchange as many as the longest has."""
    most = max(counts)
    padded_rows, padded_values = rows.new_zeros(most), values.new_zeros(most, *values.shape[1:])
    padded_rows[: rows.numel()] = rows
    padded_values[: rows.numel()] = values
    all_rows = [torch.empty_like(padded_rows) for _ in counts]
    all_values = [torch.empty_like(padded_values) for _ in counts]
    if most:
        backend.all_gather(all_rows, padded_rows)
        backend.all_gather(all_values, padded_values)
    joined_rows = torch.cat([r[:count] for r, count in zip(all_rows, counts, strict=True)])
    joined_values = torch.cat(
        [v[:count] for v, count in zip(all_values, counts, strict=True)]
    ) / len(counts)
    return torch.sparse_coo_tensor(
        joined_rows[None], joined_values, param.shape, check_invariants=False
    ).coalesce()


@torch.no_grad()
def combine_gradients(grads: Sequence[torch.Tensor], scale: float, backend: Backend) -> None:
    """Replace each dense gradient by its sum over the ranks times ``scale``."""
    for pack in packs(grads, _PACK_BYTES):
        flat = pack[0] if len(pack) == 1 else torch.cat([g.reshape(-1) for g in pack])
        backend.all_reduce(flat, ReduceOp.SUM)
        flat.mul_(scale)
        if len(pack) > 1:
            unpack(flat, pack)
