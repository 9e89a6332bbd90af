"""Loops that put something out in every turn, as recurrent layers and decoders do: what
``switch.repeat`` of the face records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from argosy.static.ir.block import Block
from argosy.static.ir.variable import Variable
from argosy.static.record.arrays import ArrayVariable, record_array, record_stack, record_write
from argosy.static.record.control import record_loop, record_while
from argosy.static.record.recorder import recorder
from argosy.tensor.creation import zeros
from argosy.tensor.manipulation import reshape


def record_turns(
    block: Block,
    index: Variable,
    count: Callable[[], Variable],
    pairs: Sequence[tuple[Variable, Variable]],
) -> None:
    """Record the loop that runs ``block``, recorded before, while ``index`` is below ``count()``;
    ``pairs`` are what is carried on, with what a turn makes of it.
    """
    with recorder.main.in_block(block.idx):
        following = index + 1
        again = following < count()
    condition = index < count()
    carried = [*pairs, (index, following), (condition, again)]
    targets, results = zip(*carried, strict=True)
    record_loop(block, condition, list(targets), list(results))


def record_steps(
    step: Callable[..., Any], carried: list[Any], again: Any, length: int
) -> tuple[list[Any], list[Any]]:
    """Record ``step`` as the body of a loop, and arrays around it for what it puts out."""
    parent = recorder.main.current_block()
    arrays: list[ArrayVariable] = []

    def kept(time: Any, value: Any) -> ArrayVariable:
        value = recorder.admit(value)
        with recorder.main.in_block(parent.idx):
            array = record_array(value.raw.dtype)
        record_write(array, time, value)
        return array

    def body(time: Any, again: Any, values: list[Any]) -> list[Any]:
        outputs, values, again = step(time, values)
        arrays.extend([kept(time, value) for value in outputs])
        return [time + 1, reshape(again, [1]), list(values)]

    start = [zeros([1], "int64"), reshape(again, [1]), list(carried)]
    _, _, last = record_while(lambda time, again, values: again, body, start)
    return [record_stack(array, length) for array in arrays], last
