"""Shapes, order, joining, splitting, indexing."""

# ruff: noqa: F401, F403  (a face of the modules it imports)

from __future__ import annotations

from typing import Any

from argosy.tensor import _gathering, _joining, _layout
from argosy.tensor._core.indexing import get_item as __getitem__
from argosy.tensor._core.indexing import set_item as __setitem__
from argosy.tensor._core.tensor import Tensor
from argosy.tensor._gathering import *
from argosy.tensor._gathering import (
    fill_,
    fill_diagonal_,
    fill_diagonal_tensor,
    fill_diagonal_tensor_,
    put_along_axis_,
    zero_,
)
from argosy.tensor._joining import *
from argosy.tensor._layout import *
from argosy.tensor._layout import T, mT

__all__ = [*_layout.__all__, *_joining.__all__, *_gathering.__all__, "tolist"]


def tolist(x: Tensor) -> Any:
    """The elements as nested Python lists."""
    return x.tolist()


_FUNCTIONS_ONLY = {
    "broadcast_shapes",
    "cartesian_prod",
    "cat",
    "column_stack",
    "concatenate",
    "crop",
    "dstack",
    "hstack",
    "row_stack",
    "tolist",
    "vstack",
}

TENSOR_METHODS = [name for name in __all__ if name not in _FUNCTIONS_ONLY] + [
    "T", "__getitem__", "__setitem__", "fill_", "fill_diagonal_", "fill_diagonal_tensor",
    "fill_diagonal_tensor_", "mT",
    "put_along_axis_", "zero_",
]  # fmt: skip
