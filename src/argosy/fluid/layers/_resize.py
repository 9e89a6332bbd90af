"""Images in another size."""

from __future__ import annotations

from typing import Any

from argosy import tensor as T
from argosy.foundation.errors import NotSupported, UsageError
from argosy.nn import functional as F
from argosy.utils import convert_to_list

__all__ = ["image_resize", "resize_bilinear", "resize_nearest"]


def image_resize(
    input: Any,
    out_shape: Any = None,
    scale: Any = None,
    name: str | None = None,
    resample: str = "BILINEAR",
    actual_shape: Any = None,
    align_corners: bool = True,
    align_mode: int = 1,
    data_format: str = "NCHW",
) -> Any:
    """Images of size ``out_shape``, or ``scale`` times as large, by "BILINEAR" or "NEAREST"
    interpolation.
    """
    if resample not in ("BILINEAR", "NEAREST"):
        raise NotSupported(
            f"fluid.layers.image_resize: resample={resample!r}; 'BILINEAR' and 'NEAREST' are "
            "supported"
        )
    if actual_shape is not None:
        raise NotSupported("fluid.layers.image_resize: actual_shape; use out_shape")
    if out_shape is None and scale is None:
        raise UsageError("fluid.layers.image_resize: one of out_shape and scale must be given")
    if resample == "NEAREST" and align_corners:
        return _nearest_corners(input, out_shape, scale, data_format)
    factor = None if out_shape is not None else scale
    mode = resample.lower()
    return F.interpolate(input, out_shape, factor, mode, align_corners, align_mode, data_format)


def _nearest_corners(x: Any, out_shape: Any, scale: Any, data_format: str) -> Any:
    """The nearest elements when the first and last ones of both sizes coincide."""
    axes = (2, 3) if data_format == "NCHW" else (1, 2)
    extents = [x.shape[axis] for axis in axes]
    if any(n < 0 for n in extents):
        raise NotSupported(
            "fluid.layers.resize_nearest: align_corners=True needs images of a known size"
        )
    sizes = (
        [int(n * scale) for n in extents]
        if out_shape is None
        else convert_to_list(out_shape, 2, "out_shape")
    )
    for axis, extent, size in zip(axes, extents, sizes, strict=True):
        ratio = (extent - 1.0) / (size - 1.0) if size > 1 else 0.0
        places = T.assign([int(ratio * i + 0.5) for i in range(size)])
        x = T.index_select(x, places, axis)
    return x


def resize_bilinear(
    input: Any,
    out_shape: Any = None,
    scale: Any = None,
    name: str | None = None,
    actual_shape: Any = None,
    align_corners: bool = True,
    align_mode: int = 1,
    data_format: str = "NCHW",
) -> Any:
    """``image_resize`` by bilinear interpolation."""
    return image_resize(
        input,
        out_shape,
        scale,
        name,
        "BILINEAR",
        actual_shape,
        align_corners,
        align_mode,
        data_format,
    )


def resize_nearest(
    input: Any,
    out_shape: Any = None,
    scale: Any = None,
    name: str | None = None,
    actual_shape: Any = None,
    align_corners: bool = True,
    data_format: str = "NCHW",
) -> Any:
    """``image_resize`` to the nearest elements."""
    return image_resize(
        input, out_shape, scale, name, "NEAREST", actual_shape, align_corners, 1, data_format
    )
