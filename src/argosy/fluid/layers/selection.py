"""Ids drawn by probability, and distinct ids with how often each occurs."""

from __future__ import annotations

from typing import Any

from argosy.fluid.table import name_results
from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, UsageError
from argosy.ops.array import joining as joining_ops
from argosy.ops.array import sampling as sampling_ops
from argosy.tensor.engine import Tensor, apply


def sampling_id(
    x: Any, min: float = 0.0, max: float = 1.0, seed: int = 0, dtype: Any = "float32"
) -> Any:
    """For each row of ``x``, probabilities, an index drawn by them; a ``seed`` other than 0 draws
    the same in each run.

    Indices are int64: as in Paddle, whatever ``dtype`` says.
    """
    _require_tensor("sampling_id", x)
    return apply(sampling_ops.sampling_id, x, float(min), float(max), int(seed or 0))


def unique_with_counts(x: Any, dtype: Any = "int32") -> tuple[Any, Any, Any]:
    """The distinct elements of a vector in the order in which they first occur, the place among
    them of each element, and how often each occurs; the last two of ``dtype``.
    """
    _require_tensor("unique_with_counts", x)
    if x.ndim != 1:
        raise UsageError(
            f"unique_with_counts: x must have one dimension, but its shape is {list(x.shape)}"
        )
    index = dtypes.to_torch(dtype)
    if dtypes.name_of(index) not in ("int32", "int64"):
        raise DtypeError(f"unique_with_counts: dtype must be int32 or int64, but is {dtype!r}")
    values, places, counts = apply(joining_ops.unique_in_order, x, index)
    return values, places, counts


def unique(x: Any, dtype: Any = "int32") -> tuple[Any, Any]:
    """``unique_with_counts`` without the counts."""
    values, places, _ = unique_with_counts(x, dtype)
    return values, places


def _require_tensor(call: str, x: Any) -> None:
    if not isinstance(x, Tensor):
        raise DtypeError(f"{call}: x must be a Variable, but received {type(x).__name__}")


name_results(globals(), "unique unique_with_counts")
