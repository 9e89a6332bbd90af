"""Positions, order and choice of elements."""

from __future__ import annotations

from typing import Any

import torch

from argosy.foundation.dtypes import to_torch
from argosy.foundation.errors import NotSupported, UsageError
from argosy.ops.array import sampling
from argosy.ops.array import search as ops
from argosy.ops.table import Op
from argosy.tensor._core.arguments import axes, store
from argosy.tensor._core.face import _dress
from argosy.tensor._core.inplace import replace
from argosy.tensor._core.tensor import Tensor, apply
from argosy.tensor.creation import full
from argosy.tensor.manipulation import unbind

__all__ = [
    "argmax", "argmin", "argsort", "argwhere", "bucketize", "kthvalue", "masked_select", "mode",
    "msort", "nonzero",
    "searchsorted", "sort", "topk", "where", "where_",
]  # fmt: skip


def _arg_extreme(op: Op, doc: str) -> Any:
    def face(
        x: Any,
        axis: Any = None,
        keepdim: bool = False,
        dtype: Any = "int64",
        name: str | None = None,
    ) -> Any:
        wanted = torch.int64 if dtype == "int64" else to_torch(dtype)
        if wanted not in (torch.int32, torch.int64):
            raise UsageError(f"{op.name}: dtype must be int32 or int64, but received {dtype}")
        along = axes(axis, op.name)
        if isinstance(axis, Tensor) and along.__class__ is list:
            [along] = along  # of shape [1]
        return apply(op, x, along, keepdim, wanted)

    return _dress(face, op.name, doc)


argmax = _arg_extreme(
    ops.argmax, "Index of the largest element along an axis, or in the flattened tensor."
)
argmin = _arg_extreme(
    ops.argmin, "Index of the smallest element along an axis, or in the flattened tensor."
)


def argsort(
    x: Any, axis: int = -1, descending: bool = False, stable: bool = False, name: str | None = None
) -> Any:
    """Indices that sort ``x`` along an axis; equal elements keep their order."""
    return apply(ops.argsort, x, axis, descending)


def sort(
    x: Any, axis: int = -1, descending: bool = False, stable: bool = False, name: str | None = None
) -> Any:
    """Sort along an axis."""
    return apply(ops.sort, x, axis, descending)


def msort(input: Any, *, out: Any = None) -> Any:
    """Sort along the first axis."""
    return store(out, apply(ops.sort, input, 0, False), "msort")


def topk(
    x: Any,
    k: Any,
    axis: int | None = None,
    largest: bool = True,
    sorted: bool = True,
    name: str | None = None,
    *,
    out: Any = None,
) -> Any:
    """The ``k`` largest (or smallest) elements along an axis, the last by default, and their
    indices.

    Example:
        >>> import paddle
        >>> values, indices = paddle.topk(paddle.to_tensor([3.0, 1.0, 2.0]), 2)
        >>> values.tolist(), indices.tolist()
        ([3.0, 2.0], [0, 2])
    """
    return store(out, apply(ops.topk, x, k, -1 if axis is None else axis, largest, sorted), "topk")


def kthvalue(
    x: Any, k: int, axis: int | None = None, keepdim: bool = False, name: str | None = None
) -> Any:
    """The ``k``-th smallest element along an axis, the last by default, and its index."""
    return apply(ops.kthvalue, x, k, -1 if axis is None else axis, keepdim)


def mode(x: Any, axis: int = -1, keepdim: bool = False, name: str | None = None) -> Any:
    """The most frequent element along an axis (the smallest of several) and its last index."""
    return apply(ops.mode, x, axis, keepdim)


def nonzero(x: Any, as_tuple: bool = False, *, out: Any = None) -> Any:
    """Positions of the elements that are not zero: one row each, or with ``as_tuple`` one vector
    per axis.
    """
    rows = store(out, apply(ops.nonzero, x), "nonzero")
    return tuple(unbind(rows, 1)) if as_tuple else rows


def argwhere(input: Any) -> Any:
    """Positions of the elements that are not zero, one row each."""
    return apply(ops.nonzero, input)


def where(
    condition: Any, x: Any = None, y: Any = None, name: str | None = None, *, out: Any = None
) -> Any:
    """Take ``x`` where the condition holds and ``y`` elsewhere; with the condition alone, its
    positions per axis.

    Python numbers become int64 or the default dtype; mixing integers with floats is an error.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([-1.0, 2.0])
        >>> paddle.where(x > 0, x, 0.0).tolist()
        [0.0, 2.0]
    """
    if x is None and y is None:
        return nonzero(condition, as_tuple=True)
    if x is None or y is None:
        raise UsageError("where: either both or neither of x and y should be given")
    return store(out, apply(ops.where, condition, _operand(x), _operand(y)), "where")


def _operand(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value
    return full(
        [], value, torch.int64 if isinstance(value, int) and not isinstance(value, bool) else None
    )


def where_(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """In-place form of ``where``: overwrites ``x`` and returns it."""
    return replace(x, where(condition, x, y), "where_")


def masked_select(x: Any, mask: Any, name: str | None = None, *, out: Any = None) -> Any:
    """The elements where the mask is true, as a vector."""
    return store(out, apply(ops.masked_select, x, mask), "masked_select")


def searchsorted(
    sorted_sequence: Any,
    values: Any,
    out_int32: bool = False,
    right: bool = False,
    name: str | None = None,
    *,
    side: str | None = None,
    out: Any = None,
    sorter: Any = None,
) -> Any:
    """Where each value belongs in an ascending sequence: before equal elements, or after them with
    ``right``.
    """
    if sorter is not None:
        raise NotSupported(
            "searchsorted: argument sorter is not supported; sort the sequence first"
        )
    if side not in (None, "left", "right"):
        raise UsageError(f"searchsorted: side must be 'left' or 'right', but received {side!r}")
    if not isinstance(values, Tensor):
        raise UsageError(
            "searchsorted: argument 'values' must be a Tensor, but received "
            f"{type(values).__name__}"
        )
    is_right = right or side == "right"
    return store(
        out, apply(ops.searchsorted, sorted_sequence, values, out_int32, is_right), "searchsorted"
    )


def bucketize(
    x: Any,
    sorted_sequence: Any,
    out_int32: bool = False,
    right: bool = False,
    name: str | None = None,
    *,
    out: Any = None,
) -> Any:
    """The bucket of each element among ascending boundaries."""
    if sorted_sequence.ndim != 1:
        raise UsageError(
            f"bucketize: sorted_sequence must be 1-D, but its shape is {sorted_sequence.shape}"
        )
    return searchsorted(sorted_sequence, x, out_int32, right, out=out)


def top_p_sampling(
    x: Any,
    ps: Any,
    threshold: Any = None,
    topp_seed: Any = None,
    seed: int = -1,
    k: int = 0,
    mode: str = "truncated",
    return_top: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Draw one of the likeliest columns of each row of probabilities ``x``, so many that they reach
    ``ps`` [rows] together; returns its probability and its number, [rows, 1] each.

    ``threshold`` leaves out what is less likely than that. ``topp_seed``, one for each row, or
    ``seed`` make the draw repeatable.
    """
    if mode != "truncated" or return_top or k:
        raise NotSupported(
            f"top_p_sampling: mode={mode!r}, k={k}, return_top={return_top}: only draws of mode "
            "'truncated' are supported, without a list of the top columns"
        )
    value, column = apply(sampling.top_p_sampling, x, ps, threshold, topp_seed, seed)
    return value, column


TENSOR_METHODS = [name for name in __all__ if name != "searchsorted"]
