"""Making tensors."""

from __future__ import annotations

from typing import Any

from argosy.tensor._tensor import Tensor

__all__ = ["to_tensor"]


def to_tensor(data: Any, dtype: Any = None, place: Any = None, stop_gradient: bool = True) -> Tensor:
    """Copy numbers, nested lists, arrays or tensors into a new Tensor.

    Python floats take the default dtype, Python integers int64; arrays keep theirs.
    """
    return Tensor(data, dtype, place, stop_gradient)


TENSOR_METHODS: list[str] = []
