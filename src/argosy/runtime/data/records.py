"""Samples in memory: three flat arrays and what says where each sample lies in them.

Nothing is an object per sample: a million samples of 26 ids are a few arrays, a shuffle is a
permutation, and samples travel to other workers as arrays.
"""

# mypy: disable-error-code="untyped-decorator,call-arg"
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from argosy.foundation.errors import UsageError
from argosy.runtime.data.slots import BadData, Slot

Array = npt.NDArray[Any]

_SMALLEST = 1e-6  # smaller floats count as zeros


@dataclass(frozen=True)
class Records:
    """``counts[sample, slot]`` values, which lie in ``ids`` or ``floats``, sample after sample and
    in a sample slot after slot.

    ``keys`` is a hash of each sample's id; empty if samples have none.
    """

    counts: npt.NDArray[np.int32]
    ids: npt.NDArray[np.int64]
    floats: npt.NDArray[np.float32]
    keys: npt.NDArray[np.uint64]
    is_float: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.counts)

    @cached_property
    def _starts(self) -> tuple[Array, Array]:
        """Where the values of each sample begin, in ``ids`` and in ``floats``."""
        return _starts_of(self.counts, ~self.is_float), _starts_of(self.counts, self.is_float)

    def take(self, order: npt.NDArray[np.int64]) -> Records:
        """The samples with these numbers, in this order."""
        id_starts, float_starts = self._starts
        return Records(
            self.counts[order],
            _take_ranges(self.ids, id_starts, order),
            _take_ranges(self.floats, float_starts, order),
            self.keys[order] if len(self.keys) else self.keys,
            self.is_float,
        )

    def slice(self, begin: int, end: int) -> Records:
        """The samples from ``begin`` to before ``end``; the memory is shared."""
        id_starts, float_starts = self._starts
        return Records(
            self.counts[begin:end],
            self.ids[id_starts[begin] : id_starts[end]],
            self.floats[float_starts[begin] : float_starts[end]],
            self.keys[begin:end],
            self.is_float,
        )

    def column(self, slot: int) -> tuple[Array, npt.NDArray[np.int64]]:
        """The values of a slot, and at which of them each sample begins, with the end at last."""
        is_float = bool(self.is_float[slot])
        starts = self._starts[is_float]
        offsets = np.zeros(len(self) + 1, np.int64)
        np.cumsum(self.counts[:, slot], out=offsets[1:])
        before = self.counts[:, :slot][:, self.is_float[:slot] == is_float].sum(
            axis=1, dtype=np.int64
        )
        source = self.floats if is_float else self.ids
        values = np.empty(offsets[-1], source.dtype)
        _copy_column(source, starts, before, offsets, values)
        return values, offsets

    def with_column(self, slot: int, order: npt.NDArray[np.int64]) -> Records:
        """The same samples, but each with the values that sample ``order[i]`` has in ``slot``."""
        donors = self.take(order)
        columns = [(donors if s == slot else self).column(s) for s in range(len(self.is_float))]
        return join_columns(columns, self.keys, self.is_float)


def join_columns(columns: Sequence[tuple[Array, Array]], keys: Array, is_float: Array) -> Records:
    """Records of the values and offsets of each slot."""
    counts = np.stack([np.diff(offsets) for _, offsets in columns], axis=1).astype(np.int32)
    pools = []
    for wanted in (False, True):
        chosen = [c for c, kind in zip(columns, is_float, strict=True) if kind == wanted]
        starts = _starts_of(counts, is_float == wanted)
        pool = np.empty(starts[-1], np.float32 if wanted else np.int64)
        before = np.zeros(len(counts), np.int64)
        for values, offsets in chosen:
            _fill_column(pool, starts, before, offsets, values)
            before += np.diff(offsets)
        pools.append(pool)
    return Records(counts, pools[0], pools[1], keys, is_float)


def without_zeros(records: Records, chosen: Sequence[bool]) -> Records:
    """Records whose ``chosen`` slots hold no zeros; a sample that would have no value left there
    keeps one.
    """
    if not len(records) or not any(chosen):
        return records
    columns = [records.column(slot) for slot in range(len(chosen))]
    for slot in np.flatnonzero(chosen):
        columns[slot] = _without_zeros(*columns[slot])
    return join_columns(columns, records.keys, records.is_float)


def _without_zeros(values: Array, offsets: Array) -> tuple[Array, Array]:
    keep = np.abs(values) >= _SMALLEST if values.dtype == np.float32 else values != 0
    firsts = offsets[:-1][np.add.reduceat(keep, offsets[:-1], dtype=np.int64) == 0]
    keep[firsts] = True
    values[firsts] = 0
    kept = np.zeros(len(offsets), np.int64)
    np.cumsum(np.add.reduceat(keep, offsets[:-1], dtype=np.int64), out=kept[1:])
    return values[keep], kept


def concatenated(parts: Sequence[Records], is_float: Array) -> Records:
    """All samples, part after part."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        empty = np.empty((0, len(is_float)), np.int32)
        return Records(
            empty, np.empty(0, np.int64), np.empty(0, np.float32), np.empty(0, np.uint64), is_float
        )
    counts, ids, floats, keys = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("counts", "ids", "floats", "keys")
    )
    return Records(counts, ids, floats, keys, is_float)


def batch_of(
    records: Records, slots: Sequence[Slot]
) -> list[tuple[Array, npt.NDArray[np.int64] | None]]:
    """For each slot the values of a batch: with offsets for sequences, else of the declared
    shape.
    """
    out: list[tuple[Array, npt.NDArray[np.int64] | None]] = []
    for number, slot in enumerate(slots):
        values, offsets = records.column(number)
        out.append(
            (values, offsets)
            if slot.shape is None
            else (_shaped(values, slot, records, number), None)
        )
    return out


def _shaped(values: Array, slot: Slot, records: Records, number: int) -> Array:
    assert slot.shape is not None
    try:
        shaped = values.reshape(slot.shape)
    except ValueError:
        shaped = None
    counts = records.counts[:, number]
    if shaped is None:  # else, as in Paddle, the numbers of values of the samples may differ
        held = (
            f"{counts.min()}"
            if counts.min() == counts.max()
            else f"{counts.min()} to {counts.max()}"
        )
        raise BadData(
            f"slot {slot.name!r}: a batch of {len(records)} samples with {held} values each has "
            f"{len(values)}, which cannot be "
            f"reshaped to {list(slot.shape)}.\n  Values that vary in number need a variable with "
            "lod_level=1."
        )
    return shaped


def check_slots(slots: Sequence[Slot]) -> None:
    """Refuse shapes with more than one unknown dimension, and names that occur twice."""
    for slot in slots:
        if slot.shape is not None and sum(n < 0 for n in slot.shape) > 1:
            raise UsageError(
                f"slot {slot.name!r}: only one dimension may be unknown, but the shape is "
                f"{list(slot.shape)}"
            )
    names = [slot.name for slot in slots]
    for name in {n for n in names if names.count(n) > 1}:
        raise UsageError(f"slot {name!r} is named twice")


def _starts_of(counts: Array, chosen: Array) -> Array:
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts[:, chosen].sum(axis=1, dtype=np.int64), out=starts[1:])
    return starts


def _take_ranges(values: Array, starts: Array, order: Array) -> Array:
    out = np.empty(int((starts[order + 1] - starts[order]).sum()), values.dtype)
    _copy_ranges(values, starts, order, out)
    return out


@numba.njit(nogil=True, cache=True)
def _copy_ranges(values: Any, starts: Any, order: Any, out: Any) -> None:
    at = 0
    for sample in order:
        for i in range(starts[sample], starts[sample + 1]):
            out[at] = values[i]
            at += 1


@numba.njit(nogil=True, cache=True)
def _copy_column(source: Any, starts: Any, before: Any, offsets: Any, out: Any) -> None:
    for sample in range(before.shape[0]):
        begin = starts[sample] + before[sample]
        for i in range(offsets[sample], offsets[sample + 1]):
            out[i] = source[begin + i - offsets[sample]]


@numba.njit(nogil=True, cache=True)
def _fill_column(pool: Any, starts: Any, before: Any, offsets: Any, values: Any) -> None:
    for sample in range(before.shape[0]):
        begin = starts[sample] + before[sample]
        for i in range(offsets[sample], offsets[sample + 1]):
            pool[begin + i - offsets[sample]] = values[i]
