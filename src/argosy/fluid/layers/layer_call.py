"""What the functions with parameters share: they work in programs and in dygraph, where the guard
remembers the parameters.
"""

from __future__ import annotations

from typing import Any

from argosy.fluid._tracer import tracers
from argosy.framework.param_attr import ParamAttr
from argosy.static.nn.layer import Helper, install_keeper, layer_call, require_bias

__all__ = ["Helper", "as_attr", "layer_call", "require_bias"]

install_keeper(lambda parameter: tracers.note(parameter, is_owned=False))


def as_attr(attr: Any) -> Any:
    """What a script passed as the attributes of a parameter: a ParamAttr, or False for none."""
    return ParamAttr.parse(attr)
