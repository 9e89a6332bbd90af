"""Pooling to a given output size."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import UsageError
from argosy.nn.functional.window import is_channel_last, to_list
from argosy.ops.nn import pooling as ops
from argosy.tensor.engine import Tensor, apply


def _sizes(output_size: Any, n: int, x: Any, first: int) -> list[int]:
    """The wanted sizes; None keeps the input's."""
    if isinstance(output_size, Tensor):
        output_size = output_size.tolist()
    if isinstance(output_size, int):
        return [output_size] * n
    sizes = list(output_size)
    if len(sizes) != n:
        raise UsageError(f"The output_size's length must be {n}. Received: {output_size}")
    return [x.shape[first + i] if size is None else int(size) for i, size in enumerate(sizes)]


def adaptive_avg_pool1d(x: Any, output_size: Any, name: str | None = None) -> Any:
    """Average [N, C, L] down to ``output_size`` positions."""
    return apply(ops.adaptive_avg_pool, x, _sizes(output_size, 1, x, 2), False)


def adaptive_avg_pool2d(
    x: Any, output_size: Any, data_format: str = "NCHW", name: str | None = None
) -> Any:
    """Average images down to ``output_size``; None keeps that side's size.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.adaptive_avg_pool2d(paddle.ones([2, 3, 7, 5]), [1, None]).shape
        [2, 3, 1, 5]
    """
    last = is_channel_last(data_format, 2, "adaptive_avg_pool2d")
    return apply(ops.adaptive_avg_pool, x, _sizes(output_size, 2, x, 1 if last else 2), last)


def adaptive_avg_pool3d(
    x: Any, output_size: Any, data_format: str = "NCDHW", name: str | None = None
) -> Any:
    """Average volumes down to ``output_size``; None keeps that side's size."""
    last = is_channel_last(data_format, 3, "adaptive_avg_pool3d")
    return apply(ops.adaptive_avg_pool, x, _sizes(output_size, 3, x, 1 if last else 2), last)


def _adaptive_max(n: int, x: Any, output_size: Any, return_mask: bool) -> Any:
    out = apply(ops.adaptive_max_pool_with_index, x, _sizes(output_size, n, x, 2))
    return out if return_mask else out[0]


def adaptive_max_pool1d(
    x: Any, output_size: Any, return_mask: bool = False, name: str | None = None
) -> Any:
    """Take maxima of [N, C, L] down to ``output_size`` positions."""
    return _adaptive_max(1, x, output_size, return_mask)


def adaptive_max_pool2d(
    x: Any, output_size: Any, return_mask: bool = False, name: str | None = None
) -> Any:
    """Take maxima of images down to ``output_size``; None keeps that side's size."""
    return _adaptive_max(2, x, output_size, return_mask)


def adaptive_max_pool3d(
    x: Any, output_size: Any, return_mask: bool = False, name: str | None = None
) -> Any:
    """Take maxima of volumes down to ``output_size``; None keeps that side's size."""
    return _adaptive_max(3, x, output_size, return_mask)


def _fractional(
    n: int, x: Any, output_size: Any, kernel_size: Any, random_u: Any, return_mask: bool
) -> Any:
    if random_u is not None and not 0 < random_u < 1:
        raise UsageError(
            f"fractional_max_pool{n}d: The param `random_u` should be a `float` in (0, 1), but "
            f"received {random_u}"
        )
    kernel = None if kernel_size is None else to_list(kernel_size, n, "kernel_size")
    out = apply(ops.fractional_max_pool, x, _sizes(output_size, n, x, 2), kernel, random_u)
    return out if return_mask else out[0]


def fractional_max_pool2d(
    x: Any,
    output_size: Any,
    kernel_size: Any = None,
    random_u: float | None = None,
    return_mask: bool = False,
    name: str | None = None,
) -> Any:
    """Take maxima of windows of unequal width; ``random_u`` in (0, 1) places them, drawn when not
    given.
    """
    return _fractional(2, x, output_size, kernel_size, random_u, return_mask)


def fractional_max_pool3d(
    x: Any,
    output_size: Any,
    kernel_size: Any = None,
    random_u: float | None = None,
    return_mask: bool = False,
    name: str | None = None,
) -> Any:
    """Take maxima of windows of unequal width; ``random_u`` in (0, 1) places them, drawn when not
    given.
    """
    return _fractional(3, x, output_size, kernel_size, random_u, return_mask)
