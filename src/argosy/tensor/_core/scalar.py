"""Single values beside a Tensor: what number a text stands for, and a number in a dtype's kind."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import torch

_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)")
_NAMED = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan, "True": 1.0}


def number_of(text: str) -> float:
    """The number at the start of ``text``; 0 where there is none, as Paddle reads it."""
    named = _NAMED.get(text)
    if named is not None:
        return named
    found = _NUMBER.match(text)
    return float(found[1]) if found else 0.0


def to_kind(value: Any, dtype: torch.dtype) -> Any:
    """``value`` as a Python number of the kind that ``dtype`` holds; fractions are cut off."""
    if dtype.is_floating_point or dtype.is_complex or isinstance(value, complex):
        return value
    if dtype is torch.bool:
        return bool(value)
    return int(value) if np.isfinite(value) else int(np.iinfo(np.int64).min)
