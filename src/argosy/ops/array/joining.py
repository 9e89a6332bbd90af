"""Putting tensors together and taking them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from argosy.foundation.errors import UsageError
from argosy.ops import composition, rearrangement
from argosy.ops.array.shape import axis_in, ints, require_equal_dtypes
from argosy.ops.table import define, op
from argosy.ops.traits import Precision, Rows

# torch's stub describes only the form with out=
_split_copy: Any = torch.split_with_sizes_copy


def _require_equal_ranks(tensors: Sequence[Tensor], call: str) -> None:
    # torch skips a 1-D tensor without elements here
    rank = tensors[0].ndim
    for position, tensor in enumerate(tensors):
        if tensor.ndim != rank:
            raise UsageError(
                f"{call}: all inputs must have the same rank, but input 0 has shape "
                f"{list(tensors[0].shape)} "
                f"and input {position} has shape {list(tensor.shape)}"
            )


@op("concat", precision=Precision.GRAY, types=("concat(X, axis/AxisTensor)",))
def concat(x: list[Tensor], axis: int = 0) -> Tensor:
    require_equal_dtypes(x, "concat")
    _require_equal_ranks(x, "concat")
    return torch.cat(x, axis)


@op("stack", precision=Precision.GRAY, types=("stack(X, axis) -> Y",))
def stack(x: list[Tensor], axis: int = 0) -> Tensor:
    require_equal_dtypes(x, "stack")
    return torch.stack(x, axis)


hstack = define("hstack", torch.hstack, ("x",))
vstack = define("vstack", torch.vstack, ("x",))
dstack = define("dstack", torch.dstack, ("x",))
column_stack = define("column_stack", torch.column_stack, ("x",))


@op("block_diag")
def block_diag(inputs: list[Tensor]) -> Tensor:
    require_equal_dtypes(inputs, "block_diag")
    return torch.block_diag(*inputs)  # type: ignore[no-untyped-call]


@op(
    "split",
    precision=Precision.GRAY,
    types=("split(X, num:sections, axis/AxisTensor) -> Out*",),
    file_parts=rearrangement.from_front("split"),
)
def split(x: Tensor, num_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Equal parts for a number, parts of the given sizes for a list, in which one -1 takes the
    rest.
    """
    axis = axis_in(axis, x.ndim, "split")
    extent = x.shape[axis]
    if isinstance(num_or_sections, int):
        if num_or_sections <= 0 or extent % num_or_sections:
            raise UsageError(
                f"split: axis {axis} of extent {extent} cannot be divided into {num_or_sections} "
                "equal parts"
            )
        return list(_split_copy(x, [extent // num_or_sections] * num_or_sections, axis))
    sections = ints(num_or_sections)
    if sections.count(-1) == 1:
        sections[sections.index(-1)] = extent - sum(sections) - 1
    if sum(sections) != extent or min(sections, default=0) < 0:
        raise UsageError(
            f"split: sections {ints(num_or_sections)} must add up to {extent}, the extent of "
            f"axis {axis}; "
            "at most one of them may be -1"
        )
    return list(_split_copy(x, sections, axis))


@op("tensor_split")
def tensor_split(x: Tensor, num_or_indices: Any, axis: int = 0) -> list[Tensor]:
    """Parts that may differ by one for a number; cuts at the given positions for a list."""
    where = num_or_indices if isinstance(num_or_indices, int) else ints(num_or_indices)
    return _copies(torch.tensor_split(x, where, dim=axis))


def _copies(parts: Sequence[Tensor]) -> list[Tensor]:
    return [part.clone(memory_format=torch.contiguous_format) for part in parts]


@op("unbind", types=("unbind(X, axis) -> Out*",))
def unbind(x: Tensor, axis: int = 0) -> list[Tensor]:
    return list(x.unbind(axis_in(axis, x.ndim, "unbind")))


@op(
    "unstack",
    precision=Precision.GRAY,
    types=("unstack(X, axis, num) -> Y*",),
    file_parts=rearrangement.unstack,
)
def unstack(x: Tensor, axis: int = 0, num: int | None = None) -> list[Tensor]:
    axis = axis_in(axis, x.ndim, "unstack")
    if num is not None and num != x.shape[axis]:
        raise UsageError(f"unstack: num is {num}, but axis {axis} has extent {x.shape[axis]}")
    return _copies(x.unbind(axis))


@op("broadcast_tensors", types=("broadcast_tensors(X) -> Out*",))
def broadcast_tensors(inputs: list[Tensor]) -> list[Tensor]:
    require_equal_dtypes(inputs, "broadcast_tensors")
    shape = torch.broadcast_shapes(*[t.shape for t in inputs])  # type: ignore[no-untyped-call]
    return _copies([t.expand(shape) for t in inputs])


@op(
    "repeat_interleave",
    types=("repeat_interleave(X, @Repeats/RepeatsTensor, dim, -)",),
    rows=Rows.OTHER,
    file_parts=composition.along_flat("repeat_interleave"),
)
def repeat_interleave(
    x: Tensor, repeats: Any, axis: int | None = None, output_size: int | None = None
) -> Tensor:
    """Repeat each element (or slice of ``axis``) ``repeats`` times: one number for all, or a tensor
    with one for each.
    """
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis = axis_in(axis, x.ndim, "repeat_interleave")
    if isinstance(repeats, Tensor):
        if repeats.ndim != 1 or repeats.shape[0] != x.shape[axis]:
            raise UsageError(
                f"repeat_interleave: repeats has shape {list(repeats.shape)}, "
                f"but needs one entry for each of the {x.shape[axis]} slices of axis {axis}"
            )
    elif repeats <= 0:
        raise UsageError(f"repeat_interleave: repeats must be positive, but is {repeats}")
    return torch.repeat_interleave(x, repeats, axis, output_size=output_size)


@op("combinations")
def combinations(x: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    if x.ndim != 1:
        raise UsageError(f"combinations: x must be 1-D, but its shape is {list(x.shape)}")
    return torch.combinations(x, r, with_replacement)


@op("cartesian_prod")
def cartesian_prod(inputs: list[Tensor]) -> Tensor:
    return torch.cartesian_prod(*inputs)


@op(
    "unique",
    types=(
        "unique(X, axis:maybe, dtype:dtype, return_index~True, return_inverse~True, "
        "return_counts~True, is_sorted=True) -> Out, Indices, Index, Counts",
    ),
    rows=Rows.OTHER,
)
def unique(
    x: Tensor, axis: int | None, index_dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sorted distinct values (slices of ``axis``), where each first occurs, the inverse mapping and
    the counts; all without a gradient.
    """
    values, inverse, counts = torch.unique(
        x.detach(), sorted=True, return_inverse=True, return_counts=True, dim=axis
    )
    flat = inverse.reshape(-1)
    positions = torch.arange(flat.numel(), device=x.device)
    first = torch.full_like(counts, flat.numel()).scatter_reduce(0, flat, positions, "amin")
    return values, first.to(index_dtype), flat.to(index_dtype), counts.to(index_dtype)


@op(
    "unique_in_order",
    rows=Rows.OTHER,
    types=("unique_with_counts(X, dtype:dtype) -> Out, Index, Count",),
)
def unique_in_order(x: Tensor, index_dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """Distinct values in the order of their first occurrence, where each element is among them, and
    how often each occurs.
    """
    values, first, inverse, counts = unique(x, None, index_dtype)
    order = torch.argsort(first, stable=True)
    places = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device=x.device))
    return values[order], places[inverse.long()].to(index_dtype), counts[order]


@op(
    "unique_consecutive",
    types=(
        "unique_consecutive(X, axis:maybe, dtype:dtype, return_inverse~True, "
        "return_counts~True) -> Out, Index, Counts",
    ),
    rows=Rows.OTHER,
)
def unique_consecutive(
    x: Tensor, axis: int | None, index_dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor]:
    """Values without repetitions of the one before, the inverse mapping and the counts; all without
    a gradient.
    """
    values, inverse, counts = torch.unique_consecutive(
        x.detach(), return_inverse=True, return_counts=True, dim=axis
    )
    return values, inverse.reshape(-1).to(index_dtype), counts.to(index_dtype)
