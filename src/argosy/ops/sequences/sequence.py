"""Ops on sequences of different lengths that lie one after the other in the rows of a tensor.

``offsets`` (int64, one more than there are sequences) says where each sequence starts: sequence i
is ``x[offsets[i]:offsets[i + 1]]``, which may be empty. Nothing here loops over sequences. Where
the number of rows of a result depends on values, a result on the meta device has as many rows as
there are sequences: any number would do.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from argosy.foundation.errors import OutOfRange, UsageError
from argosy.ops.table import op
from argosy.ops.traits import Rows

POOL_TYPES = ("average", "sum", "sqrt", "max", "last", "first")


def lengths_of(offsets: Tensor) -> Tensor:
    return offsets[1:] - offsets[:-1]


def count_of(offsets: Tensor) -> int:
    return offsets.shape[0] - 1


def _numbers(offsets: Tensor, rows: int) -> Tensor:
    """Which sequence each row belongs to."""
    numbers = torch.arange(count_of(offsets), device=offsets.device)
    return torch.repeat_interleave(numbers, lengths_of(offsets), output_size=rows)


def _windows(offsets: Tensor, rows: int, start: int, size: int) -> Tensor:
    """For each row, the ``size`` rows from ``start`` after it on; ``rows`` where its sequence has
    none.
    """
    numbers = _numbers(offsets, rows)
    steps = torch.arange(start, start + size, device=offsets.device)
    places = torch.arange(rows, device=offsets.device).unsqueeze(1) + steps
    first, end = offsets[:-1][numbers].unsqueeze(1), offsets[1:][numbers].unsqueeze(1)
    return places.masked_fill((places < first) | (places >= end), rows)


def with_row(x: Tensor, value: float = 0.0) -> Tensor:
    """``x`` with one more row."""
    return torch.cat([x, x.new_full((1, *x.shape[1:]), value)])


def _bags(x: Tensor, offsets: Tensor, mode: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Reduce sequences of [rows, width] with the kernel for bags of embeddings, which is several
    times faster than index_add.
    """
    rows = torch.arange(x.shape[0], device=x.device)
    return torch.embedding_bag(x, rows, offsets, False, mode, False, None, True)


class _Sum(torch.autograd.Function):
    """Sums of sequences, of which gradients of gradients exist too."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, offsets: Tensor) -> Tensor:
        ctx.save_for_backward(offsets)
        ctx.rows = x.shape[0]
        return _bags(x, offsets, 0)[0]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (offsets,) = ctx.saved_tensors
        return grads[0].repeat_interleave(lengths_of(offsets), 0, output_size=ctx.rows), None


def _pooled(x: Tensor, offsets: Tensor, pool_type: str) -> Tensor:
    """The pool of sequences of [rows, width]; anything for empty ones."""
    if pool_type == "first":
        return x.index_select(0, offsets[:-1].clamp(max=x.shape[0] - 1))
    if pool_type == "last":
        return x.index_select(0, (offsets[1:] - 1).clamp(min=0))
    if pool_type == "max":
        # The first of equal elements gets the gradient.
        return x.gather(0, _bags(x.detach(), offsets, 2)[3])
    total: Tensor = _Sum.apply(x, offsets)  # type: ignore[no-untyped-call]
    if pool_type == "sum":
        return total
    lengths = lengths_of(offsets).clamp(min=1).to(x.dtype).unsqueeze(1)
    return total / (lengths if pool_type == "average" else lengths.sqrt())


@op(
    "sequence_pool",
    rows=Rows.OTHER,
    types=("sequence_pool(X, -, pooltype:upper, pad_value) -> Out, MaxIndex",),
)
def sequence_pool(x: Tensor, offsets: Tensor, pool_type: str, pad_value: float) -> Tensor:
    """One row for each sequence; an empty one gives ``pad_value``. "sqrt" divides the sum by the
    root of the length.
    """
    shape = (count_of(offsets), *x.shape[1:])
    if x.is_meta or x.numel() == 0:
        return x.new_full(shape, pad_value)
    out = _pooled(x.reshape(x.shape[0], -1), offsets, pool_type)
    return out.masked_fill((lengths_of(offsets) == 0).unsqueeze(1), pad_value).reshape(shape)


@op("sequence_softmax", rows=Rows.OTHER, types=("sequence_softmax(X, -)",))
def sequence_softmax(x: Tensor, offsets: Tensor) -> Tensor:
    """Softmax inside each sequence of single numbers."""
    if x.numel() != x.shape[0]:
        raise UsageError(
            "(InvalidArgument) sequence_softmax: x must have one number per row, but its shape "
            f"is {list(x.shape)}"
        )
    if x.is_meta:
        return torch.empty_like(x)
    flat, numbers = x.reshape(-1), _numbers(offsets, x.shape[0])
    lowest = flat.new_full((count_of(offsets),), -torch.inf)
    largest = lowest.scatter_reduce(0, numbers, flat.detach(), "amax")
    weights = (flat - largest[numbers]).exp()
    total = weights.new_zeros(count_of(offsets)).index_add(0, numbers, weights)
    return (weights / total[numbers]).reshape(x.shape)


@op(
    "sequence_conv",
    rows=Rows.OTHER,
    types=("sequence_conv(X, -, Filter, contextStart, contextLength)",),
)
def sequence_conv(x: Tensor, offsets: Tensor, weight: Tensor, start: int, size: int) -> Tensor:
    """For each row, the ``size`` rows from ``start`` after it on, side by side (zeros outside of
    its sequence), times ``weight``.
    """
    if x.is_meta:
        return x.new_empty((x.shape[0], size * x.shape[1])) @ weight
    windows = _windows(offsets, x.shape[0], start, size).reshape(-1)
    return with_row(x).index_select(0, windows).reshape(x.shape[0], size * x.shape[1]) @ weight


def check_counts(name: str, given: int, what: str, offsets: Tensor) -> None:
    if given != count_of(offsets):
        raise UsageError(
            f"(InvalidArgument) {name}: x has {given} {what}, but y has {count_of(offsets)} "
            "sequences; there must be one for each"
        )


@op("sequence_reverse", rows=Rows.OTHER, types=("sequence_reverse(X, -) -> Y",))
def sequence_reverse(x: Tensor, offsets: Tensor) -> Tensor:
    """The rows of each sequence from last to first."""
    if x.is_meta:
        return torch.empty_like(x)
    ends = (offsets[:-1] + offsets[1:] - 1)[_numbers(offsets, x.shape[0])]
    return x.index_select(0, ends - torch.arange(x.shape[0], device=x.device))


@op("sequence_enumerate", rows=Rows.OTHER)
def sequence_enumerate(x: Tensor, offsets: Tensor, win_size: int, pad_value: int) -> Tensor:
    """For each id the ``win_size`` ids from it on, ``pad_value`` after the end of its sequence."""
    if x.numel() != x.shape[0]:
        raise UsageError(
            "(InvalidArgument) sequence_enumerate: x must have one id per row, but its shape is "
            f"{list(x.shape)}"
        )
    if x.is_meta:
        return x.new_empty((x.shape[0], win_size))
    return with_row(x.reshape(-1), pad_value)[_windows(offsets, x.shape[0], 0, win_size)]


@op("sequence_scatter", rows=Rows.OTHER)
def sequence_scatter(x: Tensor, index: Tensor, updates: Tensor, offsets: Tensor) -> Tensor:
    """Add to row i of ``x`` each update of sequence i, at the column that ``index`` has for it."""
    if x.is_meta:
        return torch.empty_like(x)
    check_counts("sequence_scatter", x.shape[0], "rows", offsets)
    columns = index.reshape(-1).to(torch.int64)
    width = x[0].numel()
    if not bool(((columns >= 0) & (columns < width)).all()):
        raise OutOfRange(
            f"(OutOfRange) sequence_scatter: index must lie in [0, {width}), but is "
            f"{columns.tolist()}"
        )
    places = _numbers(offsets, columns.shape[0]) * width + columns
    return x.reshape(-1).index_add(0, places, updates.reshape(-1)).reshape(x.shape)
