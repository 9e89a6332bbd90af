"""What ``for`` goes over when only a run knows how many items there are: ``range``, tensors,
arrays, and ``enumerate`` and ``zip`` of these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from argosy.jit.operators.lists import as_array, length_of
from argosy.jit.operators.values import is_unknown
from argosy.static.ir.variable import Variable
from argosy.static.record.arrays import ArrayVariable
from argosy.static.record.recorder import recorder
from argosy.tensor import cast, full, gather, minimum, reshape
from argosy.tensor import shape as shape_of
from argosy.tensor.engine import Tensor


@dataclass(frozen=True)
class Sized:
    """Items by number, as many as ``length``, a variable, says."""

    length: Any
    item: Callable[[Any], Any]


def sized(iterable: Any) -> Sized | None:
    """The items of something whose number only a run knows; None for anything else."""
    if isinstance(iterable, Sized):
        return iterable
    if isinstance(iterable, ArrayVariable):
        return Sized(length_of(iterable), lambda i: iterable[reshape(i, [1])])
    if isinstance(iterable, Tensor) and is_unknown(iterable):
        variable: Variable = recorder.admit(iterable)
        if variable.shape and variable.shape[0] < 0:
            return Sized(shape_of(variable)[0], lambda i: _row(variable, i))
    return None


def _row(variable: Variable, position: Any) -> Any:
    return gather(variable, reshape(cast(position, "int64"), [1])).squeeze(0)


def range_(*bounds: Any) -> Any:
    """``range``, to a bound that only a run knows too."""
    if not any(is_unknown(bound) for bound in bounds):
        return range(*bounds)
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    dtypes = {b.dtype.name for b in map(recorder.admit, (start, stop, step)) if is_unknown(b)}
    kind = "int64" if "int64" in dtypes or dtypes - {"int32"} else "int32"
    start, stop, step = (_whole(bound) for bound in (start, stop, step))
    # as many as there are between, none if there are fewer than none
    is_one = not is_unknown(step) and step == 1
    count = stop - start if is_one else -((start - stop) // step)
    return Sized(count, lambda i: _number(i if is_one else i * step, start, kind))


def _number(offset: Any, start: Any, dtype: str) -> Any:
    found = offset + start if is_unknown(start) or start else offset
    return cast(found, dtype) if is_unknown(found) and dtype != "int64" else found


def _whole(bound: Any) -> Any:
    if not is_unknown(bound):
        return bound
    variable = recorder.admit(bound)
    variable = reshape(variable, []) if variable.shape else variable
    return cast(variable, "int64") if variable.dtype.name != "int64" else variable


def enumerate_(iterable: Any, start: Any = 0) -> Any:
    """``enumerate``."""
    items = sized(iterable)
    if items is None:
        return enumerate(_known(iterable), start)
    return Sized(items.length, lambda i: (i + start, items.item(i)))


def zip_(*iterables: Any, strict: bool = False) -> Any:
    """``zip``; where only a run knows how many there are, the shortest ends it."""
    found = [sized(iterable) for iterable in iterables]
    if not any(found):
        return zip(*map(_known, iterables), strict=strict)
    parts = [items or _listed(it) for items, it in zip(found, iterables, strict=True)]
    length = parts[0].length
    for part in parts[1:]:
        length = minimum(_whole_length(length), _whole_length(part.length))
    return Sized(length, lambda i: tuple(part.item(i) for part in parts))


def _whole_length(length: Any) -> Any:
    return cast(length, "int64") if is_unknown(length) else full([], length, "int64")


def _listed(iterable: Any) -> Sized:
    """Items whose number is known, beside others whose number is not."""
    if isinstance(iterable, Tensor):
        variable = recorder.admit(iterable)
        return Sized(variable.shape[0], lambda i: _row(variable, i))
    array = as_array(list(iterable))
    return Sized(length_of(array), lambda i: array[reshape(i, [1])])


def _known(iterable: Any) -> Any:
    """A Tensor as its rows."""
    if isinstance(iterable, Tensor) and is_unknown(iterable):
        return list(recorder.admit(iterable))
    return iterable
