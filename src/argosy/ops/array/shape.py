"""Shapes and axes as ops receive them.

A shape is a list of integers in which any entry may be a tensor with one element, or a tensor as a
whole: a program whose sizes depend on its data records those tensors as inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from argosy.foundation import dtypes
from argosy.foundation.errors import OutOfRange, UsageError


def ints(values: Any) -> list[int]:
    """Plain integers from a shape in any of its forms."""
    if isinstance(values, Tensor):
        return [int(n) for n in values.reshape(-1).tolist()]
    return [n if n.__class__ is int else int(n) for n in values]


def number(value: Any, unknown: Any = None) -> Any:
    """A Python number from a number or a tensor with one element; ``unknown`` stands for the value
    of one that has none yet, while a program is recorded.
    """
    if not isinstance(value, Tensor):
        return value
    return unknown if value.is_meta and unknown is not None else value.item()


def axis_in(axis: int, rank: int, call: str) -> int:
    """``axis`` counted from the front; an error outside [-rank, rank)."""
    if not -rank <= axis < rank:
        raise OutOfRange(
            f"{call}: axis {axis} is outside [{-rank}, {rank}), the axes of a {rank}-D tensor"
        )
    return axis + rank if axis < 0 else axis


def require_equal_dtypes(tensors: Sequence[Tensor], call: str) -> None:
    """Raise unless all of ``tensors`` have the dtype of the first."""
    first = tensors[0].dtype
    for position, tensor in enumerate(tensors):
        if tensor.dtype is not first:
            raise UsageError(
                f"{call}: all inputs must have one dtype, but input 0 is {dtypes.name_of(first)} "
                f"and input {position} is {dtypes.name_of(tensor.dtype)}. "
                "Cast one of them with astype()."
            )
