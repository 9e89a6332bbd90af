"""Convolutions and their transposes over one, two and three spatial axes.

Weights are laid out [out, in / groups, *window], for a transpose [in, out / groups, *window].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as torch_f

from argosy.foundation.errors import UsageError
from argosy.ops import table
from argosy.ops.array.manipulation import reshape, squeeze, unsqueeze
from argosy.ops.math.elementwise import add
from argosy.ops.nn.window import for_engine, is_symmetric, to_pairs
from argosy.ops.table import Op, define
from argosy.ops.traits import Precision, Record


def _check_rank(name: str, x: Tensor, weight: Tensor, n: int) -> None:
    if x.ndim != n + 2:
        raise UsageError(
            f"{name}: Input x should be {n + 2}D tensor, but received x with the shape of "
            f"{list(x.shape)}"
        )
    if weight.ndim != n + 2:
        raise UsageError(
            f"{name}: Input weight should be {n + 2}D tensor, but received weight with the shape "
            f"of {list(weight.shape)}"
        )


def _parts(n: int, is_transpose: bool = False) -> Callable[..., Any]:
    """How programs have a convolution with a bias: [C] becomes [1, C, 1, 1] and is added."""

    def parts(record: Record, x: Any, weight: Any, bias: Any, *settings: Any) -> Any:
        if bias is None:
            return NotImplemented
        own = table.get(f"conv{n}d_transpose" if is_transpose else f"conv{n}d")
        out = record(own, x, weight, None, *settings)
        channel_last = settings[-1]
        shaped = bias if channel_last else record.apart(reshape, bias, [1, bias.shape[0], *[1] * n])
        return record(add, out, shaped)

    return parts


def _is_depthwise(x: Any, weight: Any, groups: int, channel_last: bool) -> bool:
    channels = x.shape[-1 if channel_last else 1]
    return bool(groups == channels and channels != 1 and weight.shape[0] % channels == 0)


def _type_of_conv2d(given: Mapping[str, Any]) -> str:
    call = (given[name] for name in ("x", "weight", "groups", "channel_last"))
    return "depthwise_conv2d" if _is_depthwise(*call) else "conv2d"


def _convolution(n: int, engine: Callable[..., Tensor], **traits: Any) -> Op:
    name = f"conv{n}d"

    def conv(
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        stride: Sequence[int],
        padding: str | Sequence[int],
        dilation: Sequence[int],
        groups: int,
        channel_last: bool,
    ) -> Tensor:
        if x.ndim != n + 2 or weight.ndim != n + 2:
            _check_rank(name, x, weight, n)
        if channel_last:
            x = x.movedim(-1, 1)
        if len(padding) != n or isinstance(padding, str):
            if isinstance(padding, str):
                dilation = [1] * n  # Paddle drops the dilation under "SAME"
            pairs = to_pairs(padding, x.shape[2:], weight.shape[2:], stride)
            if is_symmetric(pairs):
                padding = [before for before, _ in pairs]
            else:
                x = torch_f.pad(x, for_engine(pairs))
                padding = [0] * n
        out = engine(x, weight, bias, stride, padding, dilation, groups)
        return out.movedim(1, -1) if channel_last else out

    return define(name, conv, **traits)


def _transpose(n: int, engine: Callable[..., Tensor], **traits: Any) -> Op:
    name = f"conv{n}d_transpose"

    def conv_transpose(
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        stride: Sequence[int],
        padding: str | Sequence[int],
        output_padding: Sequence[int],
        output_size: Sequence[int] | None,
        dilation: Sequence[int],
        groups: int,
        channel_last: bool,
    ) -> Tensor:
        _check_rank(name, x, weight, n)
        if channel_last:
            x = x.movedim(-1, 1)
        if isinstance(padding, str):
            dilation = [1] * n  # Paddle drops the dilation under "SAME"
        if x.is_meta and output_size is not None:
            # Recorded for inputs whose sizes may be unknown yet: the run checks that they fit.
            out = x.new_empty((x.shape[0], weight.shape[1] * groups, *output_size))
            return out.movedim(1, -1) if channel_last else out
        sizes, kernel = x.shape[2:], weight.shape[2:]
        pairs = to_pairs(padding, sizes, kernel, stride)
        natural = [
            (sizes[i] - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1 - sum(pairs[i])
            for i in range(n)
        ]
        extra = (
            list(output_padding) or [0] * n
            if output_size is None
            else _extra(name, output_size, natural, stride)
        )
        if is_symmetric(pairs):
            out = engine(x, weight, bias, stride, [p for p, _ in pairs], extra, groups, dilation)
        else:
            out = engine(x, weight, bias, stride, [0] * n, extra, groups, dilation)
            for i, (before, _) in enumerate(pairs):
                out = out.narrow(i + 2, before, natural[i] + extra[i])
        return out.movedim(1, -1) if channel_last else out

    return define(name, conv_transpose, **traits)


def _extra(
    name: str, wanted: Sequence[int], natural: Sequence[int], stride: Sequence[int]
) -> list[int]:
    """What must be added at the end of each axis to reach ``wanted``; each stride allows sizes
    below the next step.
    """
    extra = [w - size for w, size in zip(wanted, natural, strict=True)]
    if any(not 0 <= e < s for e, s in zip(extra, stride, strict=True)):
        ranges = ", ".join(f"[{size}, {size + s})" for size, s in zip(natural, stride, strict=True))
        raise UsageError(
            f"{name}: output_size should lie in {ranges} here, but received {list(wanted)}"
        )
    return extra


def _line_parts(
    record: Record,
    x: Any,
    weight: Any,
    bias: Any,
    stride: Sequence[int],
    padding: str | Sequence[int],
    dilation: Sequence[int],
    groups: int,
    channel_last: bool,
) -> Any:
    """Paddle convolves lines as images of one row."""
    row = 1 if channel_last else 2
    image, kernel = record(unsqueeze, x, [row]), record(unsqueeze, weight, [2])
    if not isinstance(padding, str):
        padding = [0, *padding] if len(padding) == 1 else [0, 0, *padding[-2:]]
    settings = [1, *stride], padding, [1, *dilation], groups, channel_last
    out = record(squeeze, record(conv2d, image, kernel, None, *settings), [row])
    if bias is None:
        return out
    shaped = bias if channel_last else record(reshape, bias, [1, bias.shape[0], 1])
    return record(add, out, shaped)


conv1d = _convolution(
    1, torch.conv1d, precision={"conv2d": Precision.WHITE}, file_parts=_line_parts
)
conv2d = _convolution(
    2,
    torch.conv2d,
    types=(
        "conv2d(Input, Filter, Bias, strides, paddings:padding, dilations, groups, "
        "data_format:NCHW) -> Output",
        "depthwise_conv2d",
    ),
    type_of=_type_of_conv2d,
    parts=_parts(2),
    precision=Precision.WHITE,
    layer="conv2d",
)
conv3d = _convolution(
    3,
    torch.conv3d,
    types=(
        "conv3d(Input, Filter, Bias, strides, paddings:padding, dilations, groups, "
        "data_format:NCDHW) -> Output",
    ),
    parts=_parts(3),
    layer="conv3d",
)
conv1d_transpose = _transpose(1, torch.conv_transpose1d)
conv2d_transpose = _transpose(
    2,
    torch.conv_transpose2d,
    types=(
        "conv2d_transpose(Input, Filter, Bias, strides, paddings:padding, output_padding:any, "
        "output_size:some, dilations, groups, data_format:NCHW) -> Output",
        "depthwise_conv2d_transpose",
    ),
    layer="conv2d_transpose",
    parts=_parts(2, is_transpose=True),
)
conv3d_transpose = _transpose(
    3,
    torch.conv_transpose3d,
    types=(
        "conv3d_transpose(Input, Filter, Bias, strides, paddings:padding, output_padding:any, "
        "output_size:some, dilations, groups, data_format:NCDHW) -> Output",
    ),
    layer="conv3d_transpose",
    parts=_parts(3, is_transpose=True),
)
