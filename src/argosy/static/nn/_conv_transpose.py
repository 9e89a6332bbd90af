"""Transposed convolutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy.foundation.errors import NotSupported, UsageError
from argosy.nn import functional as F
from argosy.static._variable import Variable
from argosy.static.nn._activation import activate
from argosy.static.nn._conv import channels_of, divided, layer_kind
from argosy.static.nn._layer import layer_call, require_weight
from argosy.utils import convert_to_list


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

    Without ``filter_size`` the filters get the size that leads to ``output_size``. ``use_cudnn`` only changes names.
    """

    def function(x: Any, weight: Any, bias: Any, size: Any, parts: int) -> Any:
        return F.conv2d_transpose(x, weight, bias, stride, padding, 0, dilation, parts, size, data_format)

    return _enlarged(
        2, function, input, num_filters, output_size, filter_size, (padding, stride, dilation), groups, param_attr, bias_attr,
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
    """Enlarge volumes with new filters [channels, num_filters / groups, depth, height, width]; see ``conv2d_transpose``."""

    def function(x: Any, weight: Any, bias: Any, size: Any, parts: int) -> Any:
        return F.conv3d_transpose(x, weight, bias, stride, padding, 0, parts, dilation, size, data_format)

    return _enlarged(
        3, function, input, num_filters, output_size, filter_size, (padding, stride, dilation), groups, param_attr, bias_attr,
        use_cudnn, act, name, data_format,
    )  # fmt: skip


def _enlarged(
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
    if isinstance(output_size, Variable) or any(isinstance(n, Variable) for n in _items(output_size)):
        raise NotSupported(f"{call}: output_size must hold numbers, not variables")
    size = None if output_size is None else convert_to_list(output_size, rank, "output_size")
    if filter_size is not None:
        window = convert_to_list(filter_size, rank, "filter_size")
    else:
        window = _fitting(call, input, rank, size, geometry, data_format)
    with layer_call(layer_kind(call, groups == channels == num_filters, use_cudnn), name) as helper:
        weight = helper.create_parameter(param_attr, [channels, num_filters // parts, *window], input.dtype)
        bias = helper.create_parameter(bias_attr, [num_filters], input.dtype, is_bias=True)
        return activate(function(input, weight, bias, size, parts), act)


def _fitting(
    call: str, input: Any, rank: int, size: list[int] | None, geometry: tuple[Any, Any, Any], data_format: str
) -> list[int]:
    """The size of filters that makes an output of ``size``."""
    if size is None:
        raise UsageError(f"{call}: output_size must be set when filter_size is None")
    padding, stride, dilation = geometry
    if isinstance(padding, str) or any(isinstance(n, (list, tuple)) for n in _items(padding)):
        raise NotSupported(f"{call}: padding must be numbers when filter_size is None")
    pads = _items(padding) or [padding] * rank
    pads = [pads[2 * i] + pads[2 * i + 1] for i in range(rank)] if len(pads) == 2 * rank else [2 * p for p in pads]
    strides, dilations = convert_to_list(stride, rank, "stride"), convert_to_list(dilation, rank, "dilation")
    shape = list(input.shape)
    extents = shape[1:-1] if data_format.endswith("C") else shape[2:]
    if any(n < 0 for n in extents):
        raise UsageError(f"{call}: without filter_size the extents of input must be known, but are {extents}")
    return [(size[i] - (extents[i] - 1) * strides[i] + pads[i] - 1) // dilations[i] + 1 for i in range(rank)]


def _items(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []
