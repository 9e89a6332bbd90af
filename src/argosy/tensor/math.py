"""Element-wise mathematics: what ``paddle.*`` and Tensor offer, with the in-place forms.

The functions live in three files by kind: ``_arithmetic`` (several tensors), ``_special`` (one tensor) and ``_scan``
(along an axis).
"""

from __future__ import annotations

from argosy.tensor import _arithmetic, _scan, _special
from argosy.tensor._arithmetic import *  # noqa: F403
from argosy.tensor._scan import *  # noqa: F403
from argosy.tensor._special import *  # noqa: F403

__all__ = [*_arithmetic.__all__, *_special.__all__, *_scan.__all__]

_FUNCTIONS_ONLY = {"positive"}

TENSOR_METHODS = [name for name in __all__ if name not in _FUNCTIONS_ONLY]
