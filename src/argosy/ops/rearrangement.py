"""Compositions of ops that take or order parts of a tensor; see ``composition``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from argosy.ops import table
from argosy.ops.composition import Ops, Parts, composed


def _as_wide(ops: Ops, x: Any, index: Any, axis: int) -> Any:
    """An index with the extents of ``x`` but along ``axis``, as Paddle's operators take it; None
    where these are not known.
    """
    wide = list(x.shape)
    wide[axis] = index.shape[axis]
    if list(index.shape) == wide:
        return index
    repeated = [n for n, m in zip(wide, index.shape, strict=True) if n != m]
    return None if -1 in repeated else ops.expand(index, wide)


@composed
def take_along_axis(ops: Ops, x: Any, index: Any, axis: int, broadcast: bool = True) -> Any:
    if not broadcast or not x.ndim or index.ndim != x.ndim:
        return NotImplemented
    index = _as_wide(ops, x, index, axis)
    return NotImplemented if index is None else ops.take_along_axis(x, index, axis, False)


@composed
def put_along_axis(
    ops: Ops, x: Any, index: Any, values: Any, axis: int, reduce: str = "assign",
    include_self: bool = True, broadcast: bool = True,
) -> Any:  # fmt: skip
    if not broadcast or not x.ndim or index.ndim != x.ndim:
        return NotImplemented
    index = _as_wide(ops, x, index, axis)
    if index is None:
        return NotImplemented
    if isinstance(values, (int, float)):
        values = ops.full_like(index, values, x.raw.dtype)
    elif list(values.shape) != list(index.shape):
        if -1 in index.shape:
            return NotImplemented
        values = ops.expand(values, list(index.shape))
    return ops.put_along_axis(x, index, values, axis, reduce, include_self, False)


@composed
def one_hot(ops: Ops, x: Any, depth: int, allow_out_of_range: bool = False) -> Any:
    """Of ids whose last extent is 1."""
    if allow_out_of_range or x.shape[-1] != 1:
        return NotImplemented
    return ops.one_hot(ops.squeeze(x, [x.ndim - 1]), depth)


def ordered(order: Callable[..., Sequence[int]]) -> Parts:
    """The parts of an op that permutes axes; ``order`` tells how, given the rank."""

    @composed
    def parts(ops: Ops, x: Any, *args: Any) -> Any:
        return ops.transpose(x, list(order(x.ndim, *args)))

    return parts


def swapped(rank: int, axis0: int, axis1: int) -> list[int]:
    """The order of axes in which two have changed places."""
    order = list(range(rank))
    order[axis0], order[axis1] = order[axis1], order[axis0]
    return order


def moved(rank: int, source: Sequence[int], destination: Sequence[int]) -> list[int]:
    """The order of axes in which some stand where they are told."""
    sources = [n % rank for n in source]
    order = [n for n in range(rank) if n not in sources]
    for place, axis in sorted(zip([n % rank for n in destination], sources, strict=True)):
        order.insert(place, axis)
    return order


_LAST = 2**31 - 1  # where Paddle ends what has no end


@composed
def getitem(ops: Ops, x: Any, index: tuple[Any, ...]) -> Any:
    """Slices, then strided ones, then what one array names; in the end axes go and come."""
    named = sum(item is not None and item is not Ellipsis for item in index)
    if any(isinstance(item, bool) for item in index) or named > x.ndim:
        return NotImplemented
    taken = _Taken()
    for item in index:
        if item is Ellipsis:
            taken.skip(x.ndim - named)
        elif not taken.add(ops, item):
            return NotImplemented
    if len(taken.arrays) > 1:
        return NotImplemented
    out = x
    if taken.slices:
        out = ops.slice(out, *(list(part) for part in zip(*taken.slices, strict=True)))
    if taken.flipped:
        out = ops.flip(out, taken.flipped)
    if taken.strides:
        out = ops.strided_slice(out, *(list(part) for part in zip(*taken.strides, strict=True)))
    for axis, array in taken.arrays:
        out = ops.index_select(out, array, axis)
    if taken.dropped:
        out = ops.squeeze(out, taken.dropped)
    if taken.new:
        out = ops.unsqueeze(out, taken.new)
    return NotImplemented if out is x else out


class _Taken:
    """What an index takes: by axes of the tensor, and the places of new axes in the result."""

    def __init__(self) -> None:
        self.slices: list[tuple[int, Any, Any]] = []
        self.flipped: list[int] = []
        self.strides: list[tuple[int, int, int, int]] = []
        self.arrays: list[tuple[int, Any]] = []
        self.dropped: list[int] = []
        self.new: list[int] = []
        self._axis = 0
        self._place = 0

    def skip(self, count: int) -> None:
        self._axis += count
        self._place += count

    def add(self, ops: Ops, item: Any) -> bool:
        """Note one entry of an index; whether it can be."""
        if item is None:
            self.new.append(self._place)
            self._place += 1
            return True
        axis = self._axis
        if isinstance(item, slice):
            if not self._add_slice(axis, item):
                return False
            self._place += 1
        elif type(item) is int or (_is_integer(item) and item.ndim == 0):
            last = ops.add(item, 1) if type(item) is not int else _LAST if item == -1 else item + 1
            self.slices.append((axis, item, last))
            self.dropped.append(axis)
        elif _is_integer(item) and item.ndim == 1:
            self.arrays.append((axis, item))
            self._place += 1
        else:
            return False
        self._axis += 1
        return True

    def _add_slice(self, axis: int, item: slice) -> bool:
        step = 1 if item.step is None else item.step
        if type(step) is not int:
            return False
        if step == 1:
            first = 0 if item.start is None else item.start
            last = _LAST if item.stop is None else item.stop
            if type(first) is not int or type(last) is not int or (first, last) != (0, _LAST):
                self.slices.append((axis, first, last))
            return True
        if step < 0 and item.start is None and item.stop is None:
            self.flipped.append(axis)
            step = -step
            if step == 1:
                return True
        elif step < 0:
            return False  # versions of Paddle differ in where these end
        first = 0 if item.start is None else item.start
        last = _LAST if item.stop is None else item.stop
        if type(first) is not int or type(last) is not int:
            return False
        self.strides.append((axis, first, last, step))
        return True


def _is_integer(item: Any) -> bool:
    raw = getattr(item, "raw", None)
    return raw is not None and raw.dtype in (torch.int32, torch.int64)


def on_lines(name: str) -> Parts:
    """The parts of a pooling op over one axis: Paddle pools lines as images of one row."""

    @composed
    def parts(ops: Ops, *args: Any, **attrs: Any) -> Any:
        given = table.get(name).signature.bind(*args, **attrs).arguments
        sizes = "kernel" if "kernel" in given else "output_size"
        if len(given[sizes]) != 1:
            return NotImplemented
        row = 1 if given.get("channel_last") else 2
        given["x"] = ops.unsqueeze(given["x"], [row])
        for key in (sizes, "stride"):
            if key in given:
                given[key] = [1, *given[key]]
        padding = given.get("padding", "")
        if not isinstance(padding, str):
            given["padding"] = [0, *padding] if len(padding) == 1 else [0, 0, *padding[-2:]]
        made = getattr(ops, name)(**given)
        if isinstance(made, tuple):
            return tuple(ops.squeeze(item, [row]) for item in made)
        return ops.squeeze(made, [row])

    return parts


@composed
def take(ops: Ops, x: Any, index: Any, mode: str = "raise") -> Any:
    if mode != "raise" or index.ndim != 1:
        return NotImplemented
    return ops.gather(ops.reshape(x, [-1]), index, 0)


@composed
def masked_fill(ops: Ops, x: Any, mask: Any, value: Any) -> Any:
    if not isinstance(value, (int, float)) or list(mask.shape) != list(x.shape):
        return NotImplemented
    return ops.where(mask, ops.full_like(x, value, x.raw.dtype), x)


@composed
def unflatten(ops: Ops, x: Any, axis: int, shape: Any) -> Any:
    axis %= x.ndim
    sizes = [*x.shape[:axis], *shape, *x.shape[axis + 1 :]]
    if any(type(n) is not int for n in sizes) or sizes.count(-1) > 1:
        return NotImplemented
    return ops.reshape(x, sizes)


@composed
def view(ops: Ops, x: Any, shape: Any) -> Any:
    return ops.reshape(x, shape)


@composed
def unstack(ops: Ops, x: Any, axis: int = 0, num: int | None = None) -> Any:
    count = x.shape[axis]
    return NotImplemented if num is not None or count < 0 else ops.unstack(x, axis, count)


def from_front(name: str) -> Parts:
    """The parts of an op whose axis Paddle's operator counts from the front."""

    @composed
    def parts(ops: Ops, *args: Any, **attrs: Any) -> Any:
        given = table.get(name).signature.bind(*args, **attrs).arguments
        axis = given.get("axis", 0)
        if type(axis) is not int or axis >= 0:
            return NotImplemented
        return getattr(ops, name)(**given | {"axis": axis + given["x"].ndim})

    return parts
