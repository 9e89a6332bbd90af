"""What functions with parameters share: names, parameters, the checks of common arguments.

``static.nn`` offers them for programs only. 1.x (``fluid``) also calls them in dygraph, where each
call makes parameters anew.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

from argosy.foundation.errors import BadArgument, UsageError
from argosy.framework.mode import switch
from argosy.nn.layer.layers import LayerHelper
from argosy.static.record.recorder import recorder
from argosy.tensor.engine import Parameter, Tensor, unique_name

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class _Keeper:
    """Who is told of the parameters that calls in dygraph make, since no layer owns them."""

    def __init__(self) -> None:
        self.keep: Callable[[Parameter], None] | None = None


_keeper = _Keeper()


def install_keeper(keep: Callable[[Parameter], None]) -> None:
    """Have ``keep`` called with each parameter that a call in dygraph makes."""
    _keeper.keep = keep


class Helper(LayerHelper):
    """Creates the parameters of one call, as ``fc_0.w_0``."""

    def create_parameter(
        self,
        attr: Any,
        shape: Any,
        dtype: Any = None,
        is_bias: bool = False,
        default_initializer: Any = None,
    ) -> Any:
        if attr is not False and any(extent < 0 for extent in shape):
            raise UsageError(
                f"{self.name}: its parameter would have shape {list(shape)}; the extents of the "
                "input that size it must be known"
            )
        parameter = super().create_parameter(attr, shape, dtype, is_bias, default_initializer)
        if parameter is not None and not switch.is_static and _keeper.keep is not None:
            _keeper.keep(parameter)
        return parameter


@contextlib.contextmanager
def layer_call(kind: str, name: str | None = None, *inputs: Any) -> Iterator[Helper]:
    """Name what one call makes: parameters ``fc_0.w_0``, variables ``fc_0.tmp_0``."""
    for value in inputs:
        require_tensor(kind, value)
    helper = Helper(name or unique_name.generate(kind))
    with recorder.in_layer(helper.name):
        yield helper


def recorded(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """``function``, refused outside of programs, where it would make new parameters at each call,
    if Paddle refuses it there.
    """

    @functools.wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        if not switch.is_static:
            raise BadArgument(
                f"static.nn.{function.__name__}: call paddle.enable_static() first, or use the "
                "layers of paddle.nn"
            )
        return function(*args, **kwargs)

    return call


def anywhere(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """A ``recorded`` function without its guard, for 1.x."""
    unguarded: Callable[Arguments, Result] = inspect.unwrap(function)
    return unguarded


def require_tensor(call: str, value: Any) -> None:
    if not isinstance(value, Tensor):
        kind = "Variable" if switch.is_static else "Tensor"
        raise UsageError(f"{call}: the input must be a {kind}, but received {type(value).__name__}")


def require_weight(call: str, param_attr: Any) -> None:
    """Refuse ``param_attr=False`` where a function cannot do without the parameter."""
    if param_attr is False:
        raise BadArgument(f"{call}: param_attr should not be False here.")


def require_bias(call: str, bias_attr: Any) -> None:
    """As ``require_weight``."""
    if bias_attr is False:
        raise BadArgument(f"{call}: bias_attr should not be False in {call}.")
