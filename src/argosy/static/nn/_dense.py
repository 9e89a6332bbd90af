"""Fully connected layers and lookup of rows."""

from __future__ import annotations

import math
from typing import Any

from argosy.foundation.errors import NotSupported, UsageError
from argosy.nn import functional as F
from argosy.nn.initializer import XavierUniform
from argosy.static.nn._layer import activated, layer_call


def fc(
    x: Any,
    size: int,
    num_flatten_dims: int = 1,
    weight_attr: Any = None,
    bias_attr: Any = None,
    activation: str | None = None,
    name: str | None = None,
) -> Any:
    """``activation(x @ w + b)``, with the dimensions from ``num_flatten_dims`` on flattened into one.

    A list of inputs gets a weight each; their products are added.

    Example:
        >>> import paddle
        >>> paddle.enable_static()
        >>> with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        ...     x = paddle.static.data("x", [None, 3, 4])
        ...     paddle.static.nn.fc(x, size=10).shape
        [-1, 10]
        >>> paddle.disable_static()
    """
    inputs = list(x) if isinstance(x, (list, tuple)) else [x]
    with layer_call("fc", name, inputs[0]) as helper:
        attrs = list(weight_attr) if isinstance(weight_attr, (list, tuple)) else [weight_attr] * len(inputs)
        if len(attrs) != len(inputs):
            raise UsageError(f"static.nn.fc: {len(inputs)} inputs, but {len(attrs)} weight_attr")
        total = None
        for item, attr in zip(inputs, attrs, strict=True):
            first = len(item.shape) - 1 if num_flatten_dims == -1 else num_flatten_dims
            width = _width(item, first)
            weight = helper.create_parameter(attr, [width, size], item.dtype)
            flat = item if len(item.shape) == first + 1 else item.flatten(first)
            out = F.linear(flat, weight)
            total = out if total is None else total + out
        bias = helper.create_parameter(bias_attr, [size], inputs[0].dtype, is_bias=True)
        return activated(total if bias is None else total + bias, activation, "fc")


def _width(x: Any, first: int) -> int:
    shape = x.shape
    if not 0 < first < len(shape):
        raise UsageError(
            f"static.nn.fc: num_flatten_dims must lie in (0, {len(shape)}) for x of shape {list(shape)}, but received {first}"
        )
    if any(n < 0 for n in shape[first:]):
        raise UsageError(
            f"static.nn.fc: the flattened dimensions {list(shape[first:])} of x must be known, because they size the weight"
        )
    return math.prod(shape[first:])


def embedding(
    input: Any,
    size: Any,
    is_sparse: bool = False,
    is_distributed: bool = False,
    padding_idx: int | None = None,
    param_attr: Any = None,
    dtype: Any = "float32",
) -> Any:
    """Rows of a new [rows, width] parameter at the integer ids ``input``; the row ``padding_idx`` reads as zeros."""
    if is_distributed:
        raise NotSupported("static.nn.embedding: is_distributed=True is not supported")
    with layer_call("embedding", None, input) as helper:
        weight = helper.create_parameter(param_attr, size, dtype, default_initializer=XavierUniform())
        return F.embedding(input, weight, padding_idx=padding_idx, sparse=is_sparse)
