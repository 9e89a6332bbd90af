"""Pooling over windows and back; pooling to a given size comes from a file of its own."""

from __future__ import annotations

import math
from typing import Any

from argosy.foundation.errors import RankError, UsageError
from argosy.nn.functional._adaptive_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    fractional_max_pool2d,
    fractional_max_pool3d,
)
from argosy.nn.functional.window import CHANNEL_FIRST, is_channel_last, to_list, to_padding
from argosy.ops.nn import pooling as ops
from argosy.tensor.engine import apply

__all__ = [
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "lp_pool1d",
    "lp_pool2d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "fractional_max_pool2d",
    "fractional_max_pool3d",
]


def _window(
    call: str,
    n: int,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    data_format: str,
) -> tuple[list[int], list[int], str | list[int], bool]:
    """Read kernel, stride and padding of a call, and whether channels come last."""
    kernel = to_list(kernel_size, n, "kernel_size")
    steps = kernel if stride is None else to_list(stride, n, "stride")
    if min(kernel) <= 0 or min(steps) <= 0:
        raise UsageError(
            f"{call}: kernel_size and stride must be greater than 0, but received {kernel_size} "
            f"and {stride}"
        )
    last = is_channel_last(data_format, n, call)
    if ceil_mode and isinstance(padding, str) and padding.upper() == "VALID":
        raise UsageError(f'{call}: when Attr(padding) is "VALID", Attr(ceil_mode) must be False.')
    return kernel, steps, to_padding(padding, n, last), last


def _avg(
    n: int,
    x: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    exclusive: bool,
    divisor_override: Any,
    data_format: str,
) -> Any:
    kernel, steps, pads, last = _window(
        f"avg_pool{n}d", n, kernel_size, stride, padding, ceil_mode, data_format
    )
    out = apply(ops.avg_pool, x, kernel, steps, pads, ceil_mode, exclusive, last)
    if divisor_override is None:
        return out
    if not isinstance(divisor_override, (int, float)):
        raise UsageError(
            f"avg_pool{n}d: divisor_override must be a number, but received "
            f"{type(divisor_override).__name__}"
        )
    return out * math.prod(kernel) / divisor_override


def avg_pool1d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    exclusive: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
) -> Any:
    """Average over windows of [N, C, L]; the stride is the kernel size unless given."""
    return _avg(1, x, kernel_size, stride, padding, ceil_mode, exclusive, None, "NCL")


def avg_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    exclusive: bool = True,
    divisor_override: float | None = None,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Average over windows of images; ``exclusive`` leaves the padding out of the average.

    ``divisor_override`` multiplies that average by the kernel's area and divides by itself.

    Example:
        >>> import paddle
        >>> x = paddle.ones([1, 1, 3, 3])
        >>> paddle.nn.functional.avg_pool2d(x, 3, stride=2, padding=1).flatten().tolist()
        [1.0, 1.0, 1.0, 1.0]
    """
    return _avg(
        2, x, kernel_size, stride, padding, ceil_mode, exclusive, divisor_override, data_format
    )


def avg_pool3d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    exclusive: bool = True,
    divisor_override: float | None = None,
    data_format: str = "NCDHW",
    name: str | None = None,
) -> Any:
    """Average over windows of volumes, as ``avg_pool2d`` does."""
    return _avg(
        3, x, kernel_size, stride, padding, ceil_mode, exclusive, divisor_override, data_format
    )


def _max(
    n: int,
    x: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    return_mask: bool,
    ceil_mode: bool,
    data_format: str,
) -> Any:
    call = f"max_pool{n}d"
    kernel, steps, pads, last = _window(
        call, n, kernel_size, stride, padding, ceil_mode, data_format
    )
    if not return_mask:
        return apply(ops.max_pool, x, kernel, steps, pads, ceil_mode, last)
    if last:
        raise UsageError(
            f"{call}: When setting return_mask to true, data_format must be set to "
            f"{CHANNEL_FIRST[n]}"
        )
    # With a mask Paddle knows only equal padding on both sides, and pads nothing for "SAME".
    amounts = [0] * n if isinstance(pads, str) else pads
    if len(amounts) != n:
        raise UsageError(
            f"{call}: with return_mask the padding must be equal on both sides, but received "
            f"{padding}"
        )
    return apply(ops.max_pool_with_index, x, kernel, steps, amounts, ceil_mode)


def max_pool1d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    name: str | None = None,
) -> Any:
    """Take the maximum of windows of [N, C, L]; ``return_mask`` adds the positions of the
    maxima.
    """
    return _max(1, x, kernel_size, stride, padding, return_mask, ceil_mode, "NCL")


def max_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Take the maximum of windows of images; ``return_mask`` adds the int32 positions in the
    flattened image.

    Example:
        >>> import paddle
        >>> x = paddle.arange(16, dtype="float32").reshape([1, 1, 4, 4])
        >>> paddle.nn.functional.max_pool2d(x, 2).flatten().tolist()
        [5.0, 7.0, 13.0, 15.0]
    """
    return _max(2, x, kernel_size, stride, padding, return_mask, ceil_mode, data_format)


def max_pool3d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    data_format: str = "NCDHW",
    name: str | None = None,
) -> Any:
    """Take the maximum of windows of volumes; ``return_mask`` adds the positions in the flattened
    volume.
    """
    return _max(3, x, kernel_size, stride, padding, return_mask, ceil_mode, data_format)


def _lp(
    n: int,
    x: Any,
    norm_type: float,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    data_format: str,
) -> Any:
    if norm_type == 0:
        raise UsageError(f"lp_pool{n}d: `norm_type` cannot be 0.")
    kernel, steps, pads, last = _window(
        f"lp_pool{n}d", n, kernel_size, stride, padding, ceil_mode, data_format
    )
    return apply(ops.lp_pool, x, float(norm_type), kernel, steps, pads, ceil_mode, last)


def lp_pool1d(
    x: Any,
    norm_type: float,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    data_format: str = "NCL",
    name: str | None = None,
) -> Any:
    """Take ``sum(x ** p) ** (1 / p)`` over windows; a negative sum under an odd p gives NaN."""
    return _lp(1, x, norm_type, kernel_size, stride, padding, ceil_mode, data_format)


def lp_pool2d(
    x: Any,
    norm_type: float,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Take ``sum(x ** p) ** (1 / p)`` over windows of images; a negative sum under an odd p gives
    NaN.
    """
    return _lp(2, x, norm_type, kernel_size, stride, padding, ceil_mode, data_format)


def _unpool(
    n: int,
    x: Any,
    indices: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    data_format: str,
    output_size: Any,
) -> Any:
    call = f"max_unpool{n}d"
    if data_format != CHANNEL_FIRST[n]:
        raise UsageError(
            f"{call}: data_format should be '{CHANNEL_FIRST[n]}', but received {data_format!r}"
        )
    if len(x.shape) != n + 2 or list(x.shape) != list(indices.shape):
        raise UsageError(
            f"{call}: x and indices should both have {n + 2} axes and one shape, "
            f"but received {list(x.shape)} and {list(indices.shape)}"
        )
    kernel = to_list(kernel_size, n, "kernel_size")
    steps = kernel if stride is None else to_list(stride, n, "stride")
    pads = to_list(padding, n, "padding")
    natural = [(x.shape[i + 2] - 1) * steps[i] + kernel[i] - 2 * pads[i] for i in range(n)]
    return apply(ops.max_unpool, x, indices, _unpooled_size(call, n, output_size, natural, steps))


def _unpooled_size(
    call: str, n: int, output_size: Any, natural: list[int], steps: list[int]
) -> list[int]:
    if output_size is None:
        return natural
    if not isinstance(output_size, (list, tuple)):
        raise RankError(
            f"{call}: Required output_size is None|list|tuple, but received {output_size!r}"
        )
    size = [int(v) for v in output_size][-n:]
    if len(output_size) not in (n, n + 2):
        raise UsageError(
            f"{call}: output_size should contain {n} or {n + 2} elements, but received "
            f"{output_size}"
        )
    for d, (got, expected, step) in enumerate(zip(size, natural, steps, strict=True)):
        if not expected - step < got < expected + step:
            raise UsageError(
                f"{call}: invalid output_size {output_size} "
                f"(dim {d} must be between {expected - step} and {expected + step})"
            )
    return size


def max_unpool1d(
    x: Any,
    indices: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    data_format: str = "NCL",
    output_size: Any = None,
    name: str | None = None,
) -> Any:
    """Undo ``max_pool1d(..., return_mask=True)``: values at their positions, zeros elsewhere."""
    return _unpool(1, x, indices, kernel_size, stride, padding, data_format, output_size)


def max_unpool2d(
    x: Any,
    indices: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    data_format: str = "NCHW",
    output_size: Any = None,
    name: str | None = None,
) -> Any:
    """Undo ``max_pool2d(..., return_mask=True)``: values at their positions, zeros elsewhere."""
    return _unpool(2, x, indices, kernel_size, stride, padding, data_format, output_size)


def max_unpool3d(
    x: Any,
    indices: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    data_format: str = "NCDHW",
    output_size: Any = None,
    name: str | None = None,
) -> Any:
    """Undo ``max_pool3d(..., return_mask=True)``: values at their positions, zeros elsewhere."""
    return _unpool(3, x, indices, kernel_size, stride, padding, data_format, output_size)
