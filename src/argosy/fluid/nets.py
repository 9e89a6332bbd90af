"""``fluid.nets``: a few layers in one call."""

from __future__ import annotations

from typing import Any

from argosy.fluid import layers
from argosy.foundation.errors import DtypeError, UsageError


def simple_img_conv_pool(
    input: Any,
    num_filters: int,
    filter_size: Any,
    pool_size: Any,
    pool_stride: Any,
    pool_padding: Any = 0,
    pool_type: str = "max",
    global_pooling: bool = False,
    conv_stride: Any = 1,
    conv_padding: Any = 0,
    conv_dilation: Any = 1,
    conv_groups: int = 1,
    param_attr: Any = None,
    bias_attr: Any = None,
    act: str | None = None,
    use_cudnn: bool = True,
) -> Any:
    """A convolution, then pooling."""
    out = layers.conv2d(
        input,
        num_filters,
        filter_size,
        conv_stride,
        conv_padding,
        conv_dilation,
        conv_groups,
        param_attr,
        bias_attr,
        use_cudnn,
        act,
    )
    return layers.pool2d(out, pool_size, pool_type, pool_stride, pool_padding, global_pooling)


def img_conv_group(
    input: Any,
    conv_num_filter: Any,
    pool_size: Any,
    conv_padding: Any = 1,
    conv_filter_size: Any = 3,
    conv_act: str | None = None,
    param_attr: Any = None,
    conv_with_batchnorm: Any = False,
    conv_batchnorm_drop_rate: Any = 0.0,
    pool_stride: Any = 1,
    pool_type: str = "max",
    use_cudnn: bool = True,
) -> Any:
    """Convolutions in a row, each with batch norm and dropout if asked for, then pooling.

    An argument that is no list holds for every convolution.
    """
    count = len(conv_num_filter)

    def each(value: Any, argument: str) -> Any:
        if not hasattr(value, "__len__"):
            return [value] * count
        if len(value) != count:
            raise UsageError(
                f"fluid.nets.img_conv_group: {count} convolutions, but {len(value)} of {argument}"
            )
        return value

    settings = zip(
        conv_num_filter,
        each(conv_padding, "conv_padding"),
        each(conv_filter_size, "conv_filter_size"),
        each(param_attr, "param_attr"),
        each(conv_with_batchnorm, "conv_with_batchnorm"),
        each(conv_batchnorm_drop_rate, "conv_batchnorm_drop_rate"),
        strict=True,
    )
    out = input
    for num_filters, padding, filter_size, attr, is_normalised, drop_rate in settings:
        act = None if is_normalised else conv_act
        out = layers.conv2d(
            out,
            num_filters,
            filter_size,
            padding=padding,
            param_attr=attr,
            act=act,
            use_cudnn=use_cudnn,
        )
        if is_normalised:
            out = layers.batch_norm(out, act=conv_act)
            if abs(drop_rate) > 1e-5:
                out = layers.dropout(out, drop_rate)
    return layers.pool2d(out, pool_size, pool_type, pool_stride)


def sequence_conv_pool(
    input: Any,
    num_filters: int,
    filter_size: int,
    param_attr: Any = None,
    act: str | None = "sigmoid",
    pool_type: str = "max",
    bias_attr: Any = None,
) -> Any:
    """A convolution over sequences, then one value per sequence."""
    out = layers.sequence_conv(
        input=input,
        num_filters=num_filters,
        filter_size=filter_size,
        param_attr=param_attr,
        bias_attr=bias_attr,
        act=act,
    )
    return layers.sequence_pool(input=out, pool_type=pool_type)


def glu(input: Any, dim: int = -1) -> Any:
    """The first half of ``input`` along ``dim``, times the sigmoid of the second."""
    left, right = layers.split(input, 2, dim)
    return left * layers.sigmoid(right)


def scaled_dot_product_attention(
    queries: Any, keys: Any, values: Any, num_heads: int = 1, dropout_rate: float = 0.0
) -> Any:
    """Attention over [batch, length, width]; with more than one head the three are projected by new
    weights first.
    """
    _check_attention(queries, keys, values, num_heads)
    width = keys.shape[-1] // num_heads
    if num_heads > 1:
        queries, keys, values = (
            layers.fc(x, x.shape[-1], num_flatten_dims=2) for x in (queries, keys, values)
        )

    def heads(x: Any) -> Any:
        if num_heads == 1:
            return x
        return layers.transpose(
            layers.reshape(x, [0, 0, num_heads, x.shape[-1] // num_heads]), [0, 2, 1, 3]
        )

    scores = layers.matmul(layers.scale(heads(queries), width**-0.5), heads(keys), transpose_y=True)
    weights = layers.softmax(scores)
    if dropout_rate:
        weights = layers.dropout(weights, dropout_rate)
    out = layers.matmul(weights, heads(values))
    return (
        out
        if num_heads == 1
        else layers.reshape(layers.transpose(out, [0, 2, 1, 3]), [0, 0, values.shape[-1]])
    )


def _check_attention(queries: Any, keys: Any, values: Any, num_heads: int) -> None:
    if not queries.dtype == keys.dtype == values.dtype:
        raise DtypeError(
            "fluid.nets.scaled_dot_product_attention: the dtypes of queries, keys and values "
            "should be the same, "
            f"but are {queries.dtype}, {keys.dtype} and {values.dtype}"
        )
    shapes = [list(x.shape) for x in (queries, keys, values)]
    if any(len(shape) != 3 for shape in shapes):
        raise UsageError(
            "fluid.nets.scaled_dot_product_attention: inputs should be 3-D, but their shapes "
            f"are {shapes}"
        )
    if shapes[0][-1] != shapes[1][-1] or shapes[1][-2] != shapes[2][-2]:
        raise UsageError(
            "fluid.nets.scaled_dot_product_attention: queries and keys need one width, keys and "
            "values one length, "
            f"but the shapes are {shapes}"
        )
    if shapes[1][-1] % num_heads or shapes[2][-1] % num_heads:
        raise UsageError(
            "fluid.nets.scaled_dot_product_attention: the widths of keys and values, "
            f"{shapes[1][-1]} and {shapes[2][-1]}, "
            f"must be divisible by num_heads={num_heads}"
        )
