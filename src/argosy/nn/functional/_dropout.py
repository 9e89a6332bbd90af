"""Dropout and its variants."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import DtypeError, NotSupported, UsageError
from argosy.framework.mode import switch
from argosy.nn.functional.window import is_channel_last
from argosy.ops.nn import dropout as ops
from argosy.tensor.engine import Tensor, apply, replace


def dropout(
    x: Any,
    p: Any = 0.5,
    axis: Any = None,
    training: bool = True,
    inplace: bool = False,
    mode: str = "upscale_in_train",
    name: str | None = None,
) -> Any:
    """Zero elements with probability ``p`` in training.

    ``axis`` names the axes along which the choice is independent. With "upscale_in_train" the rest
    is divided by ``1 - p``; with "downscale_in_infer" the output is multiplied by ``1 - p`` outside
    training instead.
    """
    is_variable = isinstance(p, Tensor) and switch.is_static
    if isinstance(p, Tensor) and not is_variable:
        p = float(p)
    if not is_variable and not isinstance(p, (int, float)):
        raise DtypeError(
            f"dropout: p argument should be a number or Tensor, but received {type(p).__name__}"
        )
    if not is_variable and p == 0:
        return x
    if not is_variable and not 0 < p <= 1:
        raise UsageError(f"dropout: p argument should between 0 and 1, but received {p}")
    if mode not in ("upscale_in_train", "downscale_in_infer"):
        raise UsageError(
            "dropout: mode should be 'downscale_in_infer' or 'upscale_in_train', but received "
            f"{mode!r}"
        )
    axes = None if axis is None else _axes(axis, len(x.shape))
    out = apply(ops.dropout, x, p, not training, mode == "upscale_in_train", axes)
    if not inplace:
        return out
    if axis is not None:
        raise NotSupported("dropout: inplace=True is not supported together with axis")
    return replace(x, out, "dropout")


def _axes(axis: Any, rank: int) -> list[int]:
    if not isinstance(axis, (int, list, tuple)):
        raise DtypeError(f"dropout: axis should be int or list, but received {type(axis).__name__}")
    axes = [axis] if isinstance(axis, int) else list(axis)
    if axes and not 0 <= min(axes) <= max(axes) < rank:
        raise UsageError(
            f"dropout: axis values should lie in [0, {rank}), the axes of x, but received {axis}"
        )
    return axes


def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zero whole channels of [N, C, L] or [C, L]."""
    rank = len(input.shape)
    if not 0 <= p <= 1:
        raise UsageError(f"dropout1d: dropout probability must be in [0, 1], got {p}")
    if rank not in (2, 3):
        raise RuntimeError(f"dropout1d expects 2D or 3D input, got {rank}D")
    if inplace:
        raise NotSupported("dropout1d: inplace=True is not supported")
    # Paddle draws one choice per channel for the whole batch here.
    return dropout(input, p, axis=rank - 2, training=training)


def _by_channel(n: int, x: Any, p: float, training: bool, data_format: str) -> Any:
    call = f"dropout{n}d"
    if len(x.shape) != n + 2:
        raise UsageError(f"{call}: dimensions of x should be {n + 2}, but received {list(x.shape)}")
    channel = n + 1 if is_channel_last(data_format, n, call) else 1
    return dropout(x, p, [0, channel], training)


def dropout2d(
    x: Any,
    p: float = 0.5,
    training: bool = True,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Any:
    """Zero whole channels of images with probability ``p`` in training."""
    return _by_channel(2, x, p, training, data_format)


def dropout3d(
    x: Any,
    p: float = 0.5,
    training: bool = True,
    data_format: str = "NCDHW",
    name: str | None = None,
) -> Any:
    """Zero whole channels of volumes with probability ``p`` in training."""
    return _by_channel(3, x, p, training, data_format)


def _alpha(call: str, x: Any, p: Any, training: bool, by_feature: bool) -> Any:
    if not isinstance(p, (int, float)):
        raise DtypeError(
            f"{call}: p argument should be a float or int, but received {type(p).__name__}"
        )
    if not 0 <= p <= 1:
        raise UsageError(f"{call}: p argument should between 0 and 1, but received {p}")
    if by_feature and training and len(x.shape) < 2:
        raise UsageError(f"{call}: needs at least 2D input, but received {list(x.shape)}")
    return apply(ops.alpha_dropout, x, p, not training, by_feature)


def alpha_dropout(x: Any, p: float = 0.5, training: bool = True, name: str | None = None) -> Any:
    """Dropout that keeps the mean and variance of SELU's output."""
    return _alpha("alpha_dropout", x, p, training, by_feature=False)


def feature_alpha_dropout(
    x: Any, p: float = 0.5, training: bool = True, name: str | None = None
) -> Any:
    """As ``alpha_dropout``, for whole channels."""
    return _alpha("feature_alpha_dropout", x, p, training, by_feature=True)
