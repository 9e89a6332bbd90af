"""py_func: a Python function as an operator of a program, with another one for its gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from argosy.foundation.errors import DtypeError, ProgramError, UsageError
from argosy.framework.mode import switch
from argosy.static.ir.lod import LoDTensor
from argosy.static.ir.operator import Ref
from argosy.static.ir.variable import Variable
from argosy.static.record.recorder import recorder


def py_func(
    func: Callable[..., Any],
    x: Any,
    out: Any,
    backward_func: Callable[..., Any] | None = None,
    skip_vars_in_backward_input: Any = None,
) -> Any:
    """Have runs call ``func`` with the values of ``x`` and store what it returns in ``out``,
    variables made beforehand.

    ``func`` gets LoDTensors and returns arrays. ``backward_func`` gets the inputs, the outputs and
    the gradients of the outputs, without ``skip_vars_in_backward_input``, and returns the gradients
    of the inputs; without it none flow.

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     x = paddle.static.data("x", [2])
        ...     y = paddle.static.default_main_program().current_block().create_var("y", [2],
        ...         "float32")
        ...     _ = paddle.static.py_func(lambda x: numpy.tanh(x), x, y)
        ...     paddle.static.Executor().run(feed={"x": numpy.zeros(2, "float32")}, fetch_list=[y])
        [array([0., 0.], dtype=float32)]
        >>> paddle.disable_static()
    """
    if not switch.is_static:
        raise UsageError(
            "py_func: it records an operator of a program; call paddle.enable_static() first"
        )
    if not callable(func) or not (backward_func is None or callable(backward_func)):
        raise DtypeError("py_func: func and backward_func must be callable")
    inputs, outputs = _variables(x, "x"), _variables(out, "out")
    inputs = [recorder.admit(v) for v in inputs]
    skipped = _skipped(
        inputs, outputs, _variables(skip_vars_in_backward_input, "skip_vars_in_backward_input")
    )
    block = recorder.main.current_block()
    for variable in outputs:
        own = recorder.admit(variable)
        is_stopped = backward_func is None or all(v.stop_gradient for v in inputs)
        own.know(own.kind, is_stopped or own.stop_gradient)
    call = HostCall(
        func, backward_func, skipped, [v.raw.dtype for v in outputs], [v.name for v in outputs]
    )
    offsets = [[Ref(name) for name in v.lod_names] for v in inputs]
    recorder.append(block, "py_func", None, (inputs, offsets), {"func": call}, outputs)
    return out


def _variables(value: Any, argument: str) -> list[Variable]:
    items = [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]
    for item in items:
        if not isinstance(item, Variable):
            raise DtypeError(
                f"py_func: {argument} must be a Variable or a list of them, but received "
                f"{type(item).__name__}"
            )
    return items


def _skipped(
    inputs: list[Variable], outputs: list[Variable], skip: list[Variable]
) -> frozenset[int]:
    names = [v.name for v in [*inputs, *outputs]]
    for variable in skip:
        if variable.name not in names:
            raise UsageError(
                f"py_func: Tensor {variable.name} is not found in forward inputs and outputs "
                f"{names}"
            )
    unwanted = {v.name for v in skip}
    return frozenset(i for i, name in enumerate(names) if name in unwanted)


class HostCall:
    """The functions of one operator. ``skipped`` are positions among inputs and outputs that the
    backward function does not get.
    """

    def __init__(
        self,
        forward: Callable[..., Any],
        backward: Callable[..., Any] | None,
        skipped: frozenset[int],
        dtypes: Sequence[torch.dtype],
        names: Sequence[str],
    ) -> None:
        self.forward = forward
        self.backward = backward
        self.skipped = skipped
        self.dtypes = dtypes
        self.names = names

    def __repr__(self) -> str:
        return getattr(self.forward, "__qualname__", repr(self.forward))

    def __call__(
        self, inputs: list[torch.Tensor], offsets: list[list[torch.Tensor]]
    ) -> list[torch.Tensor]:
        lods = [[level.tolist() for level in levels] for levels in offsets]
        if (
            self.backward is not None
            and torch.is_grad_enabled()
            and any(x.requires_grad for x in inputs)
        ):
            out = _Differentiable.apply(self, lods, *inputs)  # type: ignore[no-untyped-call]
            return list(out)
        return self.run(lods, inputs)

    def run(self, lods: list[Any], inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        with torch.no_grad():
            given = [LoDTensor(x.detach(), lod) for x, lod in zip(inputs, lods, strict=True)]
            results = _listed(self.forward(*given))
        if not self.names:
            return []
        if len(results) != len(self.names) or any(r is None for r in results):
            raise ProgramError(
                f"py_func: {self!r} must return values for {list(self.names)}, but returned "
                f"{len(results)}"
            )
        device = inputs[0].device if inputs else torch.device("cpu")
        return [_tensor(r, dtype, device) for r, dtype in zip(results, self.dtypes, strict=True)]

    def run_backward(
        self,
        lods: list[Any],
        held: Sequence[torch.Tensor],
        grads: Sequence[torch.Tensor],
        count: int,
    ) -> list[torch.Tensor | None]:
        """Gradients of the ``count`` inputs, of which ``held`` are the first, followed by the
        outputs.
        """
        assert self.backward is not None
        with torch.no_grad():
            known = [*lods, *[[] for _ in held[count:]]]
            given = [
                LoDTensor(t.detach(), known[i]) for i, t in enumerate(held) if i not in self.skipped
            ]
            results = _listed(self.backward(*given, *[LoDTensor(g.detach()) for g in grads]))
        if len(results) != count:
            raise ProgramError(
                f"py_func: backward_func of {self!r} must return {count} gradients, but returned "
                f"{len(results)}"
            )
        return [
            None if g is None else _tensor(g, x.dtype, x.device).reshape(x.shape)
            for g, x in zip(results, held, strict=False)
        ]


class _Differentiable(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: HostCall, lods: list[Any], *inputs: torch.Tensor) -> Any:
        outputs = call.run(lods, inputs)
        ctx.call, ctx.lods, ctx.count = call, lods, len(inputs)
        ctx.save_for_backward(*inputs, *outputs)
        return tuple(outputs)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return None, None, *ctx.call.run_backward(ctx.lods, ctx.saved_tensors, grads, ctx.count)


def _listed(results: Any) -> list[Any]:
    return list(results) if isinstance(results, (list, tuple)) else [results]


def _tensor(value: Any, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    array = np.asarray(value)  # of a list, an array or a LoDTensor
    return torch.from_numpy(np.array(array)).to(device, dtype)
