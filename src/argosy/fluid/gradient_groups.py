"""``core.eager_assign_group_by_size``: which gradients Paddle's reducer sends together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.foundation.errors import UsageError


def eager_assign_group_by_size(
    tensors: Sequence[Any],
    is_sparse_gradient: Sequence[bool],
    group_size_limits: Sequence[int],
    tensor_indices: Sequence[int] = (),
) -> list[list[int]]:
    """Group tensors, by their indices, of one dtype until a group reaches a limit, in bytes.

    Of each dtype the first group ends at the first limit, and so on; the last limit holds for all
    that follow. A row-sparse one is alone. Without ``tensor_indices`` the groups come in the order
    of their first members.

    Example:
        >>> tensors = [paddle.ones([50]), paddle.ones([50], "float64"), paddle.ones([50])]
        >>> paddle.base.core.eager_assign_group_by_size(tensors, [False] * 3, [400])
        [[0, 2], [1]]
    """
    if len(tensors) != len(is_sparse_gradient):
        raise UsageError(
            f"eager_assign_group_by_size: there are {len(tensors)} tensors, but "
            f"is_sparse_gradient has {len(is_sparse_gradient)} entries"
        )
    order = list(tensor_indices) or list(range(len(tensors)))
    if sorted(order) != list(range(len(order))):
        raise UsageError(
            f"eager_assign_group_by_size: tensor_indices must be a permutation, but is {order}"
        )
    groups: list[list[int]] = []
    filling: dict[str, list[int]] = {}
    num_bytes: dict[str, int] = {}
    num_closed: dict[str, int] = {}
    for tensor, index in zip(tensors, order, strict=True):
        if is_sparse_gradient[index]:
            groups.append([index])
            continue
        kind = tensor.dtype.name
        filling.setdefault(kind, []).append(index)
        num_bytes[kind] = num_bytes.get(kind, 0) + tensor.size * tensor.itemsize
        closed = num_closed.get(kind, 0)
        if num_bytes[kind] >= group_size_limits[min(closed, len(group_size_limits) - 1)]:
            groups.append(filling.pop(kind))
            num_bytes[kind], num_closed[kind] = 0, closed + 1
    groups += filling.values()
    return groups if tensor_indices else sorted(groups, key=lambda group: group[0])
