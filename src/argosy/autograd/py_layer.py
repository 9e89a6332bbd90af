"""PyLayer: an operation whose forward and backward are written in Python.

One torch Function carries every PyLayer. It sees the flat list of torch tensors; ``_Call`` knows
how they sit in the arguments and results of the user's functions.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import torch

from argosy.autograd._grad_mode import no_grad
from argosy.autograd.backward_mode import mark_final
from argosy.foundation.errors import UsageError
from argosy.tensor.engine import Tensor, check_writable, wrap

__all__ = ["PyLayer", "PyLayerContext", "once_differentiable"]


class NoBackward(UsageError, NotImplementedError, OSError):
    """A gradient is wanted of a PyLayer that says only forward."""


class PyLayerContext:
    """What forward hands to backward. Free attributes are kept too."""

    container: Any = None
    not_inplace_tensors: tuple[Tensor, ...] = ()
    non_differentiable: tuple[Tensor, ...] = ()
    materialize_grads = True
    grad_in_dtype_consistent = True

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for backward. Call it once, in forward."""
        self.container = tensors

    def saved_tensor(self) -> Any:
        """What ``save_for_backward`` kept, as a tuple; None if it was not called."""
        return self.container

    def mark_not_inplace(self, *args: Tensor) -> None:
        """Say that these inputs, though returned by forward, are not changed by it: the result is a
        new Tensor.
        """
        self.not_inplace_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Say that these outputs have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Give backward None, not zeros, for outputs without a gradient when ``value`` is False."""
        self.materialize_grads = value

    def set_grad_in_dtype_consistent(self, flag: bool) -> None:
        """Accepted for Paddle's sake: gradients come in the dtype of their output either way."""
        self.grad_in_dtype_consistent = flag


class PyLayer:
    """Base of operations with their own backward.

    ``forward(ctx, ...)`` takes anything and returns a Tensor or a tuple; ``backward(ctx, *grads)``
    takes one gradient per Tensor returned and gives one per Tensor taken (None where there is
    none).

    Example:
        >>> import paddle
        >>> class Twice(paddle.autograd.PyLayer):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return grad * 2
        >>> x = paddle.to_tensor([1.0], stop_gradient=False)
        >>> Twice.apply(x).backward()
        >>> x.grad.item()
        2.0
    """

    @staticmethod
    def forward(ctx: PyLayerContext, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            "PyLayer: forward must be defined by the subclass, as a staticmethod"
        )

    @staticmethod
    def backward(ctx: PyLayerContext, *args: Any) -> Any:
        raise NoBackward("PyLayer: backward must be defined by the subclass, as a staticmethod")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward so that backward of what follows goes through this layer's backward."""
        call = _Call(cls, args, kwargs)
        raws = _Bridge.apply(call, *[t.raw for t in call.inputs])  # type: ignore[no-untyped-call]
        return call.results(raws)


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a ``backward`` that cannot itself be differentiated."""

    @functools.wraps(backward)
    def wrapper(ctx: PyLayerContext, *args: Any) -> Any:
        with no_grad():
            returned = backward(ctx, *args)
        for value in returned if isinstance(returned, (list, tuple)) else (returned,):
            if isinstance(value, Tensor):
                mark_final(value.raw)
        return returned

    return wrapper


def _slots(values: Any) -> list[Tensor | list[Tensor]]:
    """The Tensors, and the lists or tuples of nothing but Tensors, among ``values``."""
    found: list[Tensor | list[Tensor]] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif (
            isinstance(value, (list, tuple)) and value and all(isinstance(v, Tensor) for v in value)
        ):
            found.append(list(value))
    return found


def _flat(slots: list[Tensor | list[Tensor]]) -> list[Tensor]:
    return [t for slot in slots for t in (slot if isinstance(slot, list) else [slot])]


class _Call:
    """One application of a PyLayer: how its arguments and results map to the flat tensors of the
    engine.
    """

    def __init__(self, layer: type[PyLayer], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.layer = layer
        self.context = PyLayerContext()
        slots = _slots([*args, *kwargs.values()])
        self.inputs = _flat(slots)
        self.input_sizes = [len(slot) if isinstance(slot, list) else None for slot in slots]
        self.wants_grad = [t.raw.requires_grad for t in self.inputs]
        self.shapes = [t.raw.shape for t in self.inputs]
        self._arguments: Any = (args, kwargs)
        self._saved: list[Any] = []

    def forward(self, ctx: Any) -> tuple[torch.Tensor, ...]:
        """Run the user's forward and tell the engine what to keep."""
        context = self.context
        args, kwargs = self._arguments
        result = self.layer.forward(context, *args, **kwargs)
        self._result = result
        slots = _slots(result if isinstance(result, (list, tuple)) else [result])
        if not slots:
            raise UsageError(
                f"{self.layer.__name__}.forward: at least one output must be a Tensor, but it "
                f"returned {type(result).__name__}"
            )
        outputs = _flat(slots)
        self._output_sizes = [len(slot) if isinstance(slot, list) else None for slot in slots]
        self._check_inplace(outputs)
        saved = context.container
        if saved is not None:
            ctx.save_for_backward(*[v.raw for v in saved if isinstance(v, Tensor)])
            # weak: the engine decides what stays in memory; alive, the very same object is handed
            # back
            self._saved = [weakref.ref(v) if isinstance(v, Tensor) else v for v in saved]
        ctx.mark_non_differentiable(*[t.raw for t in context.non_differentiable])
        ctx.set_materialize_grads(context.materialize_grads)
        return tuple(t.raw for t in outputs)

    def _check_inplace(self, outputs: list[Tensor]) -> None:
        inputs = {id(t) for t in self.inputs} - {id(t) for t in self.context.not_inplace_tensors}
        self._overwritten = {id(t) for t in outputs} & inputs
        with torch.enable_grad():
            for t in self.inputs:
                if id(t) in self._overwritten:
                    check_writable(t, f"{self.layer.__name__}.apply")

    def results(self, raws: tuple[torch.Tensor, ...]) -> Any:
        """What the user's forward returned, with its Tensors now part of the graph."""
        rest = iter(raws)

        def rebuild(value: Any) -> Any:
            if isinstance(value, Tensor):
                raw = next(rest)
                if id(value) not in self._overwritten:
                    return wrap(raw)
                value.raw = raw
                return value
            if isinstance(value, (list, tuple)) and _slots([value]):
                return type(value)(rebuild(v) for v in value)
            return value

        result = self._result
        if isinstance(result, (list, tuple)):
            out: Any = type(result)(rebuild(v) for v in result)
        else:
            out = rebuild(result)
        # backward needs none of these; dropping them frees what forward did not ask to keep
        self._result = self._arguments = None
        self.inputs = []
        self.context.container = None
        return out

    def backward(
        self, ctx: Any, grads: tuple[torch.Tensor | None, ...]
    ) -> list[torch.Tensor | None]:
        """Run the user's backward; one raw gradient per flat input comes back."""
        rest = iter([None if g is None else wrap(g) for g in grads])
        given = [
            next(rest) if n is None else [next(rest) for _ in range(n)] for n in self._output_sizes
        ]
        context = self.context
        context.container = self._restore(ctx)
        try:
            returned = self.layer.backward(context, *given)
        finally:
            context.container = None
        return self._flat_gradients(returned)

    def _restore(self, ctx: Any) -> Any:
        if not self._saved:
            return None
        raws = iter(ctx.saved_tensors)
        values = []
        for kept in self._saved:
            if isinstance(kept, weakref.ref):
                raw, original = next(raws), kept()
                values.append(
                    original if original is not None and original.raw is raw else wrap(raw)
                )
            else:
                values.append(kept)
        return tuple(values)

    def _flat_gradients(self, returned: Any) -> list[torch.Tensor | None]:
        name = f"{self.layer.__name__}.backward"
        sizes = self.input_sizes
        if isinstance(returned, list) and len(sizes) > 1:
            returned = tuple(returned)
        by_slot = list(returned) if isinstance(returned, tuple) else [returned]
        if len(by_slot) > len(sizes):
            raise UsageError(
                f"{name}: the number of outputs should be {len(sizes)}, one for each Tensor "
                "given to forward, "
                f"but received {len(by_slot)}"
            )
        flat: list[Any] = []
        for i, size in enumerate(sizes):
            value = by_slot[i] if i < len(by_slot) else _MISSING
            if size is None:
                flat.append(value)
            elif isinstance(value, (list, tuple)) and len(value) == size:
                flat.extend(value)
            elif value is None or value is _MISSING:
                flat.extend([value] * size)
            else:
                raise UsageError(
                    f"{name}: output {i} must be a list of {size} gradients, as forward's "
                    "argument was"
                )
        return [self._raw_gradient(name, i, value) for i, value in enumerate(flat)]

    def _raw_gradient(self, name: str, i: int, value: Any) -> torch.Tensor | None:
        if value is _MISSING:
            if self.wants_grad[i]:
                raise UsageError(
                    f"{name}: no gradient was returned for Tensor {i} of forward, which needs one"
                )
            return None
        if value is None:
            return None
        if not isinstance(value, Tensor):
            raise UsageError(
                f"{name}: gradient {i} must be a Tensor or None, but received "
                f"{type(value).__name__}"
            )
        if not self.wants_grad[i]:
            raise UsageError(
                f"{name}: gradient {i} must be None, because Tensor {i} of forward has "
                "stop_gradient=True"
            )
        if value.raw.shape != self.shapes[i]:
            raise UsageError(
                f"{name}: gradient {i} has shape {value.shape}, Tensor {i} of forward "
                f"{list(self.shapes[i])}; "
                "they must be equal"
            )
        return value.raw


_MISSING = object()


class _Bridge(torch.autograd.Function):
    """The one torch Function behind every PyLayer."""

    @staticmethod
    def forward(ctx: Any, call: _Call, *raws: torch.Tensor) -> Any:
        ctx.call = call
        return call.forward(ctx)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, *ctx.call.backward(ctx, grads))
