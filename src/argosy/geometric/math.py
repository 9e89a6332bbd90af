"""Rows combined by segments: ``segment_ids`` names the segment of each row, in ascending order."""

from __future__ import annotations

from typing import Any

from argosy.ops.array import messages as ops
from argosy.tensor.engine import apply

__all__: list[str] = []


def segment_sum(data: Any, segment_ids: Any, name: str | None = None) -> Any:
    """The sum of the rows of each segment; zeros where a number has none.

    Example:
        >>> data, ids = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), [0, 0, 1]
        >>> paddle.geometric.segment_sum(data, paddle.to_tensor(ids)).tolist()
        [[4.0, 6.0], [5.0, 6.0]]
    """
    return apply(ops.segment_pool, data, segment_ids, "SUM")


def segment_mean(data: Any, segment_ids: Any, name: str | None = None) -> Any:
    """The mean of the rows of each segment."""
    return apply(ops.segment_pool, data, segment_ids, "MEAN")


def segment_min(data: Any, segment_ids: Any, name: str | None = None) -> Any:
    """The least value of each column in a segment."""
    return apply(ops.segment_pool, data, segment_ids, "MIN")


def segment_max(data: Any, segment_ids: Any, name: str | None = None) -> Any:
    """The greatest value of each column in a segment."""
    return apply(ops.segment_pool, data, segment_ids, "MAX")
