"""What the operators on arrays of tensors do in a run: an array is a Python list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from argosy.foundation.errors import OutOfRange
from argosy.static.ir.operator import Operator

if TYPE_CHECKING:
    from argosy.static.lower.emitter import Emitter


def write(array: list[Any], index: torch.Tensor, value: torch.Tensor) -> list[Any]:
    position = int(index)
    if not 0 <= position <= len(array):
        raise OutOfRange(f"array_write: index {position} of an array of {len(array)} elements")
    array[position : position + 1] = [value]
    return array


def read(array: list[Any], index: torch.Tensor) -> torch.Tensor:
    position = int(index)
    if not 0 <= position < len(array):
        raise OutOfRange(f"array_read: index {position} of an array of {len(array)} elements")
    return array[position]  # type: ignore[no-any-return]


def length(array: list[Any]) -> torch.Tensor:
    return torch.tensor([len(array)])


_FUNCTIONS = {
    "create_array": list,
    "write_to_array": write,
    "read_from_array": read,
    "lod_array_length": length,
    "stack_array": torch.stack,
}


def emit_array(emitter: Emitter, index: int, operator: Operator) -> None:
    given = ", ".join(emitter.expression(a) for a in operator.args)
    function = emitter.constant(_FUNCTIONS[operator.type], "f")
    emitter.lines.append(f"{emitter.local(operator.output_arg_names[0])} = {function}({given})")
