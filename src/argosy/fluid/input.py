"""``fluid.input``: lookup and one-hot over ids of any shape."""

from __future__ import annotations

from typing import Any

from argosy import tensor as T
from argosy.fluid.layers._dense import lookup
from argosy.nn import functional as F

__all__ = ["embedding", "one_hot"]


def embedding(
    input: Any,
    size: Any,
    is_sparse: bool = False,
    is_distributed: bool = False,
    padding_idx: int | None = None,
    param_attr: Any = None,
    dtype: Any = "float32",
) -> Any:
    """Rows of a new [rows, width] parameter at the integer ids ``input``; the row ``padding_idx`` reads as zeros.

    ``is_distributed`` changes nothing in one process.
    """
    return lookup(input, size, is_sparse, padding_idx, param_attr, dtype)


def one_hot(input: Any, depth: int, allow_out_of_range: bool = False) -> Any:
    """Ones at the given columns of a new last axis; ids out of range give zeros where ``allow_out_of_range`` permits them."""
    if not allow_out_of_range:
        return F.one_hot(input, depth)
    return T.cast(T.equal(T.unsqueeze(input, [-1]), T.arange(0, depth, 1, input.dtype)), "float32")
