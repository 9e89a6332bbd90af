"""Interpolation and padding."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.foundation.errors import DtypeError, RankError, UsageError
from argosy.framework.mode import switch
from argosy.nn.functional import pooling
from argosy.ops.images import resize as resize_ops
from argosy.ops.images import vision as vision_ops
from argosy.tensor.engine import Tensor, apply

_RANKS = {
    "linear": (3,),
    "nearest": (4, 5),
    "bilinear": (4,),
    "bicubic": (4,),
    "trilinear": (5,),
    "area": (3, 4, 5),
}
_RESIZE_LAYOUTS = {3: ("NCW", "NWC"), 4: ("NCHW", "NHWC"), 5: ("NCDHW", "NDHWC")}
_PAD_LAYOUTS = {3: ("NCL", "NLC"), 4: ("NCHW", "NHWC"), 5: ("NCDHW", "NDHWC")}


def interpolate(
    x: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool = False,
    align_mode: int = 0,
    data_format: str | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
    name: str | None = None,
) -> Any:
    """Resample to ``size``, or to the size times ``scale_factor``.

    ``mode`` is "nearest", "linear" (3-D), "bilinear" or "bicubic" (4-D), "trilinear" (5-D) or
    "area". Without ``align_corners``, ``align_mode`` 0 takes positions at pixel centres and 1 at
    their corners.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.interpolate(paddle.ones([1, 3, 4, 6]), scale_factor=2,
        ...     mode="bilinear").shape
        [1, 3, 8, 12]
    """
    kind = mode.lower()
    rank = len(x.shape)
    last = _check_mode(kind, rank, data_format, align_corners, align_mode, antialias)
    if (size is None) == (scale_factor is None):
        raise UsageError("interpolate: exactly one of size and scale_factor must be given")
    if kind == "area":
        return _area(x, size, rank)
    sizes = scales = None
    if size is not None:
        if recompute_scale_factor:
            raise UsageError(
                "interpolate: recompute_scale_factor is not meaningful with an explicit size."
            )
        sizes = _numbers(size, rank - 2, "size", int)
        if _is_plain(sizes) and min(sizes) <= 0:
            raise RankError(
                f"interpolate: each dimension of size must be greater than 0, but received {size}"
            )
    else:
        scales = _numbers(scale_factor, rank - 2, "scale_factor", float)
        if _is_plain(scales) and min(scales) <= 0:
            raise UsageError(
                "interpolate: scale_factor should be greater than zero, but received "
                f"{scale_factor}"
            )
    options = align_corners, align_mode, antialias, last, bool(recompute_scale_factor)
    return apply(resize_ops.interpolate, x, kind, sizes, scales, *options)


def _check_mode(
    kind: str,
    rank: int,
    data_format: str | None,
    align_corners: Any,
    align_mode: int,
    antialias: Any,
) -> bool:
    """Refuse what does not go together; returns whether channels come last."""
    if rank not in _RESIZE_LAYOUTS:
        raise UsageError(
            f"interpolate: the input should be 3-D, 4-D or 5-D, but has {rank} dimensions"
        )
    if kind not in _RANKS:
        raise UsageError(
            f"interpolate: mode should be one of {sorted(_RANKS)}, but received {kind!r}"
        )
    if rank not in _RANKS[kind]:
        wanted = " or ".join(f"{r}-D" for r in _RANKS[kind])
        raise UsageError(
            f"interpolate: '{kind}' only supports {wanted} tensors, but x has {rank} dimensions"
        )
    if not isinstance(align_corners, bool) or not isinstance(antialias, bool):
        raise DtypeError("interpolate: align_corners and antialias should be bool values")
    if align_mode not in (0, 1):
        raise UsageError(f"interpolate: align_mode can only be 0 or 1, but received {align_mode}")
    if align_corners and kind == "nearest":
        raise UsageError(
            "interpolate: align_corners can only be set with linear, bilinear, bicubic or trilinear"
        )
    if antialias and kind not in ("bilinear", "bicubic"):
        raise UsageError("interpolate: antialias is only supported for bilinear and bicubic modes")
    if data_format is None or kind == "area":
        return False
    layout = data_format.upper()
    if layout not in _RESIZE_LAYOUTS[rank]:
        raise UsageError(
            f"interpolate: data_format should be one of {_RESIZE_LAYOUTS[rank]} for {rank}-D "
            f"input, but received {layout}"
        )
    return layout == _RESIZE_LAYOUTS[rank][1]


def _area(x: Any, size: Any, rank: int) -> Any:
    if size is None:
        raise UsageError("interpolate: output size can not be None in AREA mode")
    if rank == 3:
        return pooling.adaptive_avg_pool1d(x, size)
    return (pooling.adaptive_avg_pool2d if rank == 4 else pooling.adaptive_avg_pool3d)(x, size)


def _is_plain(values: Any) -> bool:
    """Whether these are numbers, not variables of a program."""
    return not isinstance(values, Tensor) and not any(isinstance(v, Tensor) for v in values)


def _numbers(value: Any, n: int, name: str, kind: Any) -> Any:
    """Numbers, ``n`` of them; in a program a Tensor, or those among them, stay what they are."""
    if isinstance(value, Tensor) and switch.is_static:
        return value
    if isinstance(value, (Tensor, np.ndarray)):
        value = value.tolist()
    if isinstance(value, (int, float)):
        if name == "size":
            raise DtypeError(
                f"interpolate: size should be a list or tuple or Tensor, but received {value!r}"
            )
        return [kind(value)] * n
    if not isinstance(value, (list, tuple)):
        raise DtypeError(
            f"interpolate: {name} should be a list, tuple or Tensor, but received "
            f"{type(value).__name__}"
        )
    if len(value) != n:
        raise UsageError(
            f"interpolate: {name} should have {n} numbers for this input, but received {value}"
        )
    return [v if isinstance(v, Tensor) and switch.is_static else kind(v) for v in value]


def upsample(
    x: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool = False,
    align_mode: int = 0,
    data_format: str | None = None,
    name: str | None = None,
) -> Any:
    """Another name of ``interpolate``."""
    return interpolate(x, size, scale_factor, mode, align_corners, align_mode, data_format)


def pad(
    x: Any,
    pad: Any,
    mode: str = "constant",
    value: float = 0.0,
    data_format: str | None = None,
    pad_from_left_axis: bool = True,
    name: str | None = None,
) -> Any:
    """Pad with a constant, or with what "reflect", "replicate" or "circular" find inside ``x``.

    ``pad`` is (before, after) of the spatial axes, last axis first, as in [left, right, top,
    bottom]. For "constant" it may also cover any number of last axes (last axis first), or all
    axes: then first axis first, unless ``pad_from_left_axis`` is False.

    Example:
        >>> import paddle
        >>> x = paddle.ones([1, 1, 2, 3])
        >>> paddle.nn.functional.pad(x, [1, 1, 0, 2]).shape
        [1, 1, 4, 5]
    """
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise RankError(
            f"pad: mode should be one of constant, reflect, replicate, circular, but got {mode}."
        )
    amounts = _amounts(pad)
    rank = len(x.shape)
    if mode == "constant" and len(amounts) != 2 * (rank - 2) and not isinstance(pad, Tensor):
        pairs = _pairs_of_all_axes(amounts, rank, pad_from_left_axis)
    else:
        pairs = _pairs_of_spatial_axes(amounts, rank, data_format)
    return apply(vision_ops.pad, x, pairs, mode, _setting(value))


def _setting(value: Any) -> Any:
    """A number; in a program it may be a variable."""
    return value if isinstance(value, Tensor) and switch.is_static else float(value)


def _amounts(pad: Any) -> list[Any]:
    """The amounts one by one; in a program those that are variables stay what they are."""
    if not switch.is_static:
        return pad.tolist() if isinstance(pad, Tensor) else [int(p) for p in pad]
    each = [pad[i] for i in range(pad.shape[0])] if isinstance(pad, Tensor) else pad
    return [p if isinstance(p, Tensor) else int(p) for p in each]


def _pairs_of_all_axes(amounts: list[Any], rank: int, first_axis_first: bool) -> list[Any]:
    if len(amounts) % 2 or len(amounts) > 2 * rank:
        raise UsageError(
            f"pad: expected an even number of at most {2 * rank} amounts, but received {amounts}"
        )
    if any(amount < 0 for amount in amounts if isinstance(amount, int)):
        raise UsageError(f"pad: amounts must not be negative, but received {amounts}")
    if len(amounts) == 2 * rank and first_axis_first:
        return amounts
    reversed_axes = [a for i in reversed(range(0, len(amounts), 2)) for a in amounts[i : i + 2]]
    return [0] * (2 * rank - len(amounts)) + reversed_axes


def _pairs_of_spatial_axes(amounts: list[Any], rank: int, data_format: str | None) -> list[Any]:
    if rank not in _PAD_LAYOUTS:
        raise RankError(f"pad: input tensor dimension must be in [3, 4, 5] but got {rank}")
    layout = _PAD_LAYOUTS[rank][0] if data_format is None else data_format.upper()
    if layout not in _PAD_LAYOUTS[rank]:
        raise RankError(
            f"pad: data_format of a {rank}-D tensor should be in {_PAD_LAYOUTS[rank]} but got "
            f"{layout}"
        )
    if len(amounts) != 2 * (rank - 2):
        raise UsageError(
            f"pad: expected {2 * (rank - 2)} amounts for a {rank}-D tensor, but received {amounts}"
        )
    spatial = [a for i in reversed(range(0, len(amounts), 2)) for a in amounts[i : i + 2]]
    if layout == _PAD_LAYOUTS[rank][0]:
        return [0, 0, 0, 0, *spatial]
    return [0, 0, *spatial, 0, 0]


def zeropad2d(x: Any, padding: Any, data_format: str = "NCHW", name: str | None = None) -> Any:
    """Pad images with zeros by [left, right, top, bottom]."""
    return pad(x, padding, "constant", 0.0, data_format)
