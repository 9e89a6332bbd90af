"""The nodes of a sample, numbered anew."""

from __future__ import annotations

from typing import Any

from argosy import tensor as T
from argosy.ops.array import messages as ops
from argosy.tensor.engine import apply

__all__: list[str] = []


def reindex_graph(
    x: Any,
    neighbors: Any,
    count: Any,
    value_buffer: Any = None,
    index_buffer: Any = None,
    name: str | None = None,
) -> Any:
    """Number the nodes ``x``, then those of their ``neighbors`` that are not among them.

    ``count`` says how many neighbours each of ``x`` has. Returns source and end of every edge in
    the new numbers, and the node of each number. The buffers only serve GPUs.

    Example:
        >>> x, found = paddle.to_tensor([0, 1]), paddle.to_tensor([8, 1, 0])
        >>> count = paddle.to_tensor([2, 1], dtype="int32")
        >>> [part.tolist() for part in paddle.geometric.reindex_graph(x, found, count)]
        [[2, 1, 0], [0, 0, 1], [0, 1, 8]]
    """
    return tuple(apply(ops.reindex, x, neighbors, count))


def reindex_heter_graph(
    x: Any,
    neighbors: Any,
    count: Any,
    value_buffer: Any = None,
    index_buffer: Any = None,
    name: str | None = None,
) -> Any:
    """As ``reindex_graph`` for edges of several kinds: ``neighbors`` and ``count`` are lists."""
    return reindex_graph(x, _joined(neighbors), _joined(count))


def _joined(parts: Any) -> Any:
    return T.concat(list(parts), axis=0) if isinstance(parts, (list, tuple)) else parts
