"""Sizes, paddings and matrices: the arithmetic that every kind of image shares."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from argosy.foundation.errors import BadArgument, DtypeError, UsageError

PADDING_MODES = ("constant", "edge", "reflect", "symmetric")


def target_size(size: Any, width: int, height: int) -> tuple[int, int]:
    """(height, width) for ``size``: given as such, or one number for the shorter side."""
    if isinstance(size, int):
        if width < height:
            return int(size * height / width), size
        return size, int(size * width / height)
    if isinstance(size, (list, tuple)) and len(size) == 2:
        return int(size[0]), int(size[1])
    raise DtypeError(f"resize: size must be an int or (height, width), but received {size!r}")


def is_target_size(size: Any, width: int, height: int) -> bool:
    """Whether one number asks for the size that the image has."""
    return isinstance(size, int) and min(width, height) == size


def center_offsets(output_size: Any, width: int, height: int) -> tuple[int, int, int, int]:
    """top, left, height, width of a crop in the middle."""
    crop_height, crop_width = pair(output_size)
    return (
        round((height - crop_height) / 2.0),
        round((width - crop_width) / 2.0),
        crop_height,
        crop_width,
    )


def pair(size: Any) -> tuple[int, int]:
    if isinstance(size, numbers.Number):
        return int(size), int(size)  # type: ignore[call-overload]
    return size[0], size[1]


def paddings(padding: Any, fill: Any, mode: Any) -> tuple[int, int, int, int]:
    """left, top, right, bottom for one number, (horizontal, vertical) or all four."""
    if not isinstance(padding, (numbers.Number, list, tuple)):
        raise DtypeError(
            f"pad: padding must be a number, list or tuple, but received {type(padding).__name__}"
        )
    if not isinstance(fill, (numbers.Number, str, list, tuple)):
        raise DtypeError(
            f"pad: fill must be a number, str, list or tuple, but received {type(fill).__name__}"
        )
    if not isinstance(mode, str):
        raise DtypeError(f"pad: padding_mode must be a str, but received {type(mode).__name__}")
    if mode not in PADDING_MODES:
        raise BadArgument(
            f"pad: padding_mode must be one of {PADDING_MODES}, but received {mode!r}"
        )
    if isinstance(padding, numbers.Number):
        return (int(padding),) * 4  # type: ignore[call-overload]
    if len(padding) == 2:
        return padding[0], padding[1], padding[0], padding[1]
    if len(padding) == 4:
        return padding[0], padding[1], padding[2], padding[3]
    raise UsageError(
        f"pad: padding must be a number or have 2 or 4 elements, but received {padding!r}"
    )


def inverse_affine(
    center: Sequence[float],
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
) -> list[float]:
    """The 2x3 matrix, row by row, from output to input coordinates: rotate, shear and scale about
    ``center``, then move.
    """
    turn, shear_x, shear_y = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    lean = math.cos(turn - shear_y) / math.cos(shear_y)
    slope = math.sin(turn - shear_y) / math.cos(shear_y)
    forward = np.array(
        [
            [lean, -lean * math.tan(shear_x) - math.sin(turn)],
            [slope, -slope * math.tan(shear_x) + math.cos(turn)],
        ]
    )
    # The determinant of the part without scale is 1, so its inverse is its adjugate.
    backward = np.array([[forward[1, 1], -forward[0, 1]], [-forward[1, 0], forward[0, 0]]]) / scale
    offset = np.asarray(center) - backward @ (np.asarray(center) + np.asarray(translate))
    matrix: list[float] = np.concatenate([backward, offset[:, None]], axis=1).reshape(-1).tolist()
    return matrix


def perspective_coefficients(startpoints: Any, endpoints: Any) -> list[float]:
    """The eight numbers that map each end point back to its start point."""
    rows = []
    for (x, y), (u, v) in zip(endpoints, startpoints, strict=True):
        rows.append([x, y, 1, 0, 0, 0, -u * x, -u * y])
        rows.append([0, 0, 0, x, y, 1, -v * x, -v * y])
    solution = np.linalg.lstsq(
        np.array(rows, "float64"), np.array(startpoints, "float64").reshape(8), rcond=None
    )
    return [float(value) for value in solution[0]]
