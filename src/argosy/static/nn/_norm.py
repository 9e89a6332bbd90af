"""Normalisation."""

from __future__ import annotations

import math
from typing import Any

from argosy.foundation.errors import BadArgument, NotSupported, UsageError
from argosy.framework._param_attr import ParamAttr
from argosy.nn import functional as F
from argosy.nn.initializer import Constant, Normal
from argosy.ops import data_norm as data_ops
from argosy.ops import norm as ops
from argosy.static.nn._activation import activate
from argosy.static.nn._layer import Helper, layer_call, require_bias, require_weight
from argosy.tensor._tensor import Tensor, apply


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
        require_bias("batch_norm", bias_attr)
        if isinstance(momentum, Tensor):
            raise NotSupported("batch_norm: momentum must be a number, not a variable")
        _require_images("batch_norm", input)
        size = _channels("batch_norm", input, data_layout)
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
    """Normalise the dimensions from ``begin_norm_axis`` on together, with a weight and a bias per element."""
    with layer_call("layer_norm", name, input) as helper:
        shape = list(input.shape)
        inner = shape[begin_norm_axis:]
        if not 0 < begin_norm_axis < len(shape) or any(n < 0 for n in inner):
            raise UsageError(
                f"layer_norm: begin_norm_axis={begin_norm_axis} must leave known dimensions of the shape {shape}"
            )
        if scale:
            require_weight("layer_norm", param_attr)
        if shift:
            require_bias("layer_norm", bias_attr)
        size = [math.prod(inner)]
        weight = _scale(helper, param_attr, size, input.dtype) if scale else None
        bias = helper.create_parameter(bias_attr, size, input.dtype, is_bias=True) if shift else None
        out = apply(ops.layer_norm, input, weight, bias, epsilon, begin_norm_axis)
        return activate(out, act)


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
    """Normalise groups of channels of each sample. As in Paddle, without ``param_attr`` there is no weight, and so for the bias."""
    with layer_call("group_norm", name, input) as helper:
        shape = list(input.shape)
        if len(shape) < 2:
            raise UsageError(f"group_norm: input must have 2 dimensions or more, but its shape is {shape}")
        size = _channels("group_norm", input, data_layout)
        weight = _scale(helper, param_attr, size, input.dtype) if param_attr else None
        bias = helper.create_parameter(bias_attr, size, input.dtype, is_bias=True) if bias_attr else None
        out = F.group_norm(input, groups, epsilon, weight, bias, data_layout)
        return activate(out, act)


def instance_norm(
    input: Any, epsilon: float = 1e-05, param_attr: Any = None, bias_attr: Any = None, name: str | None = None
) -> Any:
    """Normalise each channel of each sample. As in Paddle, there are a weight and a bias only if both attributes are given."""
    with layer_call("instance_norm", name, input) as helper:
        if param_attr is False and bias_attr is not False:
            raise BadArgument(
                "instance_norm: param_attr and bias_attr must be set to False at the same time in instance_norm"
            )
        _require_images("instance_norm", input)
        weight = bias = None
        if param_attr and bias_attr:
            size = [input.shape[1]]
            weight = _scale(helper, param_attr, size, input.dtype)
            bias = helper.create_parameter(bias_attr, size, input.dtype, is_bias=True)
        return F.instance_norm(input, None, None, weight, bias, eps=epsilon)


def data_norm(
    input: Any,
    act: str | None = None,
    epsilon: float = 1e-05,
    param_attr: Any = None,
    data_layout: str = "NCHW",
    in_place: bool = False,
    name: str | None = None,
    moving_mean_name: str | None = None,
    moving_variance_name: str | None = None,
    do_model_average_for_mean_and_var: bool = True,
    slot_dim: int = -1,
    sync_stats: bool = False,
    summary_decay_rate: float = 0.9999999,
    enable_scale_and_shift: bool = False,
) -> Any:
    """Normalise rows by sums over all rows seen: parameters ``<name>.batch_size``, ``.batch_sum`` and ``.batch_square_sum``.

    Their gradients are what a batch adds to them: counts, sums and squares. ``param_attr`` may be a dict of first values. With
    ``slot_dim``, a slot of that many columns whose first is zero stays zero. ``in_place``, which saves memory, changes nothing.
    """
    if sync_stats:
        raise NotSupported("data_norm: sync_stats=True is not supported")
    if summary_decay_rate != 0.9999999:
        raise NotSupported("data_norm: summary_decay_rate has no effect on CPU and is not supported")
    if moving_mean_name is not None or moving_variance_name is not None:
        raise NotSupported("data_norm: it keeps sums, not a moving_mean_name or moving_variance_name")
    with layer_call("data_norm", name, input) as helper:
        shape = list(input.shape)
        if len(shape) != 2 or shape[1] < 0:
            raise UsageError(f"data_norm: input must be [rows, known width], but its shape is {shape}")
        _channels("data_norm", input, data_layout)
        if slot_dim > 0 and shape[1] % slot_dim:
            raise UsageError(f"data_norm: slot_dim={slot_dim} does not divide the width {shape[1]}")
        given = param_attr if isinstance(param_attr, dict) else {}
        prefix = name or "dn"

        def parameter(label: str, key: str, default: float) -> Any:
            attr = ParamAttr(f"{prefix}.{label}", Constant(float(given.get(key, default))))
            return helper.create_parameter(attr, [shape[1]], input.dtype)

        scale = parameter("scale_w", "scale_w", 1.0) if enable_scale_and_shift else None
        shift = parameter("bias", "bias", 0.0) if enable_scale_and_shift else None
        sums = [
            parameter("batch_size", "batch_size", 1e4),
            parameter("batch_sum", "batch_sum", 0.0),
            parameter("batch_square_sum", "batch_square", 1e4),
        ]
        out = apply(data_ops.data_norm, input, *sums, epsilon, slot_dim)
        if enable_scale_and_shift:
            out = out * scale + shift
        return activate(out, act)


def spectral_norm(weight: Any, dim: int = 0, power_iters: int = 1, eps: float = 1e-12, name: str | None = None) -> Any:
    """``weight`` divided by its largest singular value, which power iterations from two stored vectors estimate."""
    with layer_call("spectral_norm", name, weight) as helper:
        shape = list(weight.shape)
        if dim not in (0, 1):
            raise UsageError(f"spectral_norm: dim must be 0 (weight of fc) or 1 (of conv), but received {dim}")
        if any(n <= 0 for n in shape):
            raise UsageError(f"spectral_norm: the shape of weight must be known, but is {shape}")
        height = shape[dim]

        def vector(size: int) -> Any:
            attr = ParamAttr(initializer=Normal(0.0, 1.0), trainable=False)
            return helper.create_parameter(attr, [size], weight.dtype)

        u, v = vector(height), vector(math.prod(shape) // height)
        return apply(ops.spectral_norm, weight, u, v, dim, power_iters, eps)


def _scale(helper: Helper, attr: Any, size: list[int], dtype: Any) -> Any:
    return helper.create_parameter(attr, size, dtype, default_initializer=Constant(1.0))


def _channels(call: str, input: Any, data_layout: str) -> list[int]:
    if data_layout not in ("NCHW", "NHWC"):
        raise UsageError(f"{call}: data_layout must be 'NCHW' or 'NHWC', but received {data_layout!r}")
    return [input.shape[1 if data_layout == "NCHW" else -1]]


def _require_images(call: str, input: Any) -> None:
    if not 2 <= len(input.shape) <= 5:
        raise UsageError(f"{call}: expected 2D or 3D or 4D or 5D input, but its shape is {list(input.shape)}")
