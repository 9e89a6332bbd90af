"""``core.SelectedRows``: some rows of a tall matrix, by number; what sparse gradients are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from argosy.foundation.errors import UsageError
from argosy.static.ir.lod import LoDTensor


class _Values(LoDTensor):
    """The values of the rows; tells its owner when they change."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        super().__init__()
        self._on_change = on_change
        self.is_set = False

    def take_over(self, raw: torch.Tensor) -> None:
        super().take_over(raw)
        self.is_set = True
        self._on_change()


class SelectedRows:
    """Values for ``rows`` of a matrix with ``height`` rows; a row may be there more than once.

    Example:
        >>> import numpy
        >>> rows = paddle.base.core.SelectedRows([0, 4], 10)
        >>> rows.get_tensor().set(numpy.ones([2, 3], "float32"), paddle.CPUPlace())
        >>> rows.rows(), rows.height(), rows.get_tensor().shape()
        ([0, 4], 10, [2, 3])
    """

    def __init__(
        self,
        rows: Sequence[int] = (),
        height: int = 0,
        store: Callable[[torch.Tensor], None] | None = None,
    ) -> None:
        self._rows, self._height = [int(row) for row in rows], int(height)
        self._store = store
        self._held = _Values(self._changed)

    def rows(self) -> list[int]:
        return list(self._rows)

    def set_rows(self, rows: Sequence[int]) -> None:
        self._rows = [int(row) for row in rows]
        self._changed()

    def height(self) -> int:
        return self._height

    def set_height(self, height: int) -> None:
        self._height = int(height)
        self._changed()

    def get_tensor(self) -> LoDTensor:
        """The values, as an object through which they can be read and set."""
        return self._held

    def numel(self) -> int:
        return self._height * self._held.raw_tensor()[0].numel()

    def raw_tensor(self) -> torch.Tensor:
        """The rows as a sparse tensor."""
        values = self._held.raw_tensor()
        if len(self._rows) != values.shape[0]:
            raise UsageError(
                f"SelectedRows: there are {len(self._rows)} rows, but values of shape "
                f"{list(values.shape)}"
            )
        shape = (self._height, *values.shape[1:])
        return torch.sparse_coo_tensor(
            torch.tensor([self._rows]), values, shape, check_invariants=True
        )

    def _changed(self) -> None:
        if self._store is None or not self._held.is_set:
            return
        values = self._held.raw_tensor()
        if len(self._rows) == values.shape[0] and self._height > max(self._rows, default=-1):
            self._store(self.raw_tensor())
