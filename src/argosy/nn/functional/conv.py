"""Convolutions and their transposes."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import UsageError
from argosy.framework.mode import switch
from argosy.nn.functional.window import is_channel_last, to_list, to_padding
from argosy.ops.nn import conv as ops
from argosy.ops.table import Op
from argosy.tensor.engine import Tensor, apply

__all__ = ["conv1d", "conv1d_transpose", "conv2d", "conv2d_transpose", "conv3d", "conv3d_transpose"]


def _nonnegative(padding: str | list[int], given: Any) -> str | list[int]:
    if not isinstance(padding, str) and any(p < 0 for p in padding):
        raise UsageError(
            f"Invalid padding, all value should be larger than or equal to 0, but received: {given}"
        )
    return padding


def _check_recorded(
    call: str, n: int, x: Any, stride: Any, dilation: Any, groups: int, last: bool
) -> None:
    """Refuse steps below one, and recorded input whose channels are unknown or do not split into
    groups; what is eager the engine checks.
    """
    for name, given in (("stride", stride), ("dilation", dilation)):
        if any(step < 1 for step in to_list(given, n, name)):
            raise UsageError(f"{call}: {name} should be greater than 0, but received {given}")
    if groups <= 0:
        raise UsageError(f"{call}: groups should be greater than 0, but received {groups}")
    shape = x.shape
    channels = shape[-1 if last else 1]
    if channels < 0:
        raise UsageError(f"{call}: the channels of the input must be known, but it is {shape}")
    if channels % groups:
        raise UsageError(
            f"{call}: the channels of the input must be a multiple of groups={groups}, but it is "
            f"{shape}"
        )


def _convolve(
    op: Op,
    n: int,
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    data_format: str,
) -> Any:
    last = is_channel_last(data_format, n, op.name)
    pads = _nonnegative(to_padding(padding, n, last), padding)
    if switch.is_static:
        _check_recorded(op.name, n, x, stride, dilation, groups, last)
        if weight.shape[0] % groups:
            raise UsageError(
                f"{op.name}: the number of filters must be a multiple of groups={groups}, but the "
                f"weight is {weight.shape}"
            )
    return apply(
        op,
        x,
        weight,
        bias,
        to_list(stride, n, "stride"),
        pads,
        to_list(dilation, n, "dilation"),
        groups,
        last,
    )


def _convolve_back(
    op: Op,
    n: int,
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
    output_size: Any,
    data_format: str,
) -> Any:
    last = is_channel_last(data_format, n, op.name)
    pads = _nonnegative(to_padding(padding, n, last), padding)
    if switch.is_static:
        _check_recorded(op.name, n, x, stride, dilation, groups, last)
    size = None
    if output_size is not None:
        if output_padding != 0:
            raise UsageError(
                f"{op.name}: output_padding option is mutually exclusive with output_size"
            )
        size = _output_size(op.name, n, output_size)
    return apply(
        op,
        x,
        weight,
        bias,
        to_list(stride, n, "stride"),
        pads,
        to_list(output_padding, n, "output_padding"),
        size,
        to_list(dilation, n, "dilation"),
        groups,
        last,
    )


def _output_size(call: str, n: int, output_size: Any) -> list[int]:
    if isinstance(output_size, Tensor):
        output_size = output_size.tolist()
        if isinstance(output_size, list) and len(output_size) == 1:
            output_size = output_size * n
    if not isinstance(output_size, (int, list, tuple)):
        raise UsageError(
            f"{call}: output_size should be int, or list, tuple of ints, but received "
            f"{output_size!r}"
        )
    return to_list(output_size, n, "output_size")


def conv1d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NCL",
    name: str | None = None,
) -> Any:
    """Convolve over one spatial axis; ``weight`` is [out_channels, in_channels / groups, width]."""
    return _convolve(ops.conv1d, 1, x, weight, bias, stride, padding, dilation, groups, data_format)


def conv2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Convolve over two spatial axes; ``weight`` is [out_channels, in_channels / groups, height,
    width].

    ``padding`` is "SAME", "VALID", an int, [h, w], [top, bottom, left, right] or a pair for each of
    the four axes.

    Example:
        >>> import paddle
        >>> x, weight = paddle.ones([1, 3, 8, 8]), paddle.ones([6, 3, 3, 3])
        >>> paddle.nn.functional.conv2d(x, weight, stride=2, padding=1).shape
        [1, 6, 4, 4]
    """
    return _convolve(ops.conv2d, 2, x, weight, bias, stride, padding, dilation, groups, data_format)


def conv3d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NCDHW",
    name: str | None = None,
) -> Any:
    """Convolve over three spatial axes; ``weight`` is [out_channels, in_channels / groups, depth,
    height, width].
    """
    return _convolve(ops.conv3d, 3, x, weight, bias, stride, padding, dilation, groups, data_format)


def conv1d_transpose(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    output_size: Any = None,
    data_format: str = "NCL",
    name: str | None = None,
) -> Any:
    """Apply the adjoint of ``conv1d``; ``weight`` is [in_channels, out_channels / groups,
    width].
    """
    return _convolve_back(
        ops.conv1d_transpose,
        1,
        x,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
        output_size,
        data_format,
    )


def conv2d_transpose(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    output_size: Any = None,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Apply the adjoint of ``conv2d``; ``weight`` is [in_channels, out_channels / groups, height,
    width].

    ``output_size`` chooses among the sizes that ``conv2d`` with this stride would have mapped to
    the size of ``x``.
    """
    return _convolve_back(
        ops.conv2d_transpose,
        2,
        x,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
        output_size,
        data_format,
    )


def conv3d_transpose(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    output_size: Any = None,
    data_format: str = "NCDHW",
    name: str | None = None,
) -> Any:
    """Apply the adjoint of ``conv3d``; ``weight`` is [in_channels, out_channels / groups, depth,
    height, width].
    """
    return _convolve_back(
        ops.conv3d_transpose,
        3,
        x,
        weight,
        bias,
        stride,
        padding,
        output_padding,
        groups,
        dilation,
        output_size,
        data_format,
    )
