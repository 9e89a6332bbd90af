"""Ops whose result consists of other sequences than their input, and those that pad sequences and
take the padding off.

``offsets`` are those of ``ops/sequence.py``. Where the result has offsets of its own, they are
returned with it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from argosy.foundation.errors import OutOfRange, UsageError
from argosy.ops.sequences.sequence import check_counts, count_of, lengths_of, with_row
from argosy.ops.table import op
from argosy.ops.traits import Rows


def offsets_of(lengths: Tensor) -> Tensor:
    return torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])


def ranges(starts: Tensor, lengths: Tensor) -> Tensor:
    """``start, start + 1, ...`` for each start, as many as its length says, one after the other."""
    shifts = torch.repeat_interleave(starts - lengths.cumsum(0) + lengths, lengths)
    return shifts + torch.arange(shifts.shape[0], device=starts.device)


def _repeated_rows(name: str, x: Tensor, y_offsets: Tensor) -> Tensor:
    if x.is_meta:
        return x.new_empty((count_of(y_offsets), *x.shape[1:]))
    check_counts(name, x.shape[0], "rows", y_offsets)
    return x.repeat_interleave(lengths_of(y_offsets), 0)


@op("sequence_expand", rows=Rows.OTHER)
def sequence_expand(
    x: Tensor, y_offsets: Tensor, x_offsets: Tensor | None
) -> Tensor | tuple[Tensor, Tensor]:
    """Repeat row i as often as sequence i of y is long; with ``x_offsets`` sequence i, and return
    the new offsets too.
    """
    if x_offsets is None:
        return _repeated_rows("sequence_expand", x, y_offsets)
    if x.is_meta:
        return x.new_empty((count_of(y_offsets), *x.shape[1:])), torch.empty_like(y_offsets)
    check_counts("sequence_expand", count_of(x_offsets), "sequences", y_offsets)
    repeats = lengths_of(y_offsets)
    lengths = lengths_of(x_offsets).repeat_interleave(repeats)
    starts = x_offsets[:-1].repeat_interleave(repeats)
    return x.index_select(0, ranges(starts, lengths)), offsets_of(lengths)


@op("sequence_expand_as", rows=Rows.OTHER)
def sequence_expand_as(x: Tensor, y_offsets: Tensor) -> Tensor:
    """Repeat row i as often as sequence i of y is long."""
    return _repeated_rows("sequence_expand_as", x, y_offsets)


@op("sequence_pad", rows=Rows.OTHER)
def sequence_pad(
    x: Tensor, offsets: Tensor, pad_value: Tensor, maxlen: int
) -> tuple[Tensor, Tensor]:
    """[sequences, maxlen, ...] filled up with ``pad_value`` (a number or a row), and the lengths;
    -1: as long as the longest.
    """
    if x.dim() < 2:
        raise UsageError(
            "(InvalidArgument) sequence_pad: x must have two dimensions or more, but its shape "
            f"is {list(x.shape)}"
        )
    if pad_value.numel() != 1 and pad_value.shape != x.shape[1:]:
        raise UsageError(
            "(InvalidArgument) sequence_pad: pad_value must be one number or have the shape of "
            f"a row, {list(x.shape[1:])}, "
            f"but its shape is {list(pad_value.shape)}"
        )
    count, rows, lengths = count_of(offsets), x.shape[0], lengths_of(offsets)
    if x.is_meta:
        return x.new_empty((count, count if maxlen < 0 else maxlen, *x.shape[1:])), lengths
    longest = int(lengths.max())
    if 0 <= maxlen < longest:
        raise UsageError(
            f"(InvalidArgument) sequence_pad: maxlen={maxlen}, but the longest sequence has "
            f"{longest} rows"
        )
    steps = torch.arange(longest if maxlen < 0 else maxlen, device=x.device)
    is_row = steps < lengths.unsqueeze(1)
    places = (offsets[:-1].unsqueeze(1) + steps).masked_fill(~is_row, rows)
    out = with_row(x).index_select(0, places.reshape(-1)).reshape(*places.shape, *x.shape[1:])
    if pad_value.dim() == 0 or pad_value.shape != x.shape[1:]:
        pad_value = pad_value.reshape(())
    return torch.where(is_row.reshape(*is_row.shape, *[1] * (x.dim() - 1)), out, pad_value), lengths


@op("sequence_unpad", rows=Rows.OTHER)
def sequence_unpad(x: Tensor, length: Tensor) -> tuple[Tensor, Tensor]:
    """The first ``length[i]`` steps of each row i of [sequences, steps, ...], one after the other,
    and their offsets.
    """
    if x.dim() < 2 or length.dim() != 1:
        raise UsageError(
            "(InvalidArgument) sequence_unpad: x must have two dimensions or more and length "
            "one, but their shapes are "
            f"{list(x.shape)} and {list(length.shape)}"
        )
    inner = x.shape[2:] or (1,)
    if x.is_meta:
        return x.new_empty((length.shape[0], *inner)), length.new_empty(length.shape[0] + 1)
    count, steps = x.shape[:2]
    if length.shape[0] != count or not bool(((length >= 0) & (length <= steps)).all()):
        raise UsageError(
            f"(InvalidArgument) sequence_unpad: length must be {count} numbers from 0 to "
            f"{steps}, but received {length.tolist()}"
        )
    places = ranges(torch.arange(count, device=x.device) * steps, length)
    return x.reshape(count * steps, *inner).index_select(0, places), offsets_of(length)


@op("sequence_concat", rows=Rows.OTHER, types=("sequence_concat(X, -)",))
def sequence_concat(inputs: Sequence[Tensor], offsets: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Sequence i of every input, one after the other, for each i; and the new offsets."""
    first = inputs[0]
    if first.is_meta:
        return first.new_empty((count_of(offsets[0]), *first.shape[1:])), torch.empty_like(
            offsets[0]
        )
    counts = [count_of(o) for o in offsets]
    if len(set(counts)) != 1:
        raise UsageError(
            "(InvalidArgument) sequence_concat: every input must have as many sequences, but "
            f"they have {counts}"
        )
    total = torch.stack(list(offsets)).sum(0)
    starts, places = total[:-1], []
    for own in offsets:
        lengths = lengths_of(own)
        places.append(ranges(starts, lengths))
        starts = starts + lengths
    return torch.cat(list(inputs)).index_select(0, torch.cat(places).argsort()), total


@op("sequence_slice", rows=Rows.OTHER)
def sequence_slice(
    x: Tensor, offsets: Tensor, start: Tensor, length: Tensor
) -> tuple[Tensor, Tensor]:
    """``length[i]`` rows from ``start[i]`` on of each sequence i, and the new offsets."""
    if x.is_meta:
        return x.new_empty((count_of(offsets), *x.shape[1:])), torch.empty_like(offsets)
    starts, lengths = start.reshape(-1).to(torch.int64), length.reshape(-1).to(torch.int64)
    limits = lengths_of(offsets)
    if starts.shape != limits.shape or lengths.shape != limits.shape:
        raise UsageError(
            f"(InvalidArgument) sequence_slice: {count_of(offsets)} sequences need as many "
            "offsets and lengths, "
            f"but received {starts.numel()} and {lengths.numel()}"
        )
    wrong = ((starts < 0) | (lengths < 0) | (starts + lengths > limits)).nonzero().flatten()
    if wrong.numel():
        i = int(wrong[0])
        raise OutOfRange(
            f"(OutOfRange) sequence_slice: sequence {i} has {int(limits[i])} rows, which do not "
            f"hold {int(lengths[i])} rows "
            f"from row {int(starts[i])} on"
        )
    return x.index_select(0, ranges(offsets[:-1] + starts, lengths)), offsets_of(lengths)


@op("sequence_reshape", rows=Rows.OTHER)
def sequence_reshape(x: Tensor, offsets: Tensor, new_dim: int) -> tuple[Tensor, Tensor]:
    """Rows of ``new_dim`` numbers with the numbers of each sequence in their order, and the new
    offsets.
    """
    if x.dim() != 2:
        raise UsageError(
            "(InvalidArgument) sequence_reshape: x must have two dimensions, but its shape is "
            f"{list(x.shape)}"
        )
    if x.is_meta:
        return x.new_empty((count_of(offsets), new_dim)), torch.empty_like(offsets)
    numbers = offsets * x.shape[1]
    wrong = (lengths_of(numbers) % new_dim).nonzero().flatten()
    if wrong.numel():
        i = int(wrong[0])
        raise UsageError(
            f"(InvalidArgument) sequence_reshape: sequence {i} has {int(lengths_of(numbers)[i])} "
            "numbers, which are no multiple of "
            f"new_dim={new_dim}"
        )
    return x.reshape(-1, new_dim), numbers // new_dim


@op("lod_reset", rows=Rows.OTHER)
def lod_reset(x: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """The same rows and other offsets for them."""
    offsets = target.reshape(-1).to(torch.int64)
    if not x.is_meta:
        rises = offsets.numel() > 1 and bool((lengths_of(offsets) >= 0).all())
        if not rises or int(offsets[0]) != 0 or int(offsets[-1]) != x.shape[0]:
            raise UsageError(
                f"(InvalidArgument) lod_reset: the target must rise from 0 to {x.shape[0]}, the "
                f"rows of x, but is {offsets.tolist()}"
            )
    return x.clone(), offsets
