"""Rows of a server's table as tensors with gradients: what embeddings of a model become in a parameter-server job."""

from __future__ import annotations

import numpy as np
import torch

from argosy.distributed.fleet._ps_runtime import PsRuntime
from argosy.runtime.ps.spec import SparseSpec

__all__ = ["Lookups", "RowSource"]


class RowSource:
    """The rows of one table, fetched for each forward pass."""

    def __init__(self, runtime: PsRuntime, spec: SparseSpec, lookups: Lookups) -> None:
        self._runtime = runtime
        self.spec = spec
        self._lookups = lookups

    def fetch(self, ids: torch.Tensor, trains: bool) -> tuple[torch.Tensor, torch.Tensor]:
        """The different rows of ``ids``, and for each id which of them is its own. With ``trains`` gradients of the rows are pushed at the next step."""
        unique, inverse = torch.unique(ids.detach().reshape(-1).to(torch.int64), return_inverse=True)
        keys = unique.numpy()
        worker = self._runtime.worker
        if trains:
            values = worker.pull(self.spec.name, keys)
        else:
            values = worker.peek(self.spec.name, keys)
        rows = torch.from_numpy(np.array(values, np.float32))
        if trains:
            rows.requires_grad_()
            self._lookups.note(self.spec.name, keys, rows)
        return rows, inverse.view(ids.shape)


class Lookups:
    """What was fetched since the last step, by table."""

    def __init__(self, dim_by_table: dict[str, int]) -> None:
        self._dim_by_table = dim_by_table
        self._fetched: dict[str, list[tuple[np.ndarray, torch.Tensor]]] = {name: [] for name in dim_by_table}

    def note(self, table: str, ids: np.ndarray, rows: torch.Tensor) -> None:
        self._fetched[table].append((ids, rows))

    def push(self, runtime: PsRuntime) -> None:
        """Push the gradients of all rows, table by table in one order on every worker; a table that was not used gets an empty push."""
        rate = runtime.rate()
        for table in sorted(self._fetched):
            used = [(ids, rows.grad) for ids, rows in self._fetched[table] if rows.grad is not None]
            if used:
                ids = np.concatenate([i for i, _ in used])
                grads = torch.cat([g.to_dense() if g.is_sparse else g for _, g in used]).numpy()
            else:
                ids, grads = np.empty(0, np.int64), np.empty((0, self._dim_by_table[table]), np.float32)
            runtime.worker.push(table, ids, grads, rate)
        for fetched in self._fetched.values():
            fetched.clear()

    def clear_gradients(self) -> None:
        """Forget gradients, not what was fetched: the backward pass of it may be still to come."""
        for fetched in self._fetched.values():
            for _, rows in fetched:
                rows.grad = None
