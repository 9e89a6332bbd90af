"""Messages along the edges of a graph, and what becomes of those that reach one node.

Edge e goes from node ``src[e]`` to node ``dst[e]``.
"""

from __future__ import annotations

import torch
from torch import Tensor

from argosy.foundation.errors import UsageError
from argosy.ops.table import op
from argosy.ops.traits import Rows


@op("segment_pool", types=("segment_pool(X, SegmentIds, pooltype:upper)",), rows=Rows.OTHER)
def segment_pool(x: Tensor, segment_ids: Tensor, pooltype: str) -> Tensor:
    """Row i combines the rows of ``x`` whose id is i; ids ascend."""
    if x.shape[0] != segment_ids.shape[0]:
        raise UsageError(
            f"segment_pool: {segment_ids.shape[0]} ids do not name the segments of {x.shape[0]} "
            "rows; expected one id for each row"
        )
    if segment_ids.numel() == 0:
        raise UsageError("segment_pool: segment_ids is empty; expected an id for each row")
    if bool((segment_ids[1:] < segment_ids[:-1]).any()):
        raise UsageError(
            "(InvalidArgument) segment_pool: the segment ids must ascend; sort them, and the rows "
            "with them"
        )
    return _combined(x, segment_ids.long(), int(segment_ids[-1]) + 1, pooltype)


@op(
    "graph_send_recv",
    types=(
        "graph_send_recv(X, Src_index, Dst_index, reduce_op, "
        "out_size/Out_size:single) -> Out, Dst_count",
    ),
    rows=Rows.OTHER,
)
def send_u_recv(
    x: Tensor, src: Tensor, dst: Tensor, reduce_op: str, out_size: int | Tensor
) -> Tensor:
    """Every node combines the rows of the nodes from which edges come."""
    return _combined(x[_index(src)], _index(dst), _size(x, out_size), reduce_op)


@op(
    "graph_send_ue_recv",
    types=(
        "graph_send_ue_recv(X, Y, Src_index, Dst_index, message_op, reduce_op, "
        "out_size/Out_size:single) -> Out, Dst_count",
    ),
    rows=Rows.OTHER,
)
def send_ue_recv(
    x: Tensor,
    y: Tensor,
    src: Tensor,
    dst: Tensor,
    message_op: str,
    reduce_op: str,
    out_size: int | Tensor,
) -> Tensor:
    """As ``send_u_recv``; the edge's row of ``y`` is added to the node's, or multiplied with it."""
    messages = _joined(x[_index(src)], y, message_op)
    return _combined(messages, _index(dst), _size(x, out_size), reduce_op)


@op(
    "graph_send_uv",
    types=("graph_send_uv(/x, /y, /src_index, /dst_index, message_op) -> out",),
    rows=Rows.OTHER,
)
def send_uv(x: Tensor, y: Tensor, src: Tensor, dst: Tensor, message_op: str) -> Tensor:
    """A row for every edge: that of its source in ``x`` with that of its end in ``y``."""
    return _joined(x[_index(src)], y[_index(dst)], message_op)


@op("graph_reindex", rows=Rows.OTHER)
def reindex(x: Tensor, neighbors: Tensor, count: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Number nodes anew: ``x`` first, then other neighbours as they come.

    ``count`` says how many neighbours each of ``x`` has, again from the first for every kind of
    edges. Returns source and end of the edges in the new numbers, and the node of each number.
    """
    given = x.flatten()
    nodes = torch.cat([given, neighbors.flatten()])
    found, inverse = torch.unique(nodes, return_inverse=True)
    first = torch.full((found.numel(),), nodes.numel(), dtype=torch.int64)
    first.scatter_reduce_(0, inverse, torch.arange(nodes.numel()), "amin")
    order = torch.argsort(first)
    number = torch.empty_like(order)
    number[order] = torch.arange(order.numel())
    ends = torch.arange(count.numel()) % max(given.numel(), 1)
    return (
        number[inverse[given.numel() :]].to(x.dtype),
        ends.repeat_interleave(count.flatten().long()).to(x.dtype),
        found[order],
    )


def _index(index: Tensor) -> Tensor:
    return index.flatten().long()


def _size(x: Tensor, out_size: int | Tensor) -> int:
    size = int(out_size)
    return size if size > 0 else x.shape[0]


def _joined(node: Tensor, other: Tensor, message_op: str) -> Tensor:
    return node + other if message_op == "ADD" else node * other


def _combined(rows: Tensor, owners: Tensor, size: int, how: str) -> Tensor:
    """Combine the rows of each owner; one without rows has zeros."""
    shape = (size, *rows.shape[1:])
    if how == "SUM":
        return rows.new_zeros(shape).index_add(0, owners, rows)
    if how == "MEAN":
        total = rows.new_zeros(shape).index_add(0, owners, rows)
        ones = torch.ones(owners.shape, dtype=rows.dtype, device=rows.device)
        count = rows.new_zeros(size).index_add(0, owners, ones).clamp(min=1)
        count = count.reshape(-1, *[1] * (rows.ndim - 1))
        return torch.div(total, count, rounding_mode=None if total.is_floating_point() else "trunc")
    most = (
        rows.detach()
        .new_zeros(shape)
        .index_reduce(
            0, owners, rows.detach(), "amax" if how == "MAX" else "amin", include_self=False
        )
    )
    if not rows.requires_grad:
        return most
    # Every row that has the extreme value gets the whole gradient, where torch would divide it.
    reached = (rows == most[owners]) * (rows - rows.detach())
    return most.index_add(0, owners, reached)
