"""Functions that put tensors together and take them apart; ``manipulation`` exports them."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.foundation.dtypes import to_torch
from argosy.foundation.errors import DtypeError, UsageError
from argosy.ops.array import joining as ops
from argosy.ops.array import manipulation as layout_ops
from argosy.ops.table import Op
from argosy.tensor._core.arguments import store
from argosy.tensor._core.face import _dress
from argosy.tensor._core.tensor import Tensor, apply
from argosy.tensor._shapes import int_attr, shape_attr

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shape", "broadcast_shapes",
    "broadcast_tensors",
    "cartesian_prod", "cat", "chunk", "column_stack", "combinations", "concat", "concatenate",
    "dsplit", "dstack", "hsplit",
    "hstack", "repeat_interleave", "row_stack", "split", "stack", "tensor_split", "unbind",
    "unique", "unique_consecutive",
    "unstack", "vsplit", "vstack",
]  # fmt: skip


def _tensor_list(x: Any, call: str) -> list[Any]:
    """``x`` as a list of Tensors."""
    if isinstance(x, Tensor) or not isinstance(x, (list, tuple)):
        raise UsageError(
            f"{call}: argument 'x' must be a list of Tensors, but received {type(x).__name__}"
        )
    if not x:
        raise UsageError(
            f"{call}: argument 'x' must be a list of Tensors, but received an empty one"
        )
    for position, item in enumerate(x):
        if not isinstance(item, Tensor):
            raise DtypeError(
                f"{call}: item {position} of 'x' must be a Tensor, but is {type(item).__name__}"
            )
    return list(x)


def concat(x: Any, axis: Any = 0, name: str | None = None, *, out: Any = None) -> Any:
    """Put tensors one after the other along an axis that they all have.

    Example:
        >>> import paddle
        >>> paddle.concat([paddle.zeros([1, 2]), paddle.ones([1, 2])]).tolist()
        [[0.0, 0.0], [1.0, 1.0]]
    """
    result = apply(
        ops.concat,
        _tensor_list(x, "concat"),
        axis if type(axis) is int else int_attr(axis, "concat"),
    )
    return result if out is None else store(out, result, "concat")


concatenate = cat = concat


def stack(x: Any, axis: int = 0, name: str | None = None, *, out: Any = None) -> Any:
    """Put tensors of one shape side by side along a new axis."""
    return store(out, apply(ops.stack, _tensor_list(x, "stack"), int_attr(axis, "stack")), "stack")


def _stacking(op: Op, doc: str, name: str | None = None) -> Any:
    call = name or op.name

    def face(x: Any, name: str | None = None) -> Any:
        return apply(op, _tensor_list(x, call))

    return _dress(face, call, doc)


hstack = _stacking(
    ops.hstack, "Put tensors side by side: along the second axis, vectors along the first."
)
vstack = _stacking(ops.vstack, "Put tensors below each other, vectors as rows.")
dstack = _stacking(ops.dstack, "Put tensors behind each other along the third axis.")
row_stack = _stacking(ops.vstack, "Put tensors below each other, vectors as rows.", "row_stack")
column_stack = _stacking(ops.column_stack, "Put tensors side by side, vectors as columns.")


def block_diag(inputs: Any, name: str | None = None) -> Any:
    """Put matrices on the diagonal of a matrix of zeros; vectors count as rows."""
    return apply(ops.block_diag, _tensor_list(inputs, "block_diag"))


def split(x: Any, num_or_sections: Any, axis: Any = 0, name: str | None = None) -> Any:
    """Cut one axis into equal parts (a number) or parts of given sizes (a list, in which one may be
    -1).
    """
    parts = (
        num_or_sections if type(num_or_sections) is int else shape_attr(num_or_sections, "split")
    )
    return apply(ops.split, x, parts, int_attr(axis, "split"))


def chunk(x: Any, chunks: int, axis: Any = 0, name: str | None = None) -> Any:
    """Cut one axis into ``chunks`` equal parts."""
    along = int_attr(axis, "chunk")
    if not 0 < chunks <= x.shape[along]:
        raise UsageError(
            f"chunk: chunks is {chunks}, but must be between 1 and {x.shape[along]}, the extent "
            f"of axis {along}"
        )
    return apply(ops.split, x, chunks, along)


def tensor_split(x: Any, num_or_indices: Any, axis: Any = 0, name: str | None = None) -> Any:
    """Cut one axis into parts that may differ by one in size (a number), or at given positions (a
    list).
    """
    where = (
        num_or_indices
        if type(num_or_indices) is int
        else shape_attr(num_or_indices, "tensor_split")
    )
    if where == 0 or x.ndim == 0:
        raise UsageError(
            f"tensor_split: cannot cut a tensor of shape {x.shape} into {num_or_indices} parts"
        )
    return apply(ops.tensor_split, x, where, int_attr(axis, "tensor_split"))


def _splitting(call: str, least_rank: int, axis: int, doc: str) -> Any:
    def face(x: Any, num_or_indices: Any, name: str | None = None) -> Any:
        if x.ndim < least_rank:
            raise UsageError(
                f"{call}: x must have at least {least_rank} dimensions, but its shape is {x.shape}"
            )
        return tensor_split(x, num_or_indices, axis if x.ndim > axis else 0)

    return _dress(face, call, doc)


hsplit = _splitting("hsplit", 1, 1, "Cut the second axis (the only one of a vector) into parts.")
vsplit = _splitting("vsplit", 2, 0, "Cut the first axis into parts.")
dsplit = _splitting("dsplit", 3, 2, "Cut the third axis into parts.")


def unbind(input: Any, axis: int = 0) -> Any:
    """Take an axis apart into a list of slices, on the same memory."""
    return apply(ops.unbind, input, axis)


def unstack(x: Any, axis: int = 0, num: int | None = None) -> Any:
    """Take an axis apart into a list of copies of its slices."""
    return apply(ops.unstack, x, axis, num)


def broadcast_tensors(input: Any, name: str | None = None) -> Any:
    """Expand tensors to the shape that they broadcast to."""
    return apply(ops.broadcast_tensors, _tensor_list(input, "broadcast_tensors"))


def broadcast_shape(x_shape: Any, y_shape: Any) -> list[int]:
    """The shape that two shapes broadcast to."""
    return broadcast_shapes(x_shape, y_shape)


def broadcast_shapes(*shapes: Any) -> list[int]:
    """The shape that several shapes broadcast to."""
    try:
        return list(np.broadcast_shapes(*[tuple(s) for s in shapes]))
    except ValueError as error:
        raise UsageError(
            f"broadcast_shapes: {[list(s) for s in shapes]} do not broadcast to one shape"
        ) from error


def repeat_interleave(
    x: Any,
    repeats: Any,
    axis: int | None = None,
    name: str | None = None,
    *,
    output_size: int | None = None,
) -> Any:
    """Repeat each element, or each slice of an axis, in place: ``repeats`` times, or as often as
    its entries say.
    """
    count = repeats if isinstance(repeats, Tensor) else int_attr(repeats, "repeat_interleave")
    return apply(ops.repeat_interleave, x, count, axis, output_size)


def combinations(
    x: Any, r: int = 2, with_replacement: bool = False, name: str | None = None
) -> Any:
    """All ways to choose ``r`` elements of a vector, one per row."""
    return apply(ops.combinations, x, r, with_replacement)


def cartesian_prod(x: Any, name: str | None = None) -> Any:
    """All ways to choose one element from each vector, one per row."""
    return apply(ops.cartesian_prod, _tensor_list(x, "cartesian_prod"))


def unique(
    x: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    dtype: Any = "int64",
    sorted: bool = True,
    name: str | None = None,
) -> Any:
    """Distinct elements, or slices of an axis, in ascending order.

    On request also where each first occurs, which of them each element of ``x`` is, and how often
    each occurs.

    Example:
        >>> import paddle
        >>> values, counts = paddle.unique(paddle.to_tensor([3, 1, 3]), return_counts=True)
        >>> values.tolist(), counts.tolist()
        ([1, 3], [1, 2])
    """
    values, index, inverse, counts = apply(ops.unique, x, axis, to_torch(dtype))
    return _chosen(
        values, (index, return_index), (inverse, return_inverse), (counts, return_counts)
    )


def unique_consecutive(
    x: Any,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    dtype: Any = "int64",
    name: str | None = None,
) -> Any:
    """Elements, or slices of an axis, without those that equal the one before."""
    values, inverse, counts = apply(ops.unique_consecutive, x, axis, to_torch(dtype))
    return _chosen(values, (inverse, return_inverse), (counts, return_counts))


def _chosen(values: Any, *extras: tuple[Any, bool]) -> Any:
    chosen = [extra for extra, is_wanted in extras if is_wanted]
    return (values, *chosen) if chosen else values


def _at_least(rank: int, places: dict[int, list[int]]) -> Any:
    """``atleast_<rank>d``: ``places`` tells where to insert axes for each smaller rank."""
    call = f"atleast_{rank}d"

    def face(*inputs: Any, name: str | None = None) -> Any:
        results = []
        for item in inputs:
            x = item if isinstance(item, Tensor) else Tensor(item)
            results.append(apply(layout_ops.unsqueeze, x, places[x.ndim]) if x.ndim < rank else x)
        return results[0] if len(results) == 1 else results

    return _dress(face, call, f"Bring each input to at least {rank} dimensions.")


atleast_1d = _at_least(1, {0: [0]})
atleast_2d = _at_least(2, {0: [0, 0], 1: [0]})
atleast_3d = _at_least(3, {0: [0, 0, 0], 1: [0, 2], 2: [2]})
