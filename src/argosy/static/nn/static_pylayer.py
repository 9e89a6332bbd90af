"""static_pylayer: a function of a program with gradients that another function says."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from argosy.foundation.errors import DtypeError, UsageError
from argosy.framework.mode import switch
from argosy.static.ir.operator import leaves, mapped
from argosy.static.ir.variable import Variable
from argosy.static.record.control import sub_block
from argosy.static.record.pylayer import RecordedLayer, result_like
from argosy.static.record.recorder import recorder


class WrongCall(UsageError, AssertionError):
    """static_pylayer was called in eager mode, or with inputs that are no list."""


class StaticPyLayerBlock:
    """Records a ``pylayer`` operator block by block: ``fwd_outputs`` are variables around the
    forward block that it writes, ``var_old_to_new`` says which variable of the backward block is
    ``NAME@GRAD`` of an input ``NAME``.
    """

    def __init__(self, inputs: Any, name: str | None = None, pylayer_context: Any = None) -> None:
        self.fwd_inputs = [v for v in inputs if isinstance(v, Variable)]
        self.fwd_outputs: list[Variable] = []
        self.var_old_to_new: dict[str, str] = {}
        self.context = pylayer_context
        self.grads: list[Variable] = []  # of the outputs, in the backward block
        self._layer = RecordedLayer(self.fwd_inputs)

    def block(
        self, is_backward_block: bool = False
    ) -> contextlib.AbstractContextManager[StaticPyLayerBlock]:
        """Record one of the blocks."""
        return self._backward() if is_backward_block else self._forward()

    @contextlib.contextmanager
    def _forward(self) -> Iterator[StaticPyLayerBlock]:
        with sub_block() as block:
            yield self
        self._layer.finish_forward(block, self.fwd_outputs, self.fwd_outputs)

    @contextlib.contextmanager
    def _backward(self) -> Iterator[StaticPyLayerBlock]:
        found: list[Variable | None] = []
        with self._layer.backward(found) as self.grads:
            yield self
            block = recorder.main.current_block()
            inner = {new: block.var(old) for old, new in self.var_old_to_new.items()}
            found += [inner.get(v.grad_name) for v in self.fwd_inputs]


def static_pylayer(
    forward_fn: Callable[..., Any],
    inputs: list[Any],
    backward_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """Record ``forward_fn(*inputs)``. The gradients of the inputs are what ``backward_fn`` makes of
    those of the results, whatever the function computes; without it none flow.

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program()):
        ...     x = paddle.static.data("x", [1])
        ...     x.stop_gradient = False
        ...     y = paddle.static.nn.static_pylayer(lambda x: 3 * x, [x], lambda dy: -5 * dy)
        ...     [dx] = paddle.static.gradients(y, x)
        ...     paddle.static.Executor().run(feed={"x": numpy.ones(1, "float32")},
        ...         fetch_list=[y, dx])
        [array([3.], dtype=float32), array([-5.], dtype=float32)]
        >>> paddle.disable_static()
    """
    _check(forward_fn, inputs, backward_fn)
    variables = [v for v in inputs if isinstance(v, Variable)]
    layer = RecordedLayer(variables)
    with sub_block() as block:
        made = mapped(forward_fn(*inputs), recorder.admit)
        results = [leaf for leaf in leaves(made) if isinstance(leaf, Variable)]
    outputs = [result_like(v) for v in results]
    layer.finish_forward(block, results, outputs)
    if backward_fn is not None:
        found: list[Variable | None] = []
        with layer.backward(found) as grads:
            answer = backward_fn(*grads)
            if answer is not None:
                found += [recorder.admit(leaf) for leaf in leaves(answer)]
            else:
                found += [None] * len(variables)
    remaining = iter(outputs)
    return mapped(made, lambda leaf: next(remaining) if isinstance(leaf, Variable) else leaf)


def _check(forward_fn: Any, inputs: Any, backward_fn: Any) -> None:
    if not switch.is_static:
        raise WrongCall(
            "static_pylayer: it records an operator of a program; in eager mode use "
            "paddle.autograd.PyLayer"
        )
    if not isinstance(inputs, list):
        raise WrongCall(
            f"static_pylayer: inputs must be a list, but received {type(inputs).__name__}"
        )
    if not callable(forward_fn) or not (backward_fn is None or callable(backward_fn)):
        raise DtypeError("static_pylayer: forward_fn and backward_fn must be callable")
    if backward_fn is None:
        for variable in inputs:
            if isinstance(variable, Variable) and not variable.stop_gradient:
                raise UsageError(
                    "``stop_gradient`` attr of all inputs to ``forward_fn`` are expected to be "
                    f"True, when ``backward_fn == None``, but {variable.name}.stop_gradient got "
                    f"{variable.stop_gradient}"
                )
