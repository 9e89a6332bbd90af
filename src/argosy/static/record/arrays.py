"""Arrays of tensors in a program: lists that a run fills and reads by index, as loops of 1.x do.

An array is a variable whose value is a Python list; its samples are those of its elements, joined
over all that is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from argosy.foundation.errors import ProgramError, UsageError
from argosy.static.ir.block import Block
from argosy.static.ir.variable import OTHER_STAND_IN, STAND_IN, Kind, Known, Variable
from argosy.static.record.kinds import join, paired, without_values
from argosy.static.record.recorder import recorder
from argosy.tensor.creation import full
from argosy.tensor.engine import unique_name


class ArrayVariable(Variable):
    """A variable that holds an array of tensors of one dtype."""

    __slots__ = ()

    type = "lod_tensor_array"
    is_known = False  # whether something was written, so that its samples mean something
    is_mixed = False  # whether its elements differ in more than extents
    # What was written at indices that are known, wherever that was recorded.
    elements: dict[int, Known]
    num_initial = 0  # elements that it was made with

    def __len__(self) -> int:
        raise ProgramError(f"len() of array {self.name!r}: only a run knows it; use array_length")

    def __getitem__(self, index: Any) -> Variable:
        return record_read(
            self, index if isinstance(index, Variable) else full([1], index, "int64")
        )

    def __iter__(self) -> Iterator[Variable]:
        """The elements that it was made with."""
        return (self[i] for i in range(self.num_initial))


def record_array(dtype: torch.dtype) -> ArrayVariable:
    """An empty array for elements of a dtype."""
    block = recorder.main.current_block()
    out = ArrayVariable(
        block, unique_name.generate("array"), torch.empty([], dtype=dtype, device="meta")
    )
    out.elements = {}
    recorder.append(block, "create_array", None, (), {}, block.add_variable(out))
    return out


def record_write(array: ArrayVariable, index: Variable, value: Variable) -> None:
    """Put ``value`` at ``index``; what lies between the end of the array and it stays empty."""
    _require_index("array_write", index)
    array, index, value = (recorder.admit(v) for v in (array, index, value))
    kind = without_values(value.kind)
    position = _constant(index)
    if position is not None:
        array.elements[position] = Known(kind, value.stop_gradient)
    if array.is_known and _are_alike(array.kind, kind):
        kind = join(
            [array.kind, kind],
            ("the array", "what is written"),
            f"array_write: element of {array.name!r}",
        )
    elif array.is_known:
        array.is_mixed = True
    array.define(kind, value.stop_gradient and (array.stop_gradient or not array.is_known))
    array.is_known = True
    recorder.append(
        recorder.main.current_block(), "write_to_array", None, (array, index, value), {}, array
    )


def record_read(array: ArrayVariable, index: Variable) -> Variable:
    """The element at ``index``."""
    _require_index("array_read", index)
    if not array.is_known:
        raise ProgramError(
            f"array_read: nothing was written to {array.name!r} yet, so its elements have no shape"
        )
    kind, stops = array.kind, array.stop_gradient
    if array.is_mixed:
        known = array.elements.get(-1 if (position := _constant(index)) is None else position)
        if known is None:
            raise ProgramError(
                f"array_read: elements of {array.name!r} differ in dtype or number of dimensions, "
                "so that only one at a constant index can be read"
            )
        kind, stops = known.kind, known.stops
    return _computed("read_from_array", (array, index), kind, stops)


def _are_alike(a: Kind, b: Kind) -> bool:
    return a.dtype is b.dtype and len(a.shape) == len(b.shape)


def _constant(index: Variable) -> int | None:
    """The number that an index is known to be while recording, if it is."""
    return None if index.raw.device.type == "meta" else int(index.raw)


def record_length(array: ArrayVariable) -> Variable:
    """The number of elements."""
    return _computed(
        "lod_array_length",
        (array,),
        Kind(torch.empty([1], dtype=torch.int64, device="meta")),
        True,
    )


def record_stack(array: ArrayVariable, length: int = -1) -> Variable:
    """All elements in one tensor, in a new first dimension of ``length``, if that is known."""
    kind = array.kind
    sizes = (STAND_IN, OTHER_STAND_IN) if length < 0 else (length, length)
    stacked, other = (
        torch.empty([size, *kind.sample(bool(is_other)).shape], dtype=kind.dtype, device="meta")
        for is_other, size in enumerate(sizes)
    )
    return _computed("stack_array", (array,), paired(stacked, other), array.stop_gradient)


def _computed(operator: str, args: tuple[Any, ...], kind: Kind, stops: bool) -> Variable:
    block: Block = recorder.main.current_block()
    args = tuple(recorder.admit(a) for a in args)
    name = unique_name.generate(f"{unique_name.generate(operator)}.tmp")
    out = block.add_variable(Variable(block, name, kind.first, kind.second, stop_gradient=stops))
    recorder.append(block, operator, None, args, {}, out)
    return out


def _require_index(call: str, index: Any) -> None:
    if (
        not isinstance(index, Variable)
        or index.raw.dtype not in (torch.int64, torch.int32)
        or index.size not in (1, -1)
    ):
        raise UsageError(
            f"{call}: i must be an integer variable of one element, but received {index!r}"
        )
