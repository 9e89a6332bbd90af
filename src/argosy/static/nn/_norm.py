"""Normalisation."""

from __future__ import annotations

import math
from typing import Any

from argosy.foundation.errors import BadArgument, UsageError
from argosy.framework._param_attr import ParamAttr
from argosy.nn import functional as F
from argosy.nn.initializer import Constant
from argosy.ops import norm as ops
from argosy.static.nn._layer import activated, layer_call
from argosy.tensor._tensor import apply


def batch_norm(
    input: Any,
    act: str | None = None,
    is_test: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-05,
    param_attr: Any = None,
    bias_attr: Any = None,
    data_layout: str = "NCHW",
    in_place: bool = False,
    name: str | None = None,
    moving_mean_name: str | None = None,
    moving_variance_name: str | None = None,
    do_model_average_for_mean_and_var: bool = True,
    use_global_stats: bool = False,
) -> Any:
    """Normalise each channel over the batch; running statistics are kept in the scope and used in test programs.

    ``in_place``, which saves memory, changes nothing.
    """
    with layer_call("batch_norm", name, input) as helper:
        if bias_attr is False:
            raise BadArgument("static.nn.batch_norm: bias_attr should not be False in batch_norm.")
        if data_layout not in ("NCHW", "NHWC"):
            raise UsageError(f"static.nn.batch_norm: unsupported data layout: {data_layout!r}")
        shape = input.shape
        if not 2 <= len(shape) <= 5:
            raise UsageError(
                f"static.nn.batch_norm: expected 2D or 3D or 4D or 5D input, but its shape is {list(shape)}"
            )
        size = [shape[1 if data_layout == "NCHW" else -1]]
        weight = helper.create_parameter(param_attr, size, input.dtype, default_initializer=Constant(1.0))
        bias = helper.create_parameter(bias_attr, size, input.dtype, is_bias=True)

        def running(own_name: str | None, value: float) -> Any:
            attr = ParamAttr(
                own_name, Constant(value), trainable=False, do_model_average=do_model_average_for_mean_and_var
            )
            return helper.create_parameter(attr, size, input.dtype)

        mean, variance = running(moving_mean_name, 0.0), running(moving_variance_name, 1.0)
        out = F.batch_norm(
            input, mean, variance, weight, bias, not is_test, momentum, epsilon, data_layout, use_global_stats or None
        )
        return activated(out, act, "batch_norm")


def layer_norm(
    input: Any,
    scale: bool = True,
    shift: bool = True,
    begin_norm_axis: int = 1,
    epsilon: float = 1e-05,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    name: str | None = None,
) -> Any:
    """Normalise the dimensions from ``begin_norm_axis`` on together, with a weight and a bias per element."""
    with layer_call("layer_norm", name, input) as helper:
        shape = list(input.shape)
        inner = shape[begin_norm_axis:]
        if not 0 < begin_norm_axis < len(shape) or any(n < 0 for n in inner):
            raise UsageError(
                f"static.nn.layer_norm: begin_norm_axis={begin_norm_axis} must leave known dimensions of the shape {shape}"
            )
        size = [math.prod(inner)]
        weight = (
            helper.create_parameter(param_attr, size, input.dtype, default_initializer=Constant(1.0)) if scale else None
        )
        bias = helper.create_parameter(bias_attr, size, input.dtype, is_bias=True) if shift else None
        out = apply(ops.layer_norm, input, weight, bias, epsilon, begin_norm_axis)
        return activated(out, act, "layer_norm")
