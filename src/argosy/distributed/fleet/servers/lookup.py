"""Rows of a server's table as tensors with gradients: what embeddings of a model become in a
parameter-server job.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.autograd.function import once_differentiable

from argosy.distributed.fleet.servers.runtime import PsRuntime
from argosy.foundation.errors import UsageError
from argosy.runtime.ps.tables.spec import SparseSpec

__all__ = ["Lookups", "RowSource", "rows_at", "unique_ids"]

_ROWS_AT_ONCE = 1 << 16


def unique_ids(ids: torch.Tensor) -> tuple[np.ndarray, torch.Tensor]:
    """The unique ids, and for each of ``ids`` its position among them."""
    from argosy.runtime.ps.tables.hashing import unique  # compiled code: only where it is used

    found, positions = unique(ids.detach().reshape(-1).to(torch.int64).numpy())
    return found, torch.from_numpy(positions).view(ids.shape)


class _RowsAt(torch.autograd.Function):
    """Rows by position, for several lookups at once. The gradients of a row are summed in one pass
    over those of the lookups, where they are.
    """

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, *positions: torch.Tensor) -> Any:
        ctx.save_for_backward(*positions)
        ctx.shape = rows.shape
        ctx.set_materialize_grads(False)
        dim = rows.shape[1]
        return tuple(rows.index_select(0, p.reshape(-1)).view(*p.shape, dim) for p in positions)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor | None) -> Any:
        from argosy.runtime.ps.tables.rows import add_at

        total = torch.zeros(ctx.shape)
        for positions, grad in zip(ctx.saved_tensors, grads, strict=True):
            if grad is None or not grad.numel():
                continue
            each = grad.reshape(-1, ctx.shape[1])
            if each.stride(1) != 1:
                each = each.contiguous()
            stride = each.stride(0)
            flat = each.as_strided(((each.shape[0] - 1) * stride + each.shape[1],), (1,))
            add_at(total.numpy(), positions.reshape(-1).numpy(), flat.numpy(), stride)
        return total, *(None for _ in grads)


def rows_at(rows: torch.Tensor, positions: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """The rows of each of ``positions``; gradients flow to ``rows``, once."""
    found: tuple[torch.Tensor, ...] = _RowsAt.apply(rows, *positions)  # type: ignore[no-untyped-call]
    return found


class RowSource:
    """The rows of one table, fetched for each forward pass; ``num_rows`` is how many the model
    began with.
    """

    def __init__(
        self, runtime: PsRuntime, spec: SparseSpec, lookups: Lookups, num_rows: int
    ) -> None:
        self._runtime = runtime
        self.spec = spec
        self._lookups = lookups
        self._num_rows = num_rows

    def fetch(self, ids: torch.Tensor, trains: bool) -> tuple[torch.Tensor, torch.Tensor]:
        """The unique rows of ``ids``, and for each id which of them is its own. With ``trains``
        gradients of the rows are pushed at the next step.
        """
        keys, positions = unique_ids(ids)
        worker = self._runtime.worker
        if trains:
            values = worker.pull(self.spec.name, keys)
        else:
            values = worker.peek(self.spec.name, keys)
        rows = torch.from_numpy(values)
        if trains:
            rows.requires_grad_()
            self._lookups.note(self.spec.name, keys, rows)
        return rows, positions

    def all_rows(self) -> torch.Tensor:
        """A copy of all rows as the servers have them; before the worker has connected, of those
        that they begin with.
        """
        if not self._runtime.is_connected:
            return torch.from_numpy(
                self._runtime.known_model("state_dict").rows[self.spec.name][1].copy()
            )
        rows = np.empty((self._num_rows, self.spec.dim), np.float32)
        for low in range(0, self._num_rows, _ROWS_AT_ONCE):
            ids = np.arange(low, min(low + _ROWS_AT_ONCE, self._num_rows))
            rows[low : low + len(ids)] = self._runtime.worker.peek(self.spec.name, ids)
        return torch.from_numpy(rows)

    def replace(self, values: torch.Tensor) -> None:
        """Have the table begin with other rows."""
        if self._runtime.is_connected:
            raise UsageError(
                f"the rows of table {self.spec.name!r} are on the servers; load a state dict "
                "before fleet.init_worker(), or tables with fleet.load_model"
            )
        rows = self._runtime.known_model("set_state_dict").rows
        ids, old = rows[self.spec.name]
        if tuple(values.shape) != old.shape:
            raise UsageError(
                f"table {self.spec.name!r} has shape {list(old.shape)}, but received "
                f"{list(values.shape)}"
            )
        rows[self.spec.name] = ids, values.detach().cpu().float().numpy().copy()


class Lookups:
    """What was fetched since the last step, by table."""

    def __init__(self, dim_by_table: dict[str, int]) -> None:
        self._dim_by_table = dim_by_table
        self._fetched: dict[str, list[tuple[np.ndarray, torch.Tensor]]] = {
            name: [] for name in dim_by_table
        }

    def note(self, table: str, ids: np.ndarray, rows: torch.Tensor) -> None:
        self._fetched[table].append((ids, rows))

    def push(self, runtime: PsRuntime) -> None:
        """Push the gradients of all rows, table by table in one order on every worker; a table that
        was not used gets an empty push.
        """
        rate, model = runtime.rate(), runtime.known_model("step")
        for table in sorted(self._fetched):
            used = [(ids, rows.grad) for ids, rows in self._fetched[table] if rows.grad is not None]
            if used:
                ids = np.concatenate([i for i, _ in used])
                grads = torch.cat([g.to_dense() if g.is_sparse else g for _, g in used]).numpy()
            else:
                ids, grads = (
                    np.empty(0, np.int64),
                    np.empty((0, self._dim_by_table[table]), np.float32),
                )
            runtime.worker.push(table, ids, grads, model.rate(table, rate))
        for fetched in self._fetched.values():
            fetched.clear()

    def clear_gradients(self) -> None:
        """Forget gradients, not what was fetched: the backward pass of it may be still to come."""
        for fetched in self._fetched.values():
            for _, rows in fetched:
                rows.grad = None
