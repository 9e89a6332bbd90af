"""Print: an operator that writes a value, and the gradient that comes back to it, to the standard output of a run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, UsageError
from argosy.foundation.places import Place
from argosy.framework._mode import switch
from argosy.static._operator import Operator, Ref
from argosy.static._recorder import recorder
from argosy.static._variable import Variable
from argosy.tensor._naming import unique_name

if TYPE_CHECKING:
    from argosy.static._emitter import Emitter

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
    """Write the value of ``input`` whenever a run computes it; returns a variable with that value, through which gradients flow.

    ``first_n`` limits how often, ``summarize`` how many elements (-1: all). ``print_phase`` is 'forward', 'backward' (the gradient) or 'both'.
    """
    if not switch.is_static:
        raise UsageError("static.Print: it records an operator of a program; call paddle.enable_static() first")
    if not isinstance(input, Variable):
        raise DtypeError(f"static.Print: input must be a Variable, but received {type(input).__name__}")
    if dtypes.name_of(input._t.dtype) not in _DTYPES:
        raise DtypeError(
            f"static.Print: the dtype of input must be one of {', '.join(_DTYPES)}, but received {dtypes.name_of(input._t.dtype)}"
        )
    if str(print_phase).upper() not in PHASES:
        raise UsageError(
            f"static.Print: print_phase must be 'forward', 'backward' or 'both', but received {print_phase!r}"
        )
    input = recorder._admit(input)
    block = recorder.main.current_block()
    name = unique_name.generate(f"{unique_name.generate('print')}.tmp")
    out = Variable(block, name, input._t, input._alt, stop_gradient=input.stop_gradient, lod=input._lod)
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
    offsets = [Ref(offset) for offset in input._lod]
    recorder.append(block, "print", None, (input, offsets), shown, block._add(out))
    return out


class Printer:
    """Writes the values that come to one operator; counts them, values and gradients apart."""

    def __init__(self, name: str, out_name: str, shown: dict[str, Any]) -> None:
        self._names = {"FORWARD": name, "BACKWARD": f"{out_name}@GRAD"}
        self._shown = shown
        self._counts = {"FORWARD": 0, "BACKWARD": 0}

    def __call__(self, value: torch.Tensor, offsets: list[torch.Tensor]) -> torch.Tensor:
        lod = [level.tolist() for level in offsets]
        self.write("FORWARD", value, lod)
        if torch.is_grad_enabled() and value.requires_grad:
            return _Observed.apply(self, lod, value)  # type: ignore[no-untyped-call, no-any-return]
        return value.clone()

    def write(self, phase: str, value: torch.Tensor, lod: list[list[int]]) -> None:
        if self._shown["print_phase"] not in (phase, "BOTH"):
            return
        limit = self._shown["first_n"]
        if 0 < limit <= self._counts[phase]:
            return
        self._counts[phase] += 1
        sys.stdout.write("\n".join(self._lines(self._names[phase], value, lod)) + "\n")
        sys.stdout.flush()

    def _lines(self, name: str, value: torch.Tensor, lod: list[list[int]]) -> list[str]:
        shown = self._shown
        count = shown["summarize"]
        flat = value.detach().flatten()
        numbers = (flat if count < 0 else flat[:count]).tolist()
        levels = "".join(f"{{{', '.join(map(str, level))}}}" for level in lod)
        lines = [
            (shown["print_tensor_name"], f"Variable: {name}"),
            (bool(shown["message"]), f"  - message: {shown['message']}"),
            (shown["print_tensor_lod"], f"  - lod: {{{levels}}}"),
            (True, f"  - place: {Place(str(value.device))!r}"),
            (shown["print_tensor_shape"], f"  - shape: {list(value.shape)}"),
            (shown["print_tensor_layout"], "  - layout: NCHW"),
            (shown["print_tensor_type"], f"  - dtype: {dtypes.name_of(value.dtype)}"),
            (True, f"  - data: [{' '.join(_number(n) for n in numbers)}]"),
        ]
        return [line for is_wanted, line in lines if is_wanted]


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(int(value))


class _Observed(torch.autograd.Function):
    """A copy that shows the gradient that comes back."""

    @staticmethod
    def forward(ctx: Any, printer: Printer, lod: list[list[int]], value: torch.Tensor) -> torch.Tensor:
        ctx.printer, ctx.lod = printer, lod
        return value.clone()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        ctx.printer.write("BACKWARD", grad, ctx.lod)
        return None, None, grad


def emit_print(emitter: Emitter, index: int, operator: Operator) -> None:
    out = operator.output_arg_names[0]
    printer = Printer(operator.args[0].name, out, operator.kwargs)
    given = ", ".join(emitter.expression(a) for a in operator.args)
    emitter.lines.append(f"{emitter.local(out)} = {emitter.constant(printer, 'f')}({given})")
    if emitter.stops(operator, out):
        emitter.lines.append(f"{emitter.local(out)} = {emitter.local(out)}.detach()")
