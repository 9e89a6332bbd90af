"""What the functions with parameters share: their names, their parameters, in programs and in dygraph."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from argosy.fluid._mode import is_static
from argosy.fluid._tracer import tracers
from argosy.foundation.errors import BadArgument
from argosy.framework._param_attr import ParamAttr
from argosy.nn.layer.layers import LayerHelper
from argosy.static._recorder import recorder
from argosy.tensor._naming import unique_name


class Helper(LayerHelper):
    """Creates the parameters of one call, as ``fc_0.w_0``; the guard remembers those made in dygraph."""

    def create_parameter(
        self,
        attr: Any,
        shape: Any,
        dtype: Any = None,
        is_bias: bool = False,
        default_initializer: Any = None,
    ) -> Any:
        parameter = super().create_parameter(attr, shape, dtype, is_bias, default_initializer)
        if not is_static():
            tracers.note(parameter, is_owned=False)
        return parameter


@contextlib.contextmanager
def layer_call(kind: str, name: str | None = None) -> Iterator[Helper]:
    """Name what one call makes: parameters ``fc_0.w_0``, variables ``fc_0.tmp_0``."""
    helper = Helper(name or unique_name.generate(kind))
    with recorder.in_layer(helper.name):
        yield helper


def require_weight(param_attr: Any, call: str) -> None:
    """Refuse ``param_attr=False`` where a function cannot do without the parameter."""
    if param_attr is False:
        raise BadArgument(f"fluid.layers.{call}: param_attr should not be False here.")


def require_bias(bias_attr: Any, call: str) -> None:
    """As ``require_weight``."""
    if bias_attr is False:
        raise BadArgument(f"fluid.layers.{call}: bias_attr should not be False in {call}.")


def as_attr(attr: Any) -> Any:
    """What a script passed as the attributes of a parameter: a ParamAttr, or False for none."""
    return ParamAttr._to_attr(attr)
