"""``fluid.dygraph_utils``: a bias and an activation behind what a layer of 1.x computed."""

from __future__ import annotations

from typing import Any

from argosy.fluid.framework import dygraph_only
from argosy.fluid.layers.nn import elementwise_add
from argosy.static.record.activation import activate


@dygraph_only
def _append_activation_in_dygraph(
    input: Any, act: str | None = None, use_cudnn: bool | None = None, use_mkldnn: Any = None
) -> Any:
    """``act(input)``; which kernel computes it is not ours to choose."""
    return activate(input, act)


@dygraph_only
def _append_bias_in_dygraph(input: Any, bias: Any = None, axis: int = 1) -> Any:
    """``input`` plus ``bias``, whose first axis is ``axis`` of the input."""
    return input if bias is None else elementwise_add(input, bias, axis)
