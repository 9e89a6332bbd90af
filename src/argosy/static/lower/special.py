"""The text of special operators that run no blocks: gradients, arrays, printing, functions of the
script.
"""

from __future__ import annotations

from typing import Any

import torch

from argosy.ops.sequences.beam import backtraced
from argosy.static.ir.operator import Operator
from argosy.static.lower import arrays
from argosy.static.lower.emitter import Emitter, emits
from argosy.static.lower.printing import Checker, Printer
from argosy.static.lower.text import listed

_ARRAY_FUNCTIONS: dict[str, Any] = {
    "create_array": list,
    "write_to_array": arrays.write,
    "read_from_array": arrays.read,
    "lod_array_length": arrays.length,
    "pop_from_array": arrays.pop,
    "stack_array": torch.stack,
    "lod_tensor_to_array": arrays.steps,
    "array_to_lod_tensor": arrays.sequences,
    "tensor_array_to_tensor": arrays.joined,
    "beam_search_decode": backtraced,
}


@emits("backward")
def _emit_backward(emitter: Emitter, index: int, operator: Operator) -> None:
    pairs = emitter.uses.wanted_gradients(index)
    if not pairs:
        return
    text = emitter.text
    is_last = emitter.is_last_backward(index)
    inputs = listed(text.local(x) for x, _ in pairs)
    outputs = listed(text.local(g) for _, g in pairs)
    targets, seeds = emitter.expression(operator.args[0]), emitter.expression(operator.args[2])
    rows = tuple(i for i, (_, g) in enumerate(pairs) if g in emitter.rows)
    kept = f", rows={rows}" if rows else ""
    text.append(
        f"[{outputs}] = gradients_of({targets}, [{inputs}], {seeds}, {not is_last}, "
        f"{not is_last}{kept})"
    )


@emits(*_ARRAY_FUNCTIONS)
def _emit_array(emitter: Emitter, index: int, operator: Operator) -> None:
    call = _called(emitter, _ARRAY_FUNCTIONS[operator.type], operator)
    emitter.text.append(f"{emitter.pattern(operator, operator.out)} = {call}")


@emits("print")
def _emit_print(emitter: Emitter, index: int, operator: Operator) -> None:
    out = operator.output_arg_names[0]
    printer = Printer(operator.args[0].name, out, operator.kwargs)
    emitter.text.append(f"{emitter.text.local(out)} = {_called(emitter, printer, operator)}")
    if emitter.stops(operator, out):
        emitter.detach(out)


@emits("no_value")
def _emit_no_value(emitter: Emitter, index: int, operator: Operator) -> None:
    emitter.leave_unset(operator.output_arg_names, operator)
    emitter.kept_unset.update(dict.fromkeys(operator.output_arg_names, operator))


@emits("assert")
def _emit_assert(emitter: Emitter, index: int, operator: Operator) -> None:
    checker = Checker(operator.args[0].name, operator.kwargs)
    emitter.text.append(_called(emitter, checker, operator))


@emits("py_func")
def _emit_py_func(emitter: Emitter, index: int, operator: Operator) -> None:
    call = _called(emitter, operator.kwargs["func"], operator)
    left = listed(emitter.text.local(name) for name in operator.output_arg_names)
    emitter.text.append(f"[{left}] = {call}" if left else call)


def _called(emitter: Emitter, function: Any, operator: Operator) -> str:
    given = ", ".join(emitter.expression(a) for a in operator.args)
    return f"{emitter.text.constant(function, 'f')}({given})"
