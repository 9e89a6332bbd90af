"""Dropout: random zeros in training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from argosy.foundation.errors import DtypeError
from argosy.ops import composition
from argosy.ops.array.shape import number
from argosy.ops.table import op
from argosy.ops.traits import Precision


@op(
    "dropout",
    is_random=True,
    test_attrs={"is_test": True},
    precision=Precision.GRAY,
    types=(
        "dropout(X, dropout_prob, is_test, dropout_implementation:dropout, -, seed=0,"
        " fix_seed=False) -> Out, Mask",
    ),
    file_parts=composition.dropout,
)
def dropout(x: Tensor, p: Any, is_test: bool, upscale: bool, axes: Sequence[int] | None) -> Tensor:
    """Zero elements with probability ``p``, together along the axes that are not in ``axes``.

    With ``upscale`` the rest grows by ``1 / (1 - p)`` in training, else the output shrinks by ``1 -
    p`` at test time.
    """
    if not (x.is_floating_point() or x.is_complex()):
        raise DtypeError(
            f"dropout: x must be floating, but is {str(x.dtype).removeprefix('torch.')}"
        )
    if p.__class__ is not float:
        p = number(p, 0.5)
    if is_test:
        return x if upscale else x * (1.0 - p)
    if axes is None:
        if upscale:
            return torch.dropout(x, p, True)
        return x * torch.empty_like(x).bernoulli_(1.0 - p)
    shape = [x.shape[i] if i in axes else 1 for i in range(x.ndim)]
    keep = torch.empty(shape, dtype=x.dtype, device=x.device).bernoulli_(1.0 - p)
    if upscale and p < 1.0:
        keep = keep / (1.0 - p)
    return x * keep


@op(
    "seeded_dropout",
    test_attrs={"is_test": True},
    types=(
        "dropout(X, dropout_prob, is_test, dropout_implementation:dropout, seed, "
        "fix_seed=True) -> Out, Mask",
    ),
)
def seeded_dropout(x: Tensor, p: float, is_test: bool, upscale: bool, seed: int) -> Tensor:
    """``dropout`` whose choice ``seed`` fixes: the same elements in each call."""
    if is_test:
        return dropout(x, p, True, upscale, None)
    if x.is_meta:
        return torch.empty_like(x)
    generator = torch.Generator(x.device).manual_seed(seed)
    keep = torch.empty_like(x).bernoulli_(1.0 - p, generator=generator)
    return x * (keep / (1.0 - p) if upscale and p < 1.0 else keep)


# What SELU gives for minus infinity: the value that keeps its output's mean and variance.
_ALPHA = -1.6732632423543772 * 1.0507009873554805


@op(
    "alpha_dropout",
    is_random=True,
    test_attrs={"is_test": True},
    file_parts=composition.alpha_dropout,
)
def alpha_dropout(x: Tensor, p: float, is_test: bool, by_feature: bool) -> Tensor:
    """Set elements (or whole channels) to SELU's lower limit with probability ``p``, then restore
    mean and variance.
    """
    if is_test:
        return x
    if p == 1:
        return x * 0.0
    a = ((1 - p) * (1 + p * _ALPHA**2)) ** -0.5
    shape = [*x.shape[:2], *[1] * (x.ndim - 2)] if by_feature else list(x.shape)
    keep = torch.empty(shape, dtype=x.dtype, device=x.device).bernoulli_(1.0 - p)
    return (x * keep + (1 - keep) * _ALPHA) * a - a * _ALPHA * p
