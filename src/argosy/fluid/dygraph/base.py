"""Turning dygraph on: ``guard``, ``enable_dygraph``; arrays as variables: ``to_variable``."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from argosy.autograd import grad as _grad
from argosy.fluid.dygraph.backward_strategy import BackwardStrategy
from argosy.fluid.dygraph.tracer import Tracer, tracers
from argosy.foundation.errors import BadArgument, DtypeError
from argosy.framework.mode import enable_static, switch
from argosy.tensor import to_tensor
from argosy.tensor.engine import Tensor, defaults, unique_name, wrap


@contextlib.contextmanager
def guard(place: Any = None) -> Iterator[None]:
    """Run ops at once inside the block, on ``place``, with names counted from zero.

    An optimizer built without ``parameter_list`` updates the parameters that were made in the
    block. A GPU that is not there falls back to the CPU with a warning. Tensors behave as those of
    1.x: an element of one has shape [1], and backward leaves a gradient with intermediate results.

    Example:
        >>> import numpy as np
        >>> import paddle.fluid as fluid
        >>> with fluid.dygraph.guard():
        ...     x = fluid.dygraph.to_variable(np.ones([2, 2], "float32"))
        ...     fluid.layers.reduce_sum(x).numpy()
        array([4.], dtype=float32)
    """
    with open_guard(Tracer(is_first=True), place):
        yield


@contextlib.contextmanager
def open_guard(tracer: Tracer, place: Any = None) -> Iterator[None]:
    """Run ops at once inside the block, which ``tracer`` knows of."""
    was_static = switch.is_static
    before = defaults.place, defaults.device, defaults.is_place_chosen
    switch.disable()
    tracers.push(tracer)
    try:
        if place is not None:
            defaults.set_place(place)
        with unique_name.guard():
            yield
    finally:
        tracers.pop()
        defaults.place, defaults.device, defaults.is_place_chosen = before
        if was_static:
            switch.enable()


def enabled() -> bool:
    """Whether a guard is open, or ``enable_dygraph`` was called."""
    return tracers.is_guarded


def enable_dygraph(place: Any = None) -> None:
    """Open a guard that lasts until ``disable_dygraph``; an open one stays."""
    open_for_good(guard, place)


def open_for_good(guard: Any, place: Any) -> None:
    """Open ``guard(place)`` until ``disable_dygraph``; an open one stays."""
    if switch.lasting is not None:
        switch.disable()
    else:
        stack = contextlib.ExitStack()
        stack.enter_context(guard(place))
        switch.lasting = stack


def disable_dygraph() -> None:
    """Close the guard that ``enable_dygraph`` opened, and record from now on."""
    enable_static()


def switch_to_static_graph(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function that records a program, whatever the mode that it is called in."""

    @functools.wraps(function)
    def recording(*args: Any, **kwargs: Any) -> Any:
        if switch.is_static:
            return function(*args, **kwargs)
        switch.enable()
        try:
            return function(*args, **kwargs)
        finally:
            switch.disable()

    return recording


enable_imperative = enable_dygraph
disable_imperative = disable_dygraph


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool = False,
    no_grad_vars: Any = None,
    backward_strategy: Any = None,
) -> list[Tensor | None]:
    """As ``paddle.grad``; sums are always in one order, which is all a ``backward_strategy`` can
    ask for.
    """
    if not isinstance(backward_strategy, (BackwardStrategy, type(None))):
        raise BadArgument(
            "fluid.dygraph.grad: backward_strategy must be a BackwardStrategy, but received "
            f"{type(backward_strategy).__name__}"
        )
    return _grad(
        outputs,
        inputs,
        grad_outputs,
        retain_graph,
        create_graph,
        only_inputs,
        allow_unused,
        no_grad_vars,
    )


def to_variable(
    value: Any, name: str | None = None, zero_copy: bool | None = None, dtype: Any = None
) -> Tensor:
    """Turn an array, list or number into a Tensor; a Tensor comes back as it is (cast, if ``dtype``
    says so).

    Differs from Paddle 1.8: only ``zero_copy=True`` shares memory with the array, on the CPU; by
    default it is copied.
    """
    if isinstance(value, Tensor):
        return value if dtype is None else value.astype(dtype)
    if not isinstance(value, (np.ndarray, np.generic, list, tuple, int, float, complex)):
        raise DtypeError(
            "to_variable: the value must be a numpy.ndarray, a Tensor, a list, a tuple or a "
            "number, "
            f"but received {type(value).__name__}"
        )
    if (
        zero_copy
        and isinstance(value, np.ndarray)
        and dtype is None
        and defaults.device.type == "cpu"
    ):
        result = wrap(torch.from_numpy(value))
    else:
        result = to_tensor(np.asarray(value), dtype)
    if name:
        result.name = name
    return result
