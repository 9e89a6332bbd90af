"""Pooling as 1.x has it: one function for maximum and average, with a stride of 1 by default."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import NotSupported, UsageError
from argosy.nn import functional as F
from argosy.utils import convert_to_list


def pool2d(
    input: Any,
    pool_size: Any = -1,
    pool_type: str = "max",
    pool_stride: Any = 1,
    pool_padding: Any = 0,
    global_pooling: bool = False,
    use_cudnn: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
    exclusive: bool = True,
    data_format: str = "NCHW",
) -> Any:
    """Maximum or average over windows of images; ``exclusive`` leaves padding out of averages.
    ``use_cudnn`` changes nothing.
    """
    return _pool(
        2,
        input,
        pool_size,
        pool_type,
        pool_stride,
        pool_padding,
        global_pooling,
        ceil_mode,
        exclusive,
        data_format,
    )


def pool3d(
    input: Any,
    pool_size: Any = -1,
    pool_type: str = "max",
    pool_stride: Any = 1,
    pool_padding: Any = 0,
    global_pooling: bool = False,
    use_cudnn: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
    exclusive: bool = True,
    data_format: str = "NCDHW",
) -> Any:
    """As ``pool2d``, over three axes."""
    return _pool(
        3,
        input,
        pool_size,
        pool_type,
        pool_stride,
        pool_padding,
        global_pooling,
        ceil_mode,
        exclusive,
        data_format,
    )


def _pool(
    num_dims: int,
    input: Any,
    pool_size: Any,
    pool_type: str,
    pool_stride: Any,
    pool_padding: Any,
    global_pooling: bool,
    ceil_mode: bool,
    exclusive: bool,
    data_format: str,
) -> Any:
    call = f"pool{num_dims}d"
    _require_type(pool_type, call)
    if global_pooling:
        return _over_all(input, pool_type, data_format)
    if pool_size == -1:
        raise UsageError(f"{call}: pool_size must be given when global_pooling is False")
    if pool_type == "max":
        pool = F.max_pool2d if num_dims == 2 else F.max_pool3d
        return pool(
            input,
            pool_size,
            pool_stride,
            pool_padding,
            ceil_mode=ceil_mode,
            data_format=data_format,
        )
    if ceil_mode and not exclusive:
        if num_dims == 3:
            raise NotSupported("pool3d: ceil_mode with exclusive=False")
        # Windows that jut out count as whole ones in 1.x, so what is missing becomes padding.
        input, pool_padding, ceil_mode = (
            _filled(input, pool_size, pool_stride, pool_padding, data_format),
            0,
            False,
        )
    average = F.avg_pool2d if num_dims == 2 else F.avg_pool3d
    return average(
        input, pool_size, pool_stride, pool_padding, ceil_mode, exclusive, data_format=data_format
    )


def adaptive_pool2d(
    input: Any,
    pool_size: Any,
    pool_type: str = "max",
    require_index: bool = False,
    name: str | None = None,
) -> Any:
    """Maximum or average over a grid of ``pool_size`` windows that cover each image; the places of
    maxima on request.
    """
    _require_type(pool_type, "adaptive_pool2d")
    if pool_type == "max":
        return F.adaptive_max_pool2d(input, pool_size, require_index)
    if require_index:
        raise UsageError("adaptive_pool2d: require_index needs pool_type='max'")
    return F.adaptive_avg_pool2d(input, pool_size)


def _require_type(pool_type: str, call: str) -> None:
    if pool_type not in ("max", "avg"):
        raise UsageError(
            f"{call}: pool_type can only be 'max' or 'avg', but received {pool_type!r}"
        )


def _over_all(x: Any, pool_type: str, data_format: str) -> Any:
    """The maximum or mean of whole images, whose size need not be known."""
    num_dims, is_last = len(data_format) - 2, data_format[-1] == "C"
    if pool_type == "avg":
        first = 1 if is_last else 2
        return x.mean(list(range(first, first + num_dims)), keepdim=True)
    images = x.moveaxis(-1, 1) if is_last else x
    pool = F.adaptive_max_pool2d if num_dims == 2 else F.adaptive_max_pool3d
    out = pool(images, 1)
    return out.moveaxis(1, -1) if is_last else out


def _filled(x: Any, pool_size: Any, pool_stride: Any, pool_padding: Any, data_format: str) -> Any:
    """``x`` with zeros around it, so many that windows from its start end exactly at its end."""
    if isinstance(pool_padding, str) or (
        isinstance(pool_padding, (list, tuple)) and len(pool_padding) != 2
    ):
        raise NotSupported(
            "pool2d: ceil_mode with exclusive=False needs pool_padding as an int or two of them"
        )
    if any(n < 0 for n in x.shape[1:]):
        raise NotSupported("pool2d: ceil_mode with exclusive=False needs images of a known size")
    around = []
    extents = x.shape[2:4] if data_format == "NCHW" else x.shape[1:3]
    settings = [
        convert_to_list(value, 2, "window") for value in (pool_size, pool_stride, pool_padding)
    ]
    for extent, window, stride, padding in zip(extents, *settings, strict=True):
        overhang = -(extent + 2 * padding - window) % stride
        around.append([padding, padding + overhang])
    (top, bottom), (left, right) = around
    return F.pad(x, [left, right, top, bottom], data_format=data_format)
