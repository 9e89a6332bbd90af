"""Samples with one id become one sample: each brings the slots that it has values for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from argosy.runtime.data.records import Records, join_columns

Array = npt.NDArray[Any]


def merged(records: Records, is_dense: Sequence[bool], size: int) -> tuple[Records, int]:
    """The samples merged by their ids, and how many had to be dropped.

    Only groups of ``size`` samples are kept, of any size if it is 0. In a sequence slot one sample
    of a group may have values (a lone zero is none); if more have, the group is dropped. A dense
    slot takes the last values that are not all zero.
    """
    order = np.argsort(records.keys, kind="stable")
    keys = records.keys[order]
    starts = [0, *(np.flatnonzero(np.diff(keys)) + 1), len(keys)] if len(keys) else [0]
    groups = [order[a:b] for a, b in pairwise(starts) if size <= 0 or b - a == size]
    columns = [records.column(slot) for slot in range(len(is_dense))]
    chosen = [picks for group in groups if (picks := _picks(group, columns, is_dense)) is not None]
    kept = sum(len(group) for group, _ in chosen)
    joined = [
        _gathered(column, np.array([picks[slot] for _, picks in chosen], np.int64))
        for slot, column in enumerate(columns)
    ]
    first = np.array([group[0] for group, _ in chosen], np.int64)
    return join_columns(joined, records.keys[first], records.is_float), len(records) - kept


def _picks(
    group: Array, columns: Sequence[tuple[Array, Array]], is_dense: Sequence[bool]
) -> tuple[Array, list[int]] | None:
    """For each slot the sample of a group whose values count; None if samples contradict."""
    picks = []
    for (values, offsets), dense in zip(columns, is_dense, strict=True):
        filled = [s for s in group if np.any(values[offsets[s] : offsets[s + 1]])]
        if len(filled) > 1 and not dense:
            return None
        picks.append(int(filled[-1] if filled else group[0]))
    return group, picks


def _gathered(column: tuple[Array, Array], samples: Array) -> tuple[Array, Array]:
    values, offsets = column
    lengths = np.diff(offsets)[samples]
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    parts = [values[offsets[s] : offsets[s + 1]] for s in samples]
    return (np.concatenate(parts) if parts else values[:0]), ends
