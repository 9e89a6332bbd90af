"""Fully connected layers and lookup of rows."""

from __future__ import annotations

import math
from typing import Any

from argosy import tensor as T
from argosy.fluid._activation import activate
from argosy.fluid.layers._call import layer_call
from argosy.foundation.errors import UsageError
from argosy.nn import functional as F

__all__ = ["bilinear_tensor_product", "embedding", "fc"]


def fc(
    input: Any,
    size: int,
    num_flatten_dims: int = 1,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    name: str | None = None,
) -> Any:
    """``act(input @ w + b)``, with the dimensions from ``num_flatten_dims`` on flattened into one.

    A list of inputs gets a weight each; their products are added.

    Example:
        >>> import paddle.fluid as fluid
        >>> with fluid.program_guard(fluid.Program(), fluid.Program()):
        ...     x = fluid.layers.data("x", [3, 4])
        ...     list(fluid.layers.fc(x, size=10, act="relu").shape)
        [-1, 10]
        >>> paddle.disable_static()
    """
    inputs = list(input) if isinstance(input, (list, tuple)) else [input]
    attrs = list(param_attr) if isinstance(param_attr, (list, tuple)) else [param_attr] * len(inputs)
    if len(attrs) != len(inputs):
        raise UsageError(f"fluid.layers.fc: {len(inputs)} inputs, but {len(attrs)} param_attr")
    with layer_call("fc", name) as helper:
        flat = [_flattened(item, num_flatten_dims) for item in inputs]
        weights = [
            helper.create_parameter(attr, [x.shape[-1], size], x.dtype) for x, attr in zip(flat, attrs, strict=True)
        ]
        bias = helper.create_parameter(bias_attr, [size], flat[0].dtype, is_bias=True)
        if len(flat) == 1:
            return activate(F.linear(flat[0], weights[0], bias), act)
        total = T.add_n([F.linear(x, w) for x, w in zip(flat, weights, strict=True)])
        return activate(total if bias is None else total + bias, act)


def _flattened(x: Any, num_flatten_dims: int) -> Any:
    """``x`` with its last dimensions joined, whose extent must be known: it sizes the weight."""
    shape = list(x.shape)
    first = len(shape) - 1 if num_flatten_dims == -1 else num_flatten_dims
    if not 0 < first < len(shape):
        raise UsageError(
            f"fluid.layers.fc: num_flatten_dims must lie in (0, {len(shape)}) for an input of shape {shape}, "
            f"but received {first}"
        )
    if any(n < 0 for n in shape[first:]):
        raise UsageError(
            f"fluid.layers.fc: the flattened dimensions {shape[first:]} of the input must be known, because they size the weight"
        )
    return x if len(shape) == first + 1 else T.reshape(x, [*[0] * first, math.prod(shape[first:])])


def embedding(
    input: Any,
    size: Any,
    is_sparse: bool = False,
    is_distributed: bool = False,
    padding_idx: int | None = None,
    param_attr: Any = None,
    dtype: Any = "float32",
) -> Any:
    """Rows of a new [rows, width] parameter: the last axis of ``input``, of length 1, becomes one of length ``width``.

    The row ``padding_idx`` reads as zeros. ``is_distributed`` changes nothing in one process.
    """
    if input.shape[-1] != 1:
        raise UsageError(
            f"fluid.layers.embedding: the last dimension of the ids must be 1, but their shape is {list(input.shape)}; "
            "fluid.embedding takes ids of any shape"
        )
    ids = T.squeeze(input, [-1]) if input.ndim > 1 else input
    return lookup(ids, size, is_sparse, padding_idx, param_attr, dtype)


def lookup(ids: Any, size: Any, is_sparse: bool, padding_idx: int | None, param_attr: Any, dtype: Any) -> Any:
    """Rows of a new parameter at ``ids``, along a new last axis."""
    with layer_call("embedding") as helper:
        weight = helper.create_parameter(param_attr, list(size), dtype)
        return F.embedding(ids, weight, padding_idx=padding_idx, sparse=is_sparse)


def bilinear_tensor_product(
    x: Any,
    y: Any,
    size: int,
    act: str | None = None,
    name: str | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
) -> Any:
    """``act(x w_i y + b_i)`` for each of ``size`` new matrices."""
    with layer_call("bilinear_tensor_product", name) as helper:
        weight = helper.create_parameter(param_attr, [size, x.shape[1], y.shape[1]], x.dtype)
        bias = helper.create_parameter(bias_attr, [1, size], x.dtype, is_bias=True)
        return activate(F.bilinear(x, y, weight, bias), act)
