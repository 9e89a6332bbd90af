"""Arrays of tensors in a program: lists that a run fills and reads by index, as loops of 1.x do.

An array is a variable whose value is a Python list; its samples are those of its elements, joined
over all that is written. Where elements are sequences, further arrays hold their offsets, a level
each: ``lod_names`` of an array names these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch

from argosy.foundation.errors import ProgramError, UsageError
from argosy.static.ir.block import Block
from argosy.static.ir.operator import Operator, Ref
from argosy.static.ir.variable import (
    OTHER_STAND_IN,
    STAND_IN,
    Kind,
    Known,
    Variable,
    offset_samples,
    samples,
)
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
    elements: Mapping[int, Known] = MappingProxyType({})
    num_initial = 0  # elements that it was made with

    def __len__(self) -> int:
        raise ProgramError(f"len() of array {self.name!r}: only a run knows it; use array_length")

    def __getitem__(self, index: Any) -> Variable:
        return record_read(
            self, index if isinstance(index, Variable) else full([1], index, "int64")
        )

    def append(self, value: Any) -> None:
        """Record that ``value`` is put behind the last element."""
        record_write(self, record_length(self), value)

    def pop(self, position: int = -1) -> Variable:
        """Record that an element is taken out; returns it."""
        return record_pop(self, position)

    def __iter__(self) -> Iterator[Variable]:
        """The elements that it was made with."""
        return (self[i] for i in range(self.num_initial))


def record_array(dtype: torch.dtype) -> ArrayVariable:
    """An empty array for elements of a dtype."""
    block = recorder.main.current_block()
    out = new_array(block, Kind(torch.empty([], dtype=dtype, device="meta")))
    recorder.append(block, "create_array", None, (), {}, out)
    return out


def new_array(block: Block, kind: Kind, stops: bool = True) -> ArrayVariable:
    """A variable of ``block`` for an array of elements of ``kind``."""
    name = unique_name.generate("array")
    return block.add_variable(
        ArrayVariable(block, name, kind.first, kind.second, stop_gradient=stops)
    )


def record_write(array: ArrayVariable, index: Variable, value: Variable) -> None:
    """Put ``value`` at ``index``; what lies between the end of the array and it stays empty."""
    _require_index("array_write", index)
    array, index, value = (recorder.admit(v) for v in (array, index, value))
    lod = [_found(value.block, name) for name in value.lod_names]
    if not array.is_known:
        array.lod_names = tuple(_companion(array).name for _ in lod)
    kind = without_values(value.kind)
    position = _constant(index)
    if position is not None:
        array.elements = {**array.elements, position: Known(kind, value.stop_gradient)}
    is_alike = kind.dtype is array.raw.dtype and kind.first.ndim == array.raw.ndim
    if array.is_known and is_alike:
        kind = join([array.kind, kind], ("the array", "what is written"), array.name)
    elif array.is_known:
        array.is_mixed = True
    array.define(kind, value.stop_gradient and (array.stop_gradient or not array.is_known))
    array.is_known = True
    _append_write(array, index, value)
    for name, offsets in zip(array.lod_names, lod, strict=False):
        _append_write(_found(array.block, name), index, offsets)


def _append_write(array: Variable, index: Variable, value: Variable) -> None:
    block = recorder.main.current_block()
    recorder.append(block, "write_to_array", None, (array, index, value), {}, array)


def _companion(array: ArrayVariable) -> ArrayVariable:
    """A new array for offsets, made where ``array`` is."""
    block = array.block
    out = new_array(block, Kind(*offset_samples()))  # type: ignore[arg-type]
    out.is_known = True
    maker = next(i for i, o in enumerate(block.ops) if array.name in o.output_arg_names)
    block.ops.insert(maker, Operator(block, "create_array", None, (), {}, Ref(out.name)))
    block.program.changed()
    return out


def _found(block: Any, name: str) -> Any:
    found = block.find_var_recursive(name)
    assert found is not None  # a variable of the block names it
    return found


def record_read(array: ArrayVariable, index: Variable) -> Variable:
    """The element at ``index``."""
    _require_index("array_read", index)
    if not array.is_known:
        raise ProgramError(
            f"array_read: nothing was written to {array.name!r} yet, so its elements have no shape"
        )
    kind, stops = array.kind, array.stop_gradient
    known = None if (position := _constant(index)) is None else array.elements.get(position)
    if array.is_mixed and known is not None:
        kind, stops = known.kind, known.stops
    out = _computed("read_from_array", (array, index), kind, stops)
    levels = [_found(array.block, name) for name in array.lod_names]
    out.lod_names = tuple(record_read(level, index).name for level in levels)
    return out


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


def record_pop(array: ArrayVariable, position: int) -> Variable:
    """Take the element at a position out."""
    if not array.is_known:
        raise ProgramError(f"pop: nothing was written to {array.name!r} yet")
    block: Block = recorder.main.current_block()
    out = _new(block, "pop_from_array", array.kind)
    out.stop_gradient = array.stop_gradient
    recorder.append(block, "pop_from_array", None, (array, int(position)), {}, [out, array])
    return out


def record_stack(array: ArrayVariable, length: int = -1) -> Variable:
    """All elements in one tensor, in a new first dimension of ``length``, if that is known."""
    kind = array.kind
    sizes = (STAND_IN, OTHER_STAND_IN) if length < 0 else (length, length)
    stacked, other = (
        torch.empty([size, *kind.sample(bool(is_other)).shape], dtype=kind.dtype, device="meta")
        for is_other, size in enumerate(sizes)
    )
    return _computed("stack_array", (array,), paired(stacked, other), array.stop_gradient)


def record_steps(x: Variable, levels: Sequence[Variable], table: Variable) -> ArrayVariable:
    """An array with what the sequences of ``x`` have in each step, in the order of ``table``.

    ``levels`` are the offsets of ``x`` from the level of the table on.
    """
    x, *levels = (recorder.admit(v) for v in (x, *levels))
    block: Block = recorder.main.current_block()
    rows, other = (
        torch.empty([n, *x.kind.sample(bool(i)).shape[1:]], dtype=x.raw.dtype, device="meta")
        for i, n in enumerate((STAND_IN, OTHER_STAND_IN))
    )
    out = new_array(block, Kind(rows, other), x.stop_gradient)
    lods = [new_array(block, Kind(*offset_samples())) for _ in levels[1:]]
    for array in (out, *lods):
        array.is_known = True
    out.lod_names = tuple(array.name for array in lods)
    args = (x, levels, recorder.admit(table))
    recorder.append(block, "lod_tensor_to_array", None, args, {}, [out, lods])
    return out


def record_sequences(array: Variable, table: Variable) -> Variable:
    """The sequences whose steps ``array`` has, in the order that they had before ``table``. As in
    Paddle only a run finds out whether it is an array.
    """
    if isinstance(array, ArrayVariable) and not array.is_known:
        raise ProgramError(f"array_to_lod_tensor: nothing was written to {array.name!r} yet")
    block: Block = recorder.main.current_block()
    kind = array.kind
    row = [
        n if n == m else -1 for n, m in zip(kind.first.shape, kind.sample(True).shape, strict=True)
    ]
    out = _new(block, "array_to_lod_tensor", Kind(*samples([-1, *row[1:]], kind.dtype)))
    out.stop_gradient = array.stop_gradient
    levels = [_found(array.block, name) for name in array.lod_names]
    offsets = [_new(block, "array_to_lod_tensor", Kind(*offset_samples())) for _ in levels]
    out.lod_names = (*table.lod_names, *(v.name for v in offsets))
    args = (recorder.admit(array), levels, recorder.admit(table))
    recorder.append(block, "array_to_lod_tensor", None, args, {}, [out, offsets])
    return out


def record_joined(array: ArrayVariable, axis: int, stacks: bool) -> tuple[Variable, Variable]:
    """All elements in one tensor, one behind the other on ``axis`` or in a new one, and how long
    each is there.
    """
    if not array.is_known:
        raise ProgramError(f"tensor_array_to_tensor: nothing was written to {array.name!r} yet")
    block: Block = recorder.main.current_block()
    shape = list(array.kind.shape)
    axis = axis + len(shape) + stacks if axis < 0 else axis
    shape = [*shape[:axis], -1, *shape[axis + (not stacks) :]]
    out = _new(block, "tensor_array_to_tensor", Kind(*samples(shape, array.raw.dtype)))
    out.stop_gradient = array.stop_gradient
    sizes = _new(block, "tensor_array_to_tensor", Kind(*samples([-1], torch.int32)))
    args = (recorder.admit(array), axis, stacks)
    recorder.append(block, "tensor_array_to_tensor", None, args, {}, [out, sizes])
    return out, sizes


def record_backtrace(
    ids: ArrayVariable, scores: ArrayVariable, beam_size: int, end_id: int
) -> tuple[Variable, Variable]:
    """The sequences that the steps of a beam search lead to, and their scores."""
    block: Block = recorder.main.current_block()
    kinds = [Kind(*samples([-1], array.raw.dtype)) for array in (ids, scores)]
    out, marks = (_new(block, "beam_search_decode", kind) for kind in kinds)
    lod = [_new(block, "beam_search_decode", Kind(*offset_samples())) for _ in range(2)]
    out.lod_names = marks.lod_names = tuple(v.name for v in lod)
    levels = [_found(ids.block, name) for name in ids.lod_names]
    args = (recorder.admit(ids), recorder.admit(scores), levels, beam_size, end_id)
    recorder.append(block, "beam_search_decode", None, args, {}, [out, marks, lod])
    return out, marks


def _new(block: Block, operator: str, kind: Kind) -> Variable:
    name = unique_name.generate(f"{unique_name.generate(operator)}.tmp")
    return block.add_variable(Variable(block, name, kind.first, kind.second))


def _computed(operator: str, args: tuple[Any, ...], kind: Kind, stops: bool) -> Variable:
    block: Block = recorder.main.current_block()
    args = tuple(recorder.admit(a) for a in args)
    out = _new(block, operator, kind)
    out.stop_gradient = stops
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
