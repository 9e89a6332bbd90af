"""Products of matrices with a bias and an activation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy import tensor as T
from argosy.foundation.errors import UsageError
from argosy.nn import functional as F

__all__ = ["fused_linear", "fused_linear_activation", "fused_matmul_bias"]


def fused_matmul_bias(
    x: Any,
    y: Any,
    bias: Any = None,
    transpose_x: bool = False,
    transpose_y: bool = False,
    name: str | None = None,
) -> Any:
    """The product of ``x`` and ``y``, either transposed before, plus ``bias``."""
    product = T.matmul(x, y, transpose_x, transpose_y)
    return product if bias is None else product + bias


def fused_linear(
    x: Any, weight: Any, bias: Any = None, transpose_weight: bool = False, name: str | None = None
) -> Any:
    """``x`` times ``weight``, which may be stored transposed, plus ``bias``.

    Example:
        >>> x, weight = paddle.ones([1, 2]), paddle.ones([3, 2])
        >>> linear = paddle.incubate.nn.functional.fused_linear
        >>> linear(x, weight, transpose_weight=True).tolist()
        [[2.0, 2.0, 2.0]]
    """
    return fused_matmul_bias(x, weight, bias, False, transpose_weight, name)


_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "none": lambda x: x,
    "relu": F.relu,
    # the kernel computes it by the hyperbolic tangent
    "gelu": lambda x: F.gelu(x, approximate=True),
}


def fused_linear_activation(
    x: Any,
    y: Any,
    bias: Any,
    trans_x: bool = False,
    trans_y: bool = False,
    activation: str | None = None,
) -> Any:
    """An activation, None, 'relu' or 'gelu', of ``fused_matmul_bias``."""
    kind = activation or "none"
    if kind not in _ACTIVATIONS:
        raise UsageError(
            f"fused_linear_activation: activation must be one of {list(_ACTIVATIONS)}, but is "
            f"{activation!r}"
        )
    return _ACTIVATIONS[kind](fused_matmul_bias(x, y, bias, trans_x, trans_y))
