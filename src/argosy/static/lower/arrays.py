"""What the operators on arrays of tensors do in a run: an array is a Python list."""

from __future__ import annotations

from typing import Any

import torch

from argosy.foundation.errors import OutOfRange
from argosy.ops.sequences.rank import joined_offsets, taken

_WIDEST_GAP = 1 << 24  # of elements that stay empty: what a file says in a few bytes


def write(array: list[Any], index: torch.Tensor, value: torch.Tensor) -> list[Any]:
    """Put ``value`` at ``index``; what lies between the end and it stays empty."""
    position = int(index)
    if position < 0:
        raise OutOfRange(f"array_write: index {position} of an array of {len(array)} elements")
    if position - len(array) > _WIDEST_GAP:
        raise OutOfRange(
            f"array_write: index {position} is {position - len(array)} behind the end of the "
            f"array; {_WIDEST_GAP} are the most"
        )
    array += [None] * (position - len(array))
    array[position : position + 1] = [value]
    return array


def read(array: list[Any], index: torch.Tensor) -> torch.Tensor:
    position = int(index)
    if not 0 <= position < len(array) or array[position] is None:
        raise OutOfRange(f"array_read: index {position} of an array of {len(array)} elements")
    return array[position]  # type: ignore[no-any-return]


def pop(array: list[Any], position: int) -> tuple[torch.Tensor, list[Any]]:
    """Take an element out; returns it, and the array."""
    if not -len(array) <= position < len(array):
        raise OutOfRange(f"pop: index {position} of an array of {len(array)} elements")
    return array.pop(position), array


def length(array: list[Any]) -> torch.Tensor:
    return torch.tensor([len(array)])


def steps(
    x: torch.Tensor, levels: list[torch.Tensor], table: torch.Tensor
) -> tuple[list[torch.Tensor], list[list[torch.Tensor]]]:
    """What each step takes of the sequences at ``levels[0]``, in the order of ``table``, and the
    arrays of the offsets inside of it.
    """
    starts = levels[0][:-1][table[:, 0]]
    rows, lods = [], []
    for step in range(int(table[0, 1]) if len(table) else 0):
        taken_rows, lod = taken(levels[1:], starts[table[:, 1] > step] + step)
        rows.append(taken_rows)
        lods.append(lod)
    if not rows:
        return [], [[] for _ in levels[1:]]
    # At once, so that the gradient is one of all rows too.
    gathered = x.index_select(0, torch.cat(rows))
    values = torch.split(gathered, [len(taken_rows) for taken_rows in rows])
    return list(values), [list(level) for level in zip(*lods, strict=True)]


def sequences(
    array: list[torch.Tensor], lods: list[list[torch.Tensor]], table: torch.Tensor
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The sequences of which ``array`` has the steps, in the order of their numbers in ``table``,
    and the offsets inside of them.
    """
    if not isinstance(array, list) or not array:
        raise OutOfRange("array_to_lod_tensor: x must be an array with elements")
    counts = [(table[:, 1] > step).sum() for step in range(len(array))]
    firsts = torch.stack([torch.zeros_like(counts[0]), *counts]).cumsum(0)
    ranks = torch.argsort(table[:, 0])
    places = [
        firsts[:length] + rank
        for rank, length in zip(ranks.tolist(), table[ranks, 1].tolist(), strict=True)
    ]
    rows, offsets = taken([joined_offsets(level) for level in lods], torch.cat(places))
    return torch.cat(array).index_select(0, rows), offsets


def joined(array: list[torch.Tensor], axis: int, stacks: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """All elements in one tensor, and the extent of each on ``axis``."""
    sizes = [1 if stacks else value.shape[axis] for value in array]
    out = torch.stack(array, axis) if stacks else torch.cat(array, axis)
    return out, torch.tensor(sizes, dtype=torch.int32)
