"""Fully connected layers and lookup of rows."""

from __future__ import annotations

from typing import Any

import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, UsageError
from argosy.nn import functional as F
from argosy.nn.initializer import Constant, XavierUniform
from argosy.static._entries import TABLE_CLASSES, EntryAttr, SparseTable
from argosy.static.nn._activation import activate
from argosy.static.nn._layer import layer_call
from argosy.tensor._naming import unique_name
from argosy.tensor.math import add_n


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
    attrs = list(weight_attr) if isinstance(weight_attr, (list, tuple)) else [weight_attr] * len(inputs)
    if len(attrs) != len(inputs):
        raise UsageError(f"fc: {len(inputs)} inputs have as many weights, but received attributes for {len(attrs)}")
    with layer_call("fc", name, *inputs) as helper:
        flat = [_flattened(item, num_flatten_dims) for item in inputs]
        weights = [
            helper.create_parameter(attr, [item.shape[-1], size], item.dtype)
            for item, attr in zip(flat, attrs, strict=True)
        ]
        bias = helper.create_parameter(bias_attr, [size], flat[0].dtype, is_bias=True)
        if len(flat) > 1:
            total = add_n([F.linear(item, weight) for item, weight in zip(flat, weights, strict=True)])
            return activate(total if bias is None else total + bias, activation)
        if bias is not None:
            unique_name.generate(f"{helper.name}.tmp")  # in Paddle the product without the bias has the first name
        return activate(F.linear(flat[0], weights[0], bias), activation)


def _flattened(x: Any, num_flatten_dims: int) -> Any:
    """``x`` with its last dimensions joined, whose extent must be known: it sizes the weight."""
    shape = list(x.shape)
    first = len(shape) - 1 if num_flatten_dims == -1 else num_flatten_dims
    if not 0 < first < len(shape):
        raise UsageError(
            f"fc: num_flatten_dims must lie in (0, {len(shape)}) for an input of shape {shape}, but received {first}"
        )
    if any(n < 0 for n in shape[first:]):
        raise UsageError(
            f"fc: the flattened dimensions {shape[first:]} of the input must be known, because they size the weight"
        )
    return x if len(shape) == first + 1 else x.flatten(first)


def embedding(
    input: Any,
    size: Any,
    is_sparse: bool = False,
    is_distributed: bool = False,
    padding_idx: int | None = None,
    param_attr: Any = None,
    dtype: Any = "float32",
) -> Any:
    """Rows of a new [rows, width] parameter at the integer ids ``input``; the row ``padding_idx`` reads as zeros.

    ``is_sparse`` gives row-sparse gradients; with parameter servers such a table lives there, which ``is_distributed`` asks for too.
    """
    with layer_call("embedding", None, input) as helper:
        weight = helper.create_parameter(param_attr, size, dtype, default_initializer=XavierUniform())
        return F.embedding(input, weight, padding_idx=padding_idx, sparse=is_sparse or is_distributed)


def sparse_embedding(
    input: Any,
    size: Any,
    padding_idx: int | None = None,
    is_test: bool = False,
    entry: Any = None,
    table_class: str = "MemorySparseTable",
    param_attr: Any = None,
    dtype: Any = "float32",
    slot: int | None = None,
) -> Any:
    """Rows of a table with row-sparse gradients, which lives on parameter servers where there are any, else in this process.

    ``entry`` says which ids a server admits, ``table_class`` and ``slot`` what kind of table it keeps; they are noted on the parameter. In
    this process every id below ``size[0]`` has a row from the start. The last dimension of ``input``, if it is 1, is dropped.
    """
    with layer_call("sparse_embedding", None, input) as helper:
        if input._t.dtype is not torch.int64:
            raise DtypeError(f"sparse_embedding: input must be int64, but is {input.dtype.name}")
        if dtypes.to_torch(dtype) not in (torch.float32, torch.float64):
            raise DtypeError(f"sparse_embedding: dtype must be float32 or float64, but received {dtype}")
        if table_class not in TABLE_CLASSES:
            raise UsageError(
                f"sparse_embedding: table_class must be in {list(TABLE_CLASSES)}, but received {table_class!r}"
            )
        if entry is not None and not isinstance(entry, EntryAttr):
            raise UsageError(
                "sparse_embedding: entry must be a ProbabilityEntry, CountFilterEntry or ShowClickEntry of "
                f"paddle.distributed, but received {type(entry).__name__}"
            )
        weight: Any = helper.create_parameter(param_attr, size, dtype, default_initializer=XavierUniform())
        weight.sparse_table = SparseTable(entry, table_class, slot or 0, is_test)
        flat = input.squeeze(-1) if len(input.shape) > 1 and input.shape[-1] == 1 else input
        return F.embedding(flat, weight, padding_idx=padding_idx, sparse=not is_test)


def prelu(x: Any, mode: str, param_attr: Any = None, data_format: str = "NCHW", name: str | None = None) -> Any:
    """``max(0, x) + slope * min(0, x)`` with one new slope for ``"all"``, one per ``"channel"`` or one per ``"element"`` of a sample."""
    with layer_call("prelu", name, x) as helper:
        if mode not in ("all", "channel", "element"):
            raise UsageError(f"prelu: mode should be one of all, channel, element, but received {mode!r}")
        shape, rank = list(x.shape), len(x.shape)
        slopes = [1]
        channel = -1 if data_format.endswith("C") and data_format != "NC" else 1
        if mode == "channel":
            if data_format not in ("NC", "NCL", "NCHW", "NCDHW", "NLC", "NHWC", "NDHWC"):
                raise UsageError(f"prelu: unknown data_format {data_format!r}")
            if rank < 2:
                raise UsageError(f"prelu: mode='channel' needs 2 dimensions, but the shape of x is {shape}")
            slopes = [1, 1, 1, shape[-1]] if channel == -1 else [1, shape[1], 1, 1]
        elif mode == "element":
            slopes = [1, *shape[1:]]
        if any(n < 0 for n in slopes):
            raise UsageError(f"prelu: the slopes cannot be sized, because the shape of x is {shape}")
        slope: Any = helper.create_parameter(param_attr, slopes, x.dtype, default_initializer=Constant(0.25))
        if mode == "channel":
            slope = slope.reshape([slopes[-1]] if channel == -1 else [shape[1], *[1] * (rank - 2)])
        return x.clip(min=0.0) + slope * x.clip(max=0.0)


def bilinear_tensor_product(
    x: Any,
    y: Any,
    size: int,
    act: str | None = None,
    name: str | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
) -> Any:
    """``x @ w[i] @ y`` for each of ``size`` new matrices, for rows of ``x`` and ``y``."""
    with layer_call("bilinear_tensor_product", name, x) as helper:
        if len(x.shape) != 2 or len(y.shape) != 2:
            raise UsageError(
                "bilinear_tensor_product: x and y must have 2 dimensions, but their shapes are "
                f"{list(x.shape)} and {list(y.shape)}"
            )
        weight = helper.create_parameter(param_attr, [size, x.shape[1], y.shape[1]], x.dtype)
        bias = helper.create_parameter(bias_attr, [1, size], x.dtype, is_bias=True)
        return activate(F.bilinear(x, y, weight, bias), act)
