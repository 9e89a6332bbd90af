"""Sequences by rank: longest first, so that those that take part in a step of a recurrence are
always the first ones.

A table of ranks is [sequences, 2]: which sequence stands there, and how long it is. ``levels`` are
the offsets of sequences that nest, outermost first, as in ``sequence``; there may be none, and
those at the end may be None, which is none too.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from argosy.foundation.errors import OutOfRange, UsageError
from argosy.ops.sequences.sequence import lengths_of
from argosy.ops.sequences.sequence_shape import offsets_of, ranges
from argosy.ops.table import op
from argosy.ops.traits import Rows

Levels = list[Tensor]  # with None at the end, perhaps


def taken(levels: Levels, chosen: Tensor) -> tuple[Tensor, Levels]:
    """The rows of the sequences ``chosen`` of the outermost level, and the offsets of what they
    become one after the other. Without levels a row is chosen.
    """
    new: list[Any] = []
    for offsets in levels:
        if offsets is None:
            new.append(None)
            continue
        lengths = lengths_of(offsets)[chosen]
        new.append(offsets_of(lengths))
        chosen = ranges(offsets[:-1][chosen], lengths)
    return chosen, new


@op("lod_rank_table", rows=Rows.OTHER)
def lod_rank_table(offsets: Tensor) -> Tensor:
    """The table of the sequences at ``offsets``; equally long ones keep their order."""
    if offsets is None:
        raise UsageError("lod_rank_table: what was fed has no sequences on this level")
    if offsets.is_meta:
        return offsets.new_empty([offsets.shape[0] - 1, 2])
    lengths, order = lengths_of(offsets).sort(descending=True, stable=True)
    return torch.stack([order, lengths], 1)


@op("max_sequence_len", rows=Rows.OTHER, types=("max_sequence_len(RankTable)",))
def max_sequence_len(table: Tensor) -> Tensor:
    """The length of the longest sequence; 0 if there is none."""
    if table.is_meta:
        return table.new_empty([1])
    return table[:1, 1].clone() if table.shape[0] else table.new_zeros([1])


@op("shrink_rnn_memory", rows=Rows.OTHER, types=("shrink_rnn_memory(X, -, I, RankTable)",))
def shrink_rnn_memory(
    x: Tensor, levels: list[Tensor], index: Tensor, table: Tensor
) -> tuple[Tensor, list[Tensor]]:
    """The rows, or sequences, of ``x`` for those sequences of the table that have a step
    ``index``.
    """
    if x.is_meta:
        return x.new_empty(x.shape), [torch.empty_like(offsets) for offsets in levels]
    count = int((table[:, 1] > index.reshape(())).sum())
    new: list[Any] = []
    for offsets in levels:
        if offsets is None:
            new.append(None)
            continue
        new.append(offsets[: count + 1])
        count = int(offsets[count])
    return x[:count], new


@op(
    "reorder_lod_tensor_by_rank",
    rows=Rows.OTHER,
    types=("reorder_lod_tensor_by_rank(X, -, RankTable)",),
)
def reorder_lod_tensor_by_rank(
    x: Tensor, levels: list[Tensor], table: Tensor
) -> tuple[Tensor, list[Tensor]]:
    """The rows, or sequences, of ``x`` in the order of the table."""
    if x.is_meta:
        return torch.empty_like(x), [torch.empty_like(offsets) for offsets in levels]
    count = x.shape[0] if not levels or levels[0] is None else levels[0].shape[0] - 1
    if count != table.shape[0]:
        raise OutOfRange(
            f"reorder_lod_tensor_by_rank: x has {count} sequences, the table {table.shape[0]}"
        )
    rows, new = taken(levels, table[:, 0])
    return x.index_select(0, rows), new


@op("split_lod_tensor", rows=Rows.OTHER)
def split_lod_tensor(
    x: Tensor, levels: list[Tensor], mask: Tensor
) -> tuple[Tensor, Tensor, list[Tensor], list[Tensor]]:
    """The rows, or sequences, of ``x`` whose ``mask`` is true, the others, and their offsets."""
    if x.is_meta:
        empty = [torch.empty_like(offsets) for offsets in levels]
        return torch.empty_like(x), torch.empty_like(x), empty, list(map(torch.empty_like, empty))
    chosen = mask.reshape(-1)
    rows, new = taken(levels, chosen.nonzero().reshape(-1))
    others, other_new = taken(levels, (~chosen).nonzero().reshape(-1))
    return x.index_select(0, rows), x.index_select(0, others), new, other_new


@op("merge_lod_tensor", rows=Rows.OTHER)
def merge_lod_tensor(
    in_true: Tensor,
    in_false: Tensor,
    true_levels: list[Tensor],
    false_levels: list[Tensor],
    mask: Tensor,
) -> tuple[Tensor, list[Tensor]]:
    """Where ``mask`` is true the next row, or sequence, of ``in_true``, elsewhere of
    ``in_false``.
    """
    if in_true.is_meta:
        return in_true.new_empty([mask.shape[0], *in_true.shape[1:]]), [
            torch.empty_like(offsets) for offsets in true_levels
        ]
    chosen = mask.reshape(-1)
    joined = [joined_offsets([a, b]) for a, b in zip(true_levels, false_levels, strict=True)]
    first_false = int(chosen.sum())
    places = torch.where(chosen, chosen.cumsum(0) - 1, first_false + (~chosen).cumsum(0) - 1)
    rows, new = taken(joined, places)
    return torch.cat([in_true, in_false]).index_select(0, rows), new


def joined_offsets(parts: Levels) -> Any:
    """The offsets of sequences that come one after the other, of those of each part."""
    if any(offsets is None for offsets in parts):
        return None
    return offsets_of(torch.cat([lengths_of(offsets) for offsets in parts]))


@op("absolute_offsets", rows=Rows.OTHER)
def absolute_offsets(levels: list[Tensor]) -> Tensor:
    """The rows at which the sequences of the outermost level begin."""
    out = levels[0]
    for offsets in levels[1:]:
        out = torch.empty_like(out) if out.is_meta else offsets[out]
    return out


@op("same_offsets", rows=Rows.OTHER)
def same_offsets(offsets: Tensor) -> Tensor:
    """The offsets themselves, or None if there are none; nothing changes offsets in place."""
    return offsets
