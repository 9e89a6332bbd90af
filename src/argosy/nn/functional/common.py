"""Linear maps, dropout, padding, interpolation, windows as columns and the like."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import NotSupported, RankError, UsageError
from argosy.nn.functional._dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from argosy.nn.functional._resize import interpolate, pad, upsample, zeropad2d
from argosy.nn.functional.window import to_list
from argosy.ops.images import vision as vision_ops
from argosy.ops.math import linalg as linalg_ops
from argosy.ops.nn import embedding as id_ops
from argosy.tensor.engine import apply

__all__ = [
    "linear",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "alpha_dropout",
    "feature_alpha_dropout",
    "pad",
    "zeropad2d",
    "interpolate",
    "upsample",
    "unfold",
    "fold",
    "bilinear",
    "cosine_similarity",
    "label_smooth",
    "class_center_sample",
]


def linear(x: Any, weight: Any, bias: Any = None, name: str | None = None) -> Any:
    """``x @ weight + bias``; the weight is laid out [in_features, out_features]."""
    return apply(linalg_ops.linear, x, weight, bias)


def _four_paddings(paddings: Any) -> list[int]:
    """Top, left, bottom, right."""
    if isinstance(paddings, int):
        return [paddings] * 4
    if isinstance(paddings, (list, tuple)) and len(paddings) in (2, 4):
        return list(paddings) * (4 // len(paddings))
    raise UsageError(
        "paddings should either be an integer or a list of 2 or 4 integers, but received "
        f"{paddings!r}"
    )


def unfold(
    x: Any,
    kernel_sizes: Any,
    strides: Any = 1,
    paddings: Any = 0,
    dilations: Any = 1,
    name: str | None = None,
) -> Any:
    """Lay the windows of images out as columns: [N, C, H, W] to [N, C * window, number of windows].

    ``paddings`` is one amount, [vertical, horizontal], or [top, left, bottom, right].
    """
    if len(x.shape) != 4:
        raise RankError(
            f"unfold: input should be the format of [N, C, H, W], but received {list(x.shape)}"
        )
    return apply(
        vision_ops.unfold,
        x,
        to_list(kernel_sizes, 2, "kernel_sizes"),
        to_list(strides, 2, "strides"),
        _four_paddings(paddings),
        to_list(dilations, 2, "dilations"),
    )


def fold(
    x: Any,
    output_sizes: Any,
    kernel_sizes: Any,
    strides: Any = 1,
    paddings: Any = 0,
    dilations: Any = 1,
    name: str | None = None,
) -> Any:
    """Add columns back into images of ``output_sizes``; where windows overlap their values add
    up.
    """
    if len(x.shape) != 3:
        raise RankError(
            f"fold: input should be the format of [N, C, L], but received {list(x.shape)}"
        )
    return apply(
        vision_ops.fold,
        x,
        to_list(output_sizes, 2, "output_sizes"),
        to_list(kernel_sizes, 2, "kernel_sizes"),
        to_list(strides, 2, "strides"),
        _four_paddings(paddings),
        to_list(dilations, 2, "dilations"),
    )


def bilinear(x1: Any, x2: Any, weight: Any, bias: Any = None, name: str | None = None) -> Any:
    """``x1 @ weight[k] @ x2 + bias`` for each output k; ``weight`` is [outputs, features of x1,
    features of x2].
    """
    return apply(vision_ops.bilinear, x1, x2, weight, bias)


def cosine_similarity(x1: Any, x2: Any, axis: int = 1, eps: float = 1e-8) -> Any:
    """Cosine of the angle between the vectors of ``x1`` and ``x2`` along ``axis``.

    Example:
        >>> import paddle
        >>> x = paddle.to_tensor([[1.0, 0.0], [0.0, 2.0]])
        >>> paddle.nn.functional.cosine_similarity(x, x.flip(0)).tolist()
        [0.0, 0.0]
    """
    return apply(vision_ops.cosine_similarity, x1, x2, axis, eps)


def label_smooth(
    label: Any, prior_dist: Any = None, epsilon: float = 0.1, name: str | None = None
) -> Any:
    """Mix one-hot labels with a distribution over the classes, uniform unless ``prior_dist`` is
    given.
    """
    if not 0.0 <= epsilon <= 1.0:
        raise UsageError(
            f"label_smooth: The value of epsilon must be between 0 and 1, but received {epsilon}"
        )
    return apply(id_ops.label_smooth, label, prior_dist, float(epsilon))


def class_center_sample(label: Any, num_classes: int, num_samples: int, group: Any = None) -> Any:
    """Choose ``num_samples`` classes: all that ``label`` has, and random others.

    Returns the labels as positions among the chosen classes, and the chosen classes.
    """
    if group is not None and group is not False:
        raise NotSupported(
            "class_center_sample: classes spread over the ranks of a group are not supported"
        )
    if num_samples > num_classes:
        raise UsageError(
            f"class_center_sample: Expected num_samples less than or equal to {num_classes}, got "
            f"num_samples {num_samples}"
        )
    if len(label.shape) != 1 or label.shape[0] == 0:
        raise UsageError(
            "class_center_sample: label must be a non-empty vector, but has shape "
            f"{list(label.shape)}"
        )
    return apply(id_ops.class_center_sample, label, num_classes, num_samples)
