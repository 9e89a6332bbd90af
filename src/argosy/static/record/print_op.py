"""Print: an operator that writes a value, and the gradient that comes back to it, to the standard
output of a run.
"""

from __future__ import annotations

from typing import Any

from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, UsageError
from argosy.framework.mode import switch
from argosy.static.ir.operator import Operator, Ref
from argosy.static.ir.variable import Known, Variable
from argosy.static.record.recorder import recorder
from argosy.static.record.reinfer import Environment, Inference, known_in, reinfers
from argosy.tensor.engine import unique_name

PHASES = ("FORWARD", "BACKWARD", "BOTH")
_DTYPES = ("bfloat16", "float16", "float32", "float64", "int32", "int64", "bool")


def Print(
    input: Any,
    first_n: int = -1,
    message: str | None = None,
    summarize: int = 20,
    print_tensor_name: bool = True,
    print_tensor_type: bool = True,
    print_tensor_shape: bool = True,
    print_tensor_layout: bool = True,
    print_tensor_lod: bool = True,
    print_phase: str = "both",
) -> Variable:
    """Write the value of ``input`` whenever a run computes it; returns a variable with that value,
    through which gradients flow.

    ``first_n`` limits how often, ``summarize`` how many elements (-1: all). ``print_phase`` is
    'forward', 'backward' (the gradient) or 'both'.
    """
    if not switch.is_static:
        raise UsageError(
            "static.Print: it records an operator of a program; call paddle.enable_static() first"
        )
    if not isinstance(input, Variable):
        raise DtypeError(
            f"static.Print: input must be a Variable, but received {type(input).__name__}"
        )
    if dtypes.name_of(input.raw.dtype) not in _DTYPES:
        raise DtypeError(
            f"static.Print: the dtype of input must be one of {', '.join(_DTYPES)}, but received "
            f"{dtypes.name_of(input.raw.dtype)}"
        )
    if str(print_phase).upper() not in PHASES:
        raise UsageError(
            "static.Print: print_phase must be 'forward', 'backward' or 'both', but received "
            f"{print_phase!r}"
        )
    input = recorder.admit(input)
    block = recorder.main.current_block()
    name = unique_name.generate(f"{unique_name.generate('print')}.tmp")
    out = Variable(
        block, name, input.raw, input.alt, stop_gradient=input.stop_gradient, lod=input.lod_names
    )
    shown = {
        "first_n": int(first_n),
        "message": message or "",
        "summarize": int(summarize),
        "print_tensor_name": bool(print_tensor_name),
        "print_tensor_type": bool(print_tensor_type),
        "print_tensor_shape": bool(print_tensor_shape),
        "print_tensor_layout": bool(print_tensor_layout),
        "print_tensor_lod": bool(print_tensor_lod),
        "print_phase": str(print_phase).upper(),
    }
    offsets = [Ref(offset) for offset in input.lod_names]
    recorder.append(block, "print", None, (input, offsets), shown, block.add_variable(out))
    return out


@reinfers("print")
def _reinfer_print(inference: Inference, operator: Operator, env: Environment) -> None:
    source, out = (known_in(env, operator.block, r.name) for r in (operator.args[0], operator.out))
    env[operator.out.name] = Known(source.kind, source.stops and out.stops)
