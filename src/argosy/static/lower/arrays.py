"""What the operators on arrays of tensors do in a run: an array is a Python list."""

from __future__ import annotations

from typing import Any

import torch

from argosy.foundation.errors import OutOfRange


def write(array: list[Any], index: torch.Tensor, value: torch.Tensor) -> list[Any]:
    """Put ``value`` at ``index``; what lies between the end and it stays empty."""
    position = int(index)
    if position < 0:
        raise OutOfRange(f"array_write: index {position} of an array of {len(array)} elements")
    array.extend([None] * (position - len(array)))
    array[position : position + 1] = [value]
    return array


def read(array: list[Any], index: torch.Tensor) -> torch.Tensor:
    position = int(index)
    if not 0 <= position < len(array):
        raise OutOfRange(f"array_read: index {position} of an array of {len(array)} elements")
    if array[position] is None:
        raise OutOfRange(f"array_read: nothing was written at index {position} of the array")
    return array[position]  # type: ignore[no-any-return]


def length(array: list[Any]) -> torch.Tensor:
    return torch.tensor([len(array)])
