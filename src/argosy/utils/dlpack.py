"""Exchanging tensors with other libraries through DLPack, without copies."""

from __future__ import annotations

from typing import Any

import torch

from argosy.foundation.errors import DtypeError
from argosy.tensor.engine import Tensor, wrap

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(x: Tensor) -> Any:
    """A DLPack capsule of ``x``, on the same memory; it can be consumed once.

    Example:
        >>> x = paddle.ones([2])
        >>> y = paddle.utils.dlpack.from_dlpack(paddle.utils.dlpack.to_dlpack(x))
        >>> y.add_(paddle.ones([2])) is y and x.tolist()
        [2.0, 2.0]
    """
    if not isinstance(x, Tensor):
        raise DtypeError(
            f"to_dlpack: the type of 'x' must be paddle.Tensor, but received {type(x).__name__}"
        )
    return torch.utils.dlpack.to_dlpack(x.raw.detach())  # type: ignore[attr-defined]


def from_dlpack(dlpack: Any) -> Tensor:
    """A Tensor on the memory of a capsule, or of an object with ``__dlpack__`` (an array of NumPy,
    CuPy, JAX, torch).
    """
    if not (hasattr(dlpack, "__dlpack__") or type(dlpack).__name__ == "PyCapsule"):
        raise DtypeError(
            "from_dlpack: expected a DLPack capsule or an object with __dlpack__, but received "
            f"{type(dlpack).__name__}"
        )
    return wrap(torch.utils.dlpack.from_dlpack(dlpack))
