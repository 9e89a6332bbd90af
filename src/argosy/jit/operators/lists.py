"""Python lists that grow or shrink inside of what is recorded: they become arrays of a program."""

from __future__ import annotations

from typing import Any

import torch

from argosy.jit.operators.slots import Slots
from argosy.jit.operators.values import as_variable
from argosy.static.ir.variable import Variable
from argosy.static.record.arrays import (
    ArrayVariable,
    record_array,
    record_joined,
    record_length,
    record_write,
)
from argosy.tensor import concat, full, stack
from argosy.tensor.engine import Tensor


def as_arrays(slots: Slots) -> None:
    """Put arrays in the place of lists of tensors that a block lengthens or shortens."""
    for slot in slots.slots:
        value = slot.read()
        if slot.name in slots.grown and isinstance(value, list) and _holds_tensors(value):
            slot.write(as_array(value))


def _holds_tensors(values: list[Any]) -> bool:
    return all(isinstance(value, (Tensor, bool, int, float)) for value in values)


def as_array(values: list[Any]) -> ArrayVariable:
    """An array with the elements of a list."""
    elements: list[Variable] = [as_variable(value) for value in values]
    dtype = elements[0].raw.dtype if elements else torch.float32
    array = record_array(dtype)
    for position, element in enumerate(elements):
        record_write(array, full([1], position, "int64"), element)
    array.num_initial = len(elements)
    return array


def length_of(array: ArrayVariable) -> Variable:
    """How many elements an array has, a number of a run."""
    length: Variable = record_length(array).reshape([])
    return length


def concat_(x: Any, axis: Any = 0, name: str | None = None) -> Any:
    """``paddle.concat``, of the elements of an array too."""
    if isinstance(x, ArrayVariable):
        return record_joined(x, int(axis), stacks=False)[0]
    return concat(x, axis, name)


def stack_(x: Any, axis: int = 0, name: str | None = None) -> Any:
    """``paddle.stack``, of the elements of an array too."""
    if isinstance(x, ArrayVariable):
        return record_joined(x, int(axis), stacks=True)[0]
    return stack(x, axis, name)
