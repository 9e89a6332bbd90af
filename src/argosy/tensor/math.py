"""Element-wise mathematics: what ``paddle.*`` and Tensor offer, with the in-place forms.

The functions live in three files by kind: ``_arithmetic`` (several tensors), ``_special`` (one
tensor) and ``_scan`` (along an axis).
"""

from __future__ import annotations

from argosy.tensor import _scan, _special
from argosy.tensor._core import arithmetic as _arithmetic
from argosy.tensor._core.arithmetic import *  # noqa: F403
from argosy.tensor._scan import *  # noqa: F403
from argosy.tensor._special import *  # noqa: F403

# What Paddle offers only as methods, and only as functions.
_METHODS_ONLY = {
    "add_", "ceil_", "clamp_", "clip_", "erfinv_", "exp_", "floor_", "lerp_", "mul_",
    "reciprocal_", "round_", "rsqrt_",
    "scale_", "sigmoid_", "sqrt_",
}  # fmt: skip
_FUNCTIONS_ONLY = {"erf_", "expm1_", "positive"}

_NAMES = [*_arithmetic.__all__, *_special.__all__, *_scan.__all__]

__all__ = [name for name in _NAMES if name not in _METHODS_ONLY]

TENSOR_METHODS = [name for name in _NAMES if name not in _FUNCTIONS_ONLY]
