"""Normalisation."""

from __future__ import annotations

import math
from typing import Any

from argosy.fluid._activation import activate
from argosy.fluid.layers._call import Helper, layer_call, require_bias, require_weight
from argosy.foundation.errors import NotSupported, UsageError
from argosy.framework._param_attr import ParamAttr
from argosy.nn import functional as F
from argosy.nn.initializer import Constant, Normal
from argosy.ops import norm as ops
from argosy.tensor._tensor import Tensor, apply

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "lrn", "spectral_norm"]


def _channels(input: Any, data_layout: str, call: str) -> list[int]:
    if data_layout not in ("NCHW", "NHWC"):
        raise UsageError(f"fluid.layers.{call}: unsupported data layout: {data_layout!r}")
    return [input.shape[1 if data_layout == "NCHW" else -1]]


def _scale(helper: Helper, attr: Any, size: list[int], dtype: Any) -> Any:
    return helper.create_parameter(attr, size, dtype, default_initializer=Constant(1.0))


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
    """Normalise each channel over the batch; test programs and ``use_global_stats`` take the running statistics.

    ``in_place``, which saves memory, changes nothing.
    """
    require_bias(bias_attr, "batch_norm")
    if isinstance(momentum, Tensor):
        raise NotSupported("fluid.layers.batch_norm: momentum must be a number, not a variable")
    size = _channels(input, data_layout, "batch_norm")
    with layer_call("batch_norm", name) as helper:
        weight = _scale(helper, param_attr, size, input.dtype)
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
        return activate(out, act)


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
    """Normalise the dimensions from ``begin_norm_axis`` on together, with a scale and a shift per element."""
    inner = list(input.shape[begin_norm_axis:])
    if not 0 < begin_norm_axis < input.ndim or any(n < 0 for n in inner):
        raise UsageError(
            f"fluid.layers.layer_norm: begin_norm_axis={begin_norm_axis} must leave known dimensions of the shape {list(input.shape)}"
        )
    if scale:
        require_weight(param_attr, "layer_norm")
    if shift:
        require_bias(bias_attr, "layer_norm")
    with layer_call("layer_norm", name) as helper:
        size = [math.prod(inner)]
        weight = _scale(helper, param_attr, size, input.dtype) if scale else None
        bias = helper.create_parameter(bias_attr, size, input.dtype, is_bias=True) if shift else None
        return activate(apply(ops.layer_norm, input, weight, bias, epsilon, begin_norm_axis), act)


def group_norm(
    input: Any,
    groups: int,
    epsilon: float = 1e-05,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    data_layout: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Normalise groups of channels of every sample; there is a scale or a shift only where its attributes are given."""
    size = _channels(input, data_layout, "group_norm")
    with layer_call("group_norm", name) as helper:
        weight = _scale(helper, param_attr, size, input.dtype) if param_attr else None
        bias = helper.create_parameter(bias_attr, size, input.dtype, is_bias=True) if bias_attr else None
        return activate(F.group_norm(input, groups, epsilon, weight, bias, data_layout), act)


def instance_norm(
    input: Any, epsilon: float = 1e-05, param_attr: Any = None, bias_attr: Any = None, name: str | None = None
) -> Any:
    """Normalise every channel of every sample by itself."""
    require_bias(bias_attr, "instance_norm")
    with layer_call("instance_norm", name) as helper:
        size = [input.shape[1]]
        weight = _scale(helper, param_attr, size, input.dtype)
        bias = helper.create_parameter(bias_attr, size, input.dtype, is_bias=True)
        return F.instance_norm(input, weight=weight, bias=bias, eps=epsilon)


def spectral_norm(weight: Any, dim: int = 0, power_iters: int = 1, eps: float = 1e-12, name: str | None = None) -> Any:
    """``weight`` divided by its largest singular value, estimated from two new vectors that stay as they are."""
    with layer_call("spectral_norm", name) as helper:
        height = weight.shape[dim]

        def vector(size: int) -> Any:
            attr = ParamAttr(initializer=Normal(0.0, 1.0), trainable=False)
            return helper.create_parameter(attr, [size], weight.dtype)

        u, v = vector(height), vector(math.prod(weight.shape) // height)
        return apply(ops.spectral_norm, weight, u, v, dim, power_iters, eps)


def lrn(
    input: Any,
    n: int = 5,
    k: float = 1.0,
    alpha: float = 1e-4,
    beta: float = 0.75,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Any:
    """Divide by ``(k + alpha * sum of squares of the n nearest channels) ** beta``."""
    if input.ndim != 4 or n % 2 == 0:
        raise UsageError(
            f"fluid.layers.lrn: needs 4 dimensions and an odd n, but received the shape {list(input.shape)} and n={n}"
        )
    return F.local_response_norm(input, n, alpha * n, beta, k, data_format)
