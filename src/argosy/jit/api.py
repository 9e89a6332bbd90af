"""``to_static`` and what goes with it."""

from __future__ import annotations

import contextlib
import functools
import logging
import types
from collections.abc import Iterator
from typing import Any

from argosy.foundation.errors import BadArgument, DtypeError, UsageError
from argosy.framework.mode import switch
from argosy.jit.dy2static.logging_utils import set_code_level, set_verbosity
from argosy.jit.marker import not_to_static
from argosy.jit.operators.call import call, ignored
from argosy.jit.program_translator import ProgramTranslator
from argosy.jit.save_load import load, save
from argosy.jit.state import state
from argosy.jit.static_function import StaticFunction
from argosy.jit.traced_layer import TracedLayer
from argosy.nn import Layer
from argosy.static.parallel.strategy import BuildStrategy

__all__ = [
    "ProgramTranslator",
    "TracedLayer",
    "declarative",
    "dygraph_to_static_func",
    "enable_to_static",
    "ignore_module",
    "load",
    "not_to_static",
    "save",
    "set_code_level",
    "set_verbosity",
    "sot_mode_guard",
    "to_static",
]


def to_static(
    function: Any = None,
    input_spec: Any = None,
    build_strategy: Any = None,
    backend: Any = None,
    **kwargs: Any,
) -> Any:
    """Run a function, a method or the ``forward`` of a Layer as a program; also a decorator.

    The program is recorded at the first call with arguments of a kind, or as ``input_spec`` says.
    Branches and loops that Tensors decide become branches and loops of the program. With
    ``full_graph=True`` what cannot be recorded is an error, otherwise the function then runs
    eagerly, with a warning. ``property=True`` marks a method for ``jit.save``. ``backend`` "CINN"
    and the switches of ``build_strategy`` choose among engines of Paddle's; there is one here.

    Example:
        >>> import paddle
        >>> @paddle.jit.to_static
        ... def f(x):
        ...     if x.sum() > 0:
        ...         return x * 2
        ...     return -x
        >>> float(f(paddle.to_tensor(3.0))), float(f(paddle.to_tensor(-3.0)))
        (6.0, 3.0)
    """
    full_graph = kwargs.pop("full_graph", None)
    is_property = kwargs.pop("property", False)
    for name in ("enable_fallback", "capture_control_flow", "dynamic_dims"):
        kwargs.pop(name, None)
    if kwargs:
        raise UsageError(f"to_static: unknown arguments {sorted(kwargs)}")
    if build_strategy is not None and not isinstance(build_strategy, BuildStrategy):
        raise DtypeError(
            "Required type(build_strategy) shall be `paddle.static.BuildStrategy`, but received "
            f"{type(build_strategy).__name__}"
        )
    if backend not in (None, "CINN"):
        raise BadArgument(f"to_static: backend must be None or 'CINN', but received {backend!r}")
    if full_graph not in (None, True, False):
        raise BadArgument(f"to_static: full_graph must be True or False, not {full_graph!r}")
    is_whole = not state.falls_back if full_graph is None else full_graph

    def wrapped(inner: Any) -> Any:
        while isinstance(inner, StaticFunction):
            inner = inner.dygraph_function
        return StaticFunction(
            inner,
            input_spec,
            build_strategy=build_strategy,
            full_graph=is_whole,
            property=is_property,
            backend=backend,
        )

    def decorated(target: Any) -> Any:
        if not isinstance(target, Layer):
            return wrapped(target)
        target.forward = wrapped(target.forward)  # type: ignore[method-assign]
        return target

    return decorated if function is None else decorated(function)


def declarative(function: Any = None, input_spec: Any = None) -> Any:
    """``to_static`` of 1.x: what cannot be recorded is an error."""
    return to_static(function, input_spec, full_graph=True)


def dygraph_to_static_func(dygraph_func: Any) -> Any:
    """Convert a function that is called while a program is recorded; its operators go into that
    program. Outside of static mode it is called as it is, with a warning.
    """

    @functools.wraps(dygraph_func)
    def converted(*args: Any, **kwargs: Any) -> Any:
        if not switch.is_static or not state.is_enabled:
            logging.getLogger("paddle.jit").warning(
                "The decorator 'dygraph_to_static_func' doesn't work in dygraph mode or set "
                "ProgramTranslator.enable to False. We will just return dygraph output."
            )
            return dygraph_func(*args, **kwargs)
        return call(dygraph_func)(*args, **kwargs)

    return converted


def enable_to_static(enable_to_static_bool: bool) -> None:
    """Let functions of ``to_static`` run as programs, or, with False, as they are written."""
    if not isinstance(enable_to_static_bool, bool):
        raise DtypeError(
            "enable_to_static: the argument must be True or False, but received "
            f"{type(enable_to_static_bool).__name__}"
        )
    state.is_enabled = enable_to_static_bool


def ignore_module(modules: list[Any]) -> None:
    """Call the functions of modules as they are written from converted functions."""
    for module in modules:
        if not isinstance(module, types.ModuleType):
            raise DtypeError(
                f"ignore_module: expected modules, but received {type(module).__name__}"
            )
        if module.__name__ not in ignored.modules:
            ignored.modules = [*ignored.modules, module.__name__]


@contextlib.contextmanager
def sot_mode_guard(value: bool) -> Iterator[None]:
    """What ``to_static`` takes for ``full_graph`` inside, where nothing is said: False for True."""
    before, state.falls_back = state.falls_back, bool(value)
    try:
        yield
    finally:
        state.falls_back = before
