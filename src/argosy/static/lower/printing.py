"""What ``print`` and ``assert`` operators do in a run: the one writes a value, and the gradient
that comes back to it, the other ends the run where a condition does not hold.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

from argosy.foundation import dtypes
from argosy.foundation.places import Place
from argosy.static.record.assert_op import failed


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


class Checker:
    """Ends a run where the condition of one ``assert`` operator does not hold."""

    def __init__(self, name: str, shown: dict[str, Any]) -> None:
        self._name = name
        self._shown = shown

    def __call__(self, condition: torch.Tensor, data: list[torch.Tensor]) -> None:
        if not condition:
            raise failed(self._name, data, **self._shown)


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(int(value))


class _Observed(torch.autograd.Function):
    """A copy that shows the gradient that comes back."""

    @staticmethod
    def forward(
        ctx: Any, printer: Printer, lod: list[list[int]], value: torch.Tensor
    ) -> torch.Tensor:
        ctx.printer, ctx.lod = printer, lod
        return value.clone()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        ctx.printer.write("BACKWARD", grad, ctx.lod)
        return None, None, grad
