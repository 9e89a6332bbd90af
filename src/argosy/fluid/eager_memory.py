"""What scripts ask Paddle's core about the memory of Tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.tensor.creation import to_tensor
from argosy.tensor.engine import Tensor

__all__ = ["assign_group_by_size", "to_uva_tensor"]


def assign_group_by_size(
    tensors: Sequence[Tensor], is_sparse: Sequence[bool], group_sizes: Sequence[int]
) -> list[list[int]]:
    """Put neighbouring tensors of one dtype into groups of about so many bytes, and those with
    row-sparse gradients each into one of its own; returns their indices.

    The first group of a dtype is closed when it has ``group_sizes[0]`` bytes or more, the next at
    ``group_sizes[1]``, and so on; the last size goes for all further ones.
    """
    groups: list[list[int]] = []
    waiting: dict[Any, tuple[list[int], int, int]] = {}  # members, their bytes, groups before
    for index, tensor in enumerate(tensors):
        if is_sparse[index]:
            groups.append([index])
            continue
        members, size, num_before = waiting.pop(tensor.dtype, ([], 0, 0))
        members.append(index)
        size += tensor.raw.numel() * tensor.raw.element_size()
        if size >= group_sizes[min(num_before, len(group_sizes) - 1)]:
            groups.append(members)
            members, size, num_before = [], 0, num_before + 1
        waiting[tensor.dtype] = (members, size, num_before)
    groups += [members for members, _, _ in waiting.values() if members]
    return sorted(groups, key=lambda members: members[0])


def to_uva_tensor(array: Any, device_id: int = 0) -> Tensor:
    """A Tensor in the memory of the host, which kernels of GPU ``device_id`` would read from there;
    nothing computes on a GPU with it here.
    """
    return to_tensor(array, place="cpu")
