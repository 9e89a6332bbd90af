"""Geo-SGD: workers train copies and exchange what changed.

Every ``k_steps`` batches a worker sends the difference between its values and those it started
from, divided by the number of workers, and takes over what others did. Sparse rows are kept and
trained in a table of the worker's own; only rows that it touched are sent, and only rows that
others changed are fetched.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import numpy.typing as npt

from argosy.runtime.ps.tables.rules import Rule
from argosy.runtime.ps.tables.sparse_table import SparseTable
from argosy.runtime.ps.tables.spec import SparseSpec
from argosy.runtime.ps.worker.client import Client
from argosy.runtime.ps.worker.steps import Push

_MINE = 0  # the worker's own tables have one writer


def on_server(spec: SparseSpec) -> SparseSpec:
    """The table that servers keep for a table trained by workers: differences are added to it."""
    return dataclasses.replace(spec, rule=Rule("sgd", 1.0))


class GeoRows:
    """The worker's copy of a sparse table: ``trained`` is what it trains, ``base`` what it last
    agreed on with the servers.
    """

    def __init__(self, spec: SparseSpec, folder: Path, client: Client, num_workers: int) -> None:
        self._name = spec.name
        self._client = client
        self._num_workers = num_workers
        self._trained = SparseTable(spec, folder / "trained")
        self._base = SparseTable(on_server(spec), folder / "base")
        self._touched: list[npt.NDArray[np.int64]] = []
        self._sequence = self._trained.applied(_MINE)

    def pull(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Rows as this worker has them; those that it never had come from the servers."""
        fresh = np.unique(ids[~self._trained.has(ids)])
        if fresh.size:
            values = self._client.pull(self._name, fresh)
            self._put(self._trained, fresh, values)
            self._put(self._base, fresh, values)
        return self._trained.pull(ids)

    def peek(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """As ``pull``, but nothing is made, here or on the servers; what is missing reads as
        zeros.
        """
        out = self._trained.pull(ids, creates=False)
        missing = ~self._trained.has(ids)
        if missing.any():
            out[missing] = self._client.pull(self._name, ids[missing], creates=False)
        return out

    def push(
        self,
        ids: npt.NDArray[np.int64],
        grads: npt.NDArray[np.float32],
        learning_rate: float | None,
    ) -> None:
        """Train the own rows."""
        self._sequence += 1
        self._trained.push(
            ids, grads, worker=_MINE, sequence=self._sequence, learning_rate=learning_rate
        )
        self._touched.append(ids)

    def difference(self) -> Push:
        """What changed here since the last time, for the servers, which are taken to have it."""
        ids = np.unique(np.concatenate(self._touched)) if self._touched else np.empty(0, np.int64)
        self._touched.clear()
        base = self._base.pull(ids)
        delta = (self._trained.pull(ids) - base) / np.float32(self._num_workers)
        self._put(self._base, ids, base + delta)
        return Push(self._name, -delta, ids=ids)

    def take(self, changed: npt.NDArray[np.int64], values: npt.NDArray[np.float32]) -> None:
        """Take over what changed elsewhere."""
        is_known = self._trained.has(changed)
        changed, values = changed[is_known], values[is_known]
        moved = self._trained.pull(changed) + values - self._base.pull(changed)
        self._put(self._trained, changed, moved)
        self._put(self._base, changed, values)

    def refresh(self) -> None:
        """Ask what changed elsewhere and take it over."""
        self.take(*self._client.pull_changed(self._name))

    def _put(
        self, table: SparseTable, ids: npt.NDArray[np.int64], values: npt.NDArray[np.float32]
    ) -> None:
        table.pull(ids)  # makes the rows, with the rule's first state
        table.set_values(ids, values)

    def close(self) -> None:
        self._trained.close()
        self._base.close()


class GeoDense:
    """The worker's copy of the dense parameters."""

    def __init__(self, table: str, client: Client, num_workers: int) -> None:
        self._table = table
        self._client = client
        self._num_workers = num_workers
        self._base = client.pull_dense(table).copy()

    def difference(self, values: npt.NDArray[np.float32]) -> Push:
        """What changed in ``values`` since the last time, for the servers, which are taken to have
        it.
        """
        delta = (values - self._base) / np.float32(self._num_workers)
        self._base += delta
        return Push(self._table, delta)

    def take(
        self, values: npt.NDArray[np.float32], theirs: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.float32]:
        """What the servers have, with what changed in ``values`` since the last time."""
        moved: npt.NDArray[np.float32] = values + theirs - self._base
        self._base = theirs.copy()
        return moved

    def refresh(self, values: npt.NDArray[np.float32] | None = None) -> npt.NDArray[np.float32]:
        """Ask what the servers have; what changed in ``values`` is given up without them."""
        theirs = self._client.pull_dense(self._table)
        if values is not None:
            return self.take(values, theirs)
        self._base = theirs.copy()
        return theirs
