"""``static.nn.common``: layers as functions, in programs only. 1.x, which also calls them in
dygraph, goes through ``anywhere``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import BadArgument, DtypeError, NotSupported, UsageError
from argosy.framework.mode import switch
from argosy.framework.param_attr import ParamAttr
from argosy.nn import functional as F
from argosy.nn.initializer import Constant, Normal, XavierUniform
from argosy.ops.fluid.lookup import lookup_table
from argosy.ops.nn import continuous_value as value_ops
from argosy.ops.nn import data_norm as data_ops
from argosy.ops.nn import norm as ops
from argosy.ops.nn import row_convolution as row_ops
from argosy.runtime.ps.tables.entries import TABLE_CLASSES, EmbeddingTable, EntryAttr
from argosy.static.ir.variable import Variable
from argosy.static.nn.layer import (
    Helper,
    layer_call,
    recorded,
    require_bias,
    require_tensor,
    require_weight,
)
from argosy.static.record.activation import activate
from argosy.static.record.folding import biased, mul
from argosy.static.record.naming import aside
from argosy.static.record.recorder import recorder
from argosy.tensor.engine import Tensor, apply
from argosy.tensor.math import add_n
from argosy.utils import convert_to_list

__all__ = [
    "batch_norm",
    "bilinear_tensor_product",
    "continuous_value_model",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "data_norm",
    "embedding",
    "fc",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "prelu",
    "row_conv",
    "sparse_embedding",
    "spectral_norm",
]


# -- fully connected layers and lookup of rows -----------------------------------------------------


@recorded
def fc(
    x: Any,
    size: int,
    num_flatten_dims: int = 1,
    weight_attr: Any = None,
    bias_attr: Any = None,
    activation: str | None = None,
    name: str | None = None,
) -> Any:
    """``activation(x @ w + b)``, with the dimensions from ``num_flatten_dims`` on flattened into
    one.

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
    attrs = (
        list(weight_attr) if isinstance(weight_attr, (list, tuple)) else [weight_attr] * len(inputs)
    )
    if len(attrs) != len(inputs):
        raise UsageError(
            f"fc: {len(inputs)} inputs have as many weights, but received attributes for "
            f"{len(attrs)}"
        )
    with layer_call("fc", name, *inputs) as helper:
        products = []
        for item, attr in zip(inputs, attrs, strict=True):
            first, width = _folded(item, num_flatten_dims)
            weight = helper.create_parameter(attr, [width, size], item.dtype)
            products.append(mul(item, weight, first))
        total = products[0] if len(products) == 1 else add_n(products)
        bias = helper.create_parameter(bias_attr, [size], inputs[0].dtype, is_bias=True)
        return activate(biased(total, bias, total.ndim - 1), activation)


def _folded(x: Any, num_flatten_dims: int) -> tuple[int, int]:
    """Where the last dimensions of ``x`` that are joined begin, and their extent together, which
    must be known: it sizes the weight.
    """
    shape = list(x.shape)
    first = len(shape) - 1 if num_flatten_dims == -1 else num_flatten_dims
    if not 0 < first < len(shape):
        raise UsageError(
            f"fc: num_flatten_dims must lie in (0, {len(shape)}) for an input of shape {shape}, "
            f"but received {first}"
        )
    if any(n < 0 for n in shape[first:]):
        raise UsageError(
            f"fc: the flattened dimensions {shape[first:]} of the input must be known, because "
            "they size the weight"
        )
    return first, math.prod(shape[first:])


@recorded
def embedding(
    input: Any,
    size: Any,
    is_sparse: bool = False,
    is_distributed: bool = False,
    padding_idx: int | None = None,
    param_attr: Any = None,
    dtype: Any = "float32",
) -> Any:
    """Rows of a new [rows, width] parameter at the integer ids ``input``; the row ``padding_idx``
    reads as zeros.

    ``is_sparse`` gives row-sparse gradients; with parameter servers such a table lives there, which
    ``is_distributed`` asks for too.
    """
    with layer_call("embedding", None, input) as helper:
        weight = helper.create_parameter(
            param_attr, size, dtype, default_initializer=XavierUniform()
        )
        return F.embedding(
            input, weight, padding_idx=padding_idx, sparse=is_sparse or is_distributed
        )


@recorded
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
    """Rows of a table with row-sparse gradients, which lives on parameter servers where there are
    any, else in this process.

    ``entry`` says which ids a server admits, ``table_class`` and ``slot`` what kind of table it
    keeps; they are noted on the parameter. In this process every id below ``size[0]`` has a row
    from the start. The last dimension of ``input``, if it is 1, is dropped.
    """
    with layer_call("sparse_embedding", None, input) as helper:
        if input.raw.dtype is not torch.int64:
            raise DtypeError(f"sparse_embedding: input must be int64, but is {input.dtype.name}")
        if dtypes.to_torch(dtype) not in (torch.float32, torch.float64):
            raise DtypeError(
                f"sparse_embedding: dtype must be float32 or float64, but received {dtype}"
            )
        if table_class not in TABLE_CLASSES:
            raise UsageError(
                f"sparse_embedding: table_class must be in {list(TABLE_CLASSES)}, but received "
                f"{table_class!r}"
            )
        if entry is not None and not isinstance(entry, EntryAttr):
            raise UsageError(
                "sparse_embedding: entry must be a ProbabilityEntry, CountFilterEntry or "
                "ShowClickEntry of "
                f"paddle.distributed, but received {type(entry).__name__}"
            )
        weight: Any = helper.create_parameter(
            param_attr, size, dtype, default_initializer=XavierUniform()
        )
        table = weight.sparse_table = EmbeddingTable(entry, table_class, slot or 0, is_test)
        rows = looked_up(input, weight, padding_idx, not is_test)
        rows.block.ops[-1].notes.update(table.described())
        return rows


def looked_up(input: Any, weight: Any, padding_idx: int | None, is_sparse: bool) -> Any:
    """Rows of ``weight`` at ids whose last axis, of length 1, becomes one of its width."""
    rows = weight.shape[0]
    at = -1 if padding_idx is None else padding_idx if padding_idx >= 0 else rows + padding_idx
    return apply(lookup_table, input, weight, at, is_sparse)


@recorded
def prelu(
    x: Any, mode: str, param_attr: Any = None, data_format: str = "NCHW", name: str | None = None
) -> Any:
    """``max(0, x) + slope * min(0, x)`` with one new slope for ``"all"``, one per ``"channel"`` or
    one per ``"element"`` of a sample.
    """
    with layer_call("prelu", name, x) as helper:
        if mode not in ("all", "channel", "element"):
            raise UsageError(
                f"prelu: mode should be one of all, channel, element, but received {mode!r}"
            )
        shape, rank = list(x.shape), len(x.shape)
        slopes = [1]
        extents: list[int] = []
        channel = -1 if data_format.endswith("C") and data_format != "NC" else 1
        if mode == "channel":
            if data_format not in ("NC", "NCL", "NCHW", "NCDHW", "NLC", "NHWC", "NDHWC"):
                raise UsageError(f"prelu: unknown data_format {data_format!r}")
            if rank < 2:
                raise UsageError(
                    f"prelu: mode='channel' needs 2 dimensions, but the shape of x is {shape}"
                )
            slopes = [1, 1, 1, shape[-1]] if channel == -1 else [1, shape[1], 1, 1]
        elif mode == "element":
            slopes = [1, *shape[1:]]
        if any(n < 0 for n in slopes):
            raise UsageError(
                f"prelu: the slopes cannot be sized, because the shape of x is {shape}"
            )
        slope: Any = helper.create_parameter(
            param_attr, slopes, x.dtype, default_initializer=Constant(0.25)
        )
        with recorder.naming(aside(helper.name)):
            if mode == "channel":
                extents = [slopes[-1]] if channel == -1 else [shape[1], *[1] * (rank - 2)]
            if extents or not rank:
                slope = slope.reshape(extents)
            positive, negative = x.clip(min=0.0), slope * x.clip(max=0.0)
        return positive + negative


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


# -- convolutions ----------------------------------------------------------------------------------

_FORMATS = {2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def conv2d(
    input: Any,
    num_filters: int,
    filter_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Any:
    """Convolve images with new filters [num_filters, channels / groups, height, width].
    ``use_cudnn`` only changes names.
    """
    return _convolved(
        2, F.conv2d, input, num_filters, filter_size, stride, padding, dilation, groups,
        param_attr, bias_attr, use_cudnn,
        act, name, data_format,
    )  # fmt: skip


def conv3d(
    input: Any,
    num_filters: int,
    filter_size: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCDHW",
) -> Any:
    """Convolve volumes with new filters [num_filters, channels / groups, depth, height, width].
    ``use_cudnn`` changes nothing.
    """
    return _convolved(
        3, F.conv3d, input, num_filters, filter_size, stride, padding, dilation, groups,
        param_attr, bias_attr, use_cudnn,
        act, name, data_format,
    )  # fmt: skip


def row_conv(
    input: Any, future_context_size: int, param_attr: Any = None, act: str | None = None
) -> Any:
    """Each row of ``input``, [batch, time, width], plus the next ones, weighted by a new
    [future_context_size + 1, width] parameter.
    """
    with layer_call("row_conv", None, input) as helper:
        if len(input.shape) != 3 or input.shape[2] < 0:
            raise UsageError(
                "row_conv: input must be [batch, time, width] with a known width, but its shape "
                f"is {list(input.shape)}"
            )
        weight = helper.create_parameter(
            param_attr, [future_context_size + 1, input.shape[2]], input.dtype
        )
        return activate(apply(row_ops.row_conv, input, weight), act)


def _convolved(
    rank: int,
    function: Callable[..., Any],
    input: Any,
    num_filters: int,
    filter_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int | None,
    param_attr: Any,
    bias_attr: Any,
    use_cudnn: bool,
    act: str | None,
    name: str | None,
    data_format: str,
) -> Any:
    call = f"conv{rank}d"
    require_weight(call, param_attr)
    channels = channels_of(call, input, rank, data_format)
    parts = divided(call, channels, num_filters, groups)
    window = convert_to_list(filter_size, rank, "filter_size")
    scale = math.sqrt(2.0 / (math.prod(window) * channels))
    is_depthwise = groups == channels and num_filters % channels == 0
    kind = layer_kind(call, is_depthwise, use_cudnn)
    with layer_call(kind, name) as helper:
        shape = [num_filters, channels // parts, *window]
        weight = helper.create_parameter(
            param_attr, shape, input.dtype, default_initializer=Normal(0.0, scale)
        )
        bias = helper.create_parameter(bias_attr, [num_filters], input.dtype, is_bias=True)
        out = function(input, weight, None, stride, padding, dilation, parts, data_format)
        if switch.is_static:
            out.op.type = kind
        return activate(biased(out, bias, _channel_axis(out, data_format)), act)


def _channel_axis(x: Any, data_format: str) -> int:
    return x.ndim - 1 if data_format.endswith("C") else 1


def layer_kind(call: str, is_depthwise: bool, use_cudnn: bool) -> str:
    """After what the parameters are named: without cuDNN, a convolution of each channel by itself
    is an operator of its own in Paddle.
    """
    if not isinstance(use_cudnn, bool):
        raise UsageError(f"{call}: use_cudnn must be True or False, but received {use_cudnn!r}")
    return (
        f"depthwise_{call}"
        if is_depthwise and not use_cudnn and call.startswith("conv2d")
        else call
    )


def channels_of(call: str, input: Any, rank: int, data_format: str) -> int:
    """The number of channels, which sizes the filters; the input must fit the format."""
    require_tensor(call, input)
    first, last = _FORMATS[rank]
    if data_format not in (first, last):
        raise UsageError(
            f"{call}: data_format must be {first!r} or {last!r}, but received {data_format!r}"
        )
    shape = list(input.shape)
    if len(shape) != rank + 2:
        raise UsageError(f"{call}: input must have {rank + 2} dimensions, but its shape is {shape}")
    channels: int = shape[-1 if data_format == last else 1]
    if channels < 0:
        raise UsageError(f"{call}: the channels of input must be known, but its shape is {shape}")
    return channels


def divided(call: str, channels: int, num_filters: int, groups: int | None) -> int:
    """The number of groups, into which channels and filters can be divided."""
    parts = groups or 1
    if num_filters < 1 or num_filters % parts or channels % parts:
        raise UsageError(
            f"{call}: the channels ({channels}) and filters ({num_filters}) must be divisible by "
            f"groups ({parts})"
        )
    return parts


# -- transposed convolutions -----------------------------------------------------------------------


def conv2d_transpose(
    input: Any,
    num_filters: int,
    output_size: Any = None,
    filter_size: Any = None,
    padding: Any = 0,
    stride: Any = 1,
    dilation: Any = 1,
    groups: int | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCHW",
) -> Any:
    """Enlarge images with new filters [channels, num_filters / groups, height, width].

    Without ``filter_size`` the filters get the size that leads to ``output_size``. ``use_cudnn``
    only changes names.
    """

    def function(x: Any, weight: Any, size: Any, parts: int) -> Any:
        return F.conv2d_transpose(
            x, weight, None, stride, padding, 0, dilation, parts, size, data_format
        )

    return _conv_transposed(
        2, function, input, num_filters, output_size, filter_size, (padding, stride, dilation),
        groups, param_attr, bias_attr,
        use_cudnn, act, name, data_format,
    )  # fmt: skip


def conv3d_transpose(
    input: Any,
    num_filters: int,
    output_size: Any = None,
    filter_size: Any = None,
    padding: Any = 0,
    stride: Any = 1,
    dilation: Any = 1,
    groups: int | None = None,
    param_attr: Any = None,
    bias_attr: Any = None,
    use_cudnn: bool = True,
    act: str | None = None,
    name: str | None = None,
    data_format: str = "NCDHW",
) -> Any:
    """Enlarge volumes with new filters [channels, num_filters / groups, depth, height, width]; see
    ``conv2d_transpose``.
    """

    def function(x: Any, weight: Any, size: Any, parts: int) -> Any:
        return F.conv3d_transpose(
            x, weight, None, stride, padding, 0, parts, dilation, size, data_format
        )

    return _conv_transposed(
        3, function, input, num_filters, output_size, filter_size, (padding, stride, dilation),
        groups, param_attr, bias_attr,
        use_cudnn, act, name, data_format,
    )  # fmt: skip


def _conv_transposed(
    rank: int,
    function: Callable[..., Any],
    input: Any,
    num_filters: int,
    output_size: Any,
    filter_size: Any,
    geometry: tuple[Any, Any, Any],
    groups: int | None,
    param_attr: Any,
    bias_attr: Any,
    use_cudnn: bool,
    act: str | None,
    name: str | None,
    data_format: str,
) -> Any:
    call = f"conv{rank}d_transpose"
    require_weight(call, param_attr)
    channels = channels_of(call, input, rank, data_format)
    parts = divided(call, channels, num_filters, groups)
    if isinstance(output_size, Variable) or any(
        isinstance(n, Variable) for n in _items(output_size)
    ):
        raise NotSupported(f"{call}: output_size must hold numbers, not variables")
    size = None if output_size is None else convert_to_list(output_size, rank, "output_size")
    if filter_size is not None:
        window = convert_to_list(filter_size, rank, "filter_size")
    else:
        window = _fitting(call, input, rank, size, geometry, data_format)
    with layer_call(layer_kind(call, groups == channels == num_filters, use_cudnn), name) as helper:
        weight = helper.create_parameter(
            param_attr, [channels, num_filters // parts, *window], input.dtype
        )
        bias = helper.create_parameter(bias_attr, [num_filters], input.dtype, is_bias=True)
        out = function(input, weight, size, parts)
        return activate(biased(out, bias, _channel_axis(out, data_format)), act)


def _fitting(
    call: str,
    input: Any,
    rank: int,
    size: list[int] | None,
    geometry: tuple[Any, Any, Any],
    data_format: str,
) -> list[int]:
    """The size of filters that makes an output of ``size``."""
    if size is None:
        raise UsageError(f"{call}: output_size must be set when filter_size is None")
    padding, stride, dilation = geometry
    if isinstance(padding, str) or any(isinstance(n, (list, tuple)) for n in _items(padding)):
        raise NotSupported(f"{call}: padding must be numbers when filter_size is None")
    pads = _items(padding) or [padding] * rank
    pads = (
        [pads[2 * i] + pads[2 * i + 1] for i in range(rank)]
        if len(pads) == 2 * rank
        else [2 * p for p in pads]
    )
    strides, dilations = (
        convert_to_list(stride, rank, "stride"),
        convert_to_list(dilation, rank, "dilation"),
    )
    shape = list(input.shape)
    extents = shape[1:-1] if data_format.endswith("C") else shape[2:]
    if any(n < 0 for n in extents):
        raise UsageError(
            f"{call}: without filter_size the extents of input must be known, but are {extents}"
        )
    return [
        (size[i] - (extents[i] - 1) * strides[i] + pads[i] - 1) // dilations[i] + 1
        for i in range(rank)
    ]


def _items(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


# -- normalisation ---------------------------------------------------------------------------------


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
    """Normalise each channel over the batch; running statistics are kept in the scope and used in
    test programs.

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
                own_name,
                Constant(value),
                trainable=False,
                do_model_average=do_model_average_for_mean_and_var,
            )
            return helper.create_parameter(attr, size, input.dtype)

        mean, variance = running(moving_mean_name, 0.0), running(moving_variance_name, 1.0)
        out = F.batch_norm(
            input,
            mean,
            variance,
            weight,
            bias,
            not is_test,
            momentum,
            epsilon,
            data_layout,
            use_global_stats or None,
        )
        return activate(out, act)


@recorded
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
    """Normalise the dimensions from ``begin_norm_axis`` on together, with a weight and a bias per
    element.
    """
    with layer_call("layer_norm", name, input) as helper:
        shape = list(input.shape)
        inner = shape[begin_norm_axis:]
        if not 0 < begin_norm_axis < len(shape) or any(n < 0 for n in inner):
            raise UsageError(
                f"layer_norm: begin_norm_axis={begin_norm_axis} must leave known dimensions of "
                f"the shape {shape}"
            )
        if scale:
            require_weight("layer_norm", param_attr)
        if shift:
            require_bias("layer_norm", bias_attr)
        size = [math.prod(inner)]
        weight = _scale(helper, param_attr, size, input.dtype) if scale else None
        bias = (
            helper.create_parameter(bias_attr, size, input.dtype, is_bias=True) if shift else None
        )
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
    """Normalise groups of channels of each sample. As in Paddle, without ``param_attr`` there is no
    weight, and so for the bias.
    """
    with layer_call("group_norm", name, input) as helper:
        shape = list(input.shape)
        if len(shape) < 2:
            raise UsageError(
                f"group_norm: input must have 2 dimensions or more, but its shape is {shape}"
            )
        size = _channels("group_norm", input, data_layout)
        weight = _scale(helper, param_attr, size, input.dtype) if param_attr else None
        bias = (
            helper.create_parameter(bias_attr, size, input.dtype, is_bias=True)
            if bias_attr
            else None
        )
        out = F.group_norm(input, groups, epsilon, weight, bias, data_layout)
        return activate(out, act)


def instance_norm(
    input: Any,
    epsilon: float = 1e-05,
    param_attr: Any = None,
    bias_attr: Any = None,
    name: str | None = None,
) -> Any:
    """Normalise each channel of each sample. As in Paddle, there are a weight and a bias only if
    both attributes are given.
    """
    with layer_call("instance_norm", name, input) as helper:
        if param_attr is False and bias_attr is not False:
            raise BadArgument(
                "instance_norm: param_attr and bias_attr must be set to False at the same time "
                "in instance_norm"
            )
        _require_images("instance_norm", input)
        weight = bias = None
        if param_attr and bias_attr:
            size = [input.shape[1]]
            weight = _scale(helper, param_attr, size, input.dtype)
            bias = helper.create_parameter(bias_attr, size, input.dtype, is_bias=True)
        return F.instance_norm(input, None, None, weight, bias, eps=epsilon)


def continuous_value_model(input: Any, cvm: Any, use_cvm: bool = True) -> Any:
    """``input`` [rows, 2 + n] with shows and clicks, its first columns, as logarithms of counts and
    of the rate; without them if not ``use_cvm``.

    ``cvm`` [rows, 2] are the counts, which are passed back in the place of gradients: a server's
    table adds them up.
    """
    return apply(value_ops.cvm, input, cvm, use_cvm)


@recorded
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
    """Normalise rows by sums over all rows seen: parameters ``<name>.batch_size``, ``.batch_sum``
    and ``.batch_square_sum``.

    Their gradients are what a batch adds to them: counts, sums and squares. ``param_attr`` may be a
    dict of first values. With ``slot_dim``, a slot of that many columns whose first is zero stays
    zero. ``in_place``, which saves memory, changes nothing.
    """
    if sync_stats:
        raise NotSupported("data_norm: sync_stats=True is not supported")
    if summary_decay_rate != 0.9999999:
        raise NotSupported(
            "data_norm: summary_decay_rate has no effect on CPU and is not supported"
        )
    if moving_mean_name is not None or moving_variance_name is not None:
        raise NotSupported(
            "data_norm: it keeps sums, not a moving_mean_name or moving_variance_name"
        )
    with layer_call("data_norm", name, input) as helper:
        shape = list(input.shape)
        if len(shape) < 2 or shape[1] < 0 or any(size != 1 for size in shape[2:]):
            raise UsageError(
                "data_norm: input must be [rows, known width], with axes of size 1 behind them at "
                f"most, but its shape is {shape}"
            )
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
        rows = input if len(shape) == 2 else input.reshape([-1, shape[1]])
        out = apply(data_ops.data_norm, rows, *sums, epsilon, slot_dim)
        if enable_scale_and_shift:
            out = out * scale + shift
        if len(shape) > 2:
            out = out.reshape([-1, *shape[1:]])
        return activate(out, act)


def spectral_norm(
    weight: Any, dim: int = 0, power_iters: int = 1, eps: float = 1e-12, name: str | None = None
) -> Any:
    """``weight`` divided by its largest singular value, which power iterations from two stored
    vectors estimate.
    """
    with layer_call("spectral_norm", name, weight) as helper:
        shape = list(weight.shape)
        if dim not in (0, 1):
            raise UsageError(
                f"spectral_norm: dim must be 0 (weight of fc) or 1 (of conv), but received {dim}"
            )
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
        raise UsageError(
            f"{call}: data_layout must be 'NCHW' or 'NHWC', but received {data_layout!r}"
        )
    return [input.shape[1 if data_layout == "NCHW" else -1]]


def _require_images(call: str, input: Any) -> None:
    if not 2 <= len(input.shape) <= 5:
        raise UsageError(
            f"{call}: expected 2D or 3D or 4D or 5D input, but its shape is {list(input.shape)}"
        )
