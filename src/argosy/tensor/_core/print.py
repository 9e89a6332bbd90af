"""``repr(tensor)`` as Paddle prints it, and ``paddle.set_printoptions``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from argosy.foundation.process_state import register
from argosy.tensor._core.construct import is_initialised


class _PrintOptions:
    precision = 8
    threshold = 1000
    edgeitems = 3
    linewidth = 80
    sci_mode: bool | None = None


options = register("print options", _PrintOptions())


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    sci_mode: bool | None = None,
    linewidth: int | None = None,
) -> None:
    """Set how tensors are printed; what is None stays as it is."""
    for name, value in (
        ("precision", precision),
        ("threshold", threshold),
        ("edgeitems", edgeitems),
        ("sci_mode", sci_mode),
        ("linewidth", linewidth),
    ):
        if value is not None:
            setattr(options, name, value)


def _format(value: Any) -> str:
    """One element: floats with a whole value as ``3.``, others to the precision asked for."""
    if not isinstance(value, (float, np.floating)) or not np.isfinite(value):
        return str(value)
    if options.sci_mode:
        return f"{value:.{options.precision}e}"
    return f"{value:.0f}." if value == np.trunc(value) else f"{value:.{options.precision}f}"


def _edges(array: np.ndarray) -> np.ndarray:
    """The elements that are shown of an array too large to be shown whole."""
    keep = options.edgeitems
    for axis in range(array.ndim):
        if array.shape[axis] > 2 * keep:
            array = np.take(array, [*range(keep), *range(-keep, 0)], axis)
    return array


def _rows(array: np.ndarray, pad: Callable[[str], str], is_summary: bool, indent: int) -> str:
    """Nested brackets, rows wrapped at the line width; left out middles appear as dots."""
    if array.ndim == 0:
        return pad(_format(array.item()))
    keep = options.edgeitems
    cut = is_summary and array.shape[0] > 2 * keep
    shown = [*array[:keep], *array[-keep:]] if cut else list(array)
    parts = [_rows(item, pad, is_summary, indent + 1) for item in shown]
    if cut:
        parts.insert(keep, "...")
    if array.ndim > 1:
        return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"
    width = max((len(part) for part in parts), default=0) + 2
    per_line = max(1, (options.linewidth - indent) // width)
    lines = [", ".join(parts[at : at + per_line]) for at in range(0, len(parts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _values_to_string(array: np.ndarray, indent: int) -> str:
    is_summary = array.size > options.threshold
    visible = _edges(array) if is_summary else array
    texts = [
        _format(value.item() if array.dtype.kind != "f" else value) for value in visible.reshape(-1)
    ]
    width = max(map(len, texts), default=0)
    has_sign = any(text.startswith("-") for text in texts)

    def pad(text: str) -> str:
        is_narrow = len(text) < width
        return (f" {text}" if has_sign and is_narrow and not text.startswith("-") else text).ljust(
            width
        )

    return _rows(array, pad, is_summary, indent)


def tensor_to_string(x: Any) -> str:
    """Paddle's form: a header with shape, dtype, place and stop_gradient, then the values
    indented.
    """
    if not is_initialised(x):
        return "Tensor(Not initialized)"
    raw = x.raw.detach()
    if raw.layout is not torch.strided:
        raw = raw.to_dense()
    if raw.is_floating_point() and raw.dtype.itemsize < 4:
        raw = raw.float()
    body = _values_to_string(raw.cpu().resolve_conj().numpy(), 7)
    return (
        f"Tensor(shape={list(x.shape)}, dtype={x.dtype.name}, place={x.place}, "
        f"stop_gradient={x.stop_gradient},\n"
        f"{' ' * 7}{body})"
    )
