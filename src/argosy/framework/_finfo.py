"""Limits of the number types."""

from __future__ import annotations

from typing import Any

import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import UsageError

__all__ = ["iinfo", "finfo"]


class iinfo:
    """Limits of an integer type: ``min``, ``max``, ``bits``, ``dtype`` (its name).

    Example:
        >>> paddle.iinfo("int8")
        paddle.iinfo(min=-128, max=127, bits=8, dtype=int8)
    """

    def __init__(self, dtype: Any) -> None:
        kind = dtypes.from_any(dtype)
        if not kind.is_integer:
            raise UsageError(f"paddle.iinfo: expected an integer dtype, but received {kind.name}")
        info = torch.iinfo(kind.torch)
        self.min: int = info.min
        self.max: int = info.max
        self.bits: int = info.bits
        self.dtype = kind.name

    def __repr__(self) -> str:
        return f"paddle.iinfo(min={self.min}, max={self.max}, bits={self.bits}, dtype={self.dtype})"


class finfo:
    """Limits of a floating or complex type: ``min``, ``max``, ``eps``, ``resolution``, ``tiny``,
    ``bits``, ``dtype``.

    For a complex type they are those of its parts.

    Example:
        >>> paddle.finfo("float32").eps
        1.1920928955078125e-07
    """

    def __init__(self, dtype: Any) -> None:
        kind = dtypes.from_any(dtype)
        if not (kind.is_floating_point or kind.is_complex):
            raise UsageError(
                f"paddle.finfo: expected a floating or complex dtype, but received {kind.name}"
            )
        info = torch.finfo(kind.torch)
        self.min: float = info.min
        self.max: float = info.max
        self.eps: float = info.eps
        self.resolution: float = info.resolution
        self.smallest_normal: float = info.smallest_normal
        self.tiny: float = info.tiny
        self.bits: int = info.bits
        self.dtype: str = info.dtype

    def __repr__(self) -> str:
        fields = ("min", "max", "eps", "resolution", "smallest_normal", "tiny")
        numbers = ", ".join(f"{name}={getattr(self, name):g}" for name in fields)
        return f"paddle.finfo({numbers}, bits={self.bits}, dtype={self.dtype})"
