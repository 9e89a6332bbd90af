"""Tensors that lie in the memory of the host."""

from __future__ import annotations

from typing import Any

from argosy.tensor.creation import to_tensor
from argosy.tensor.engine import Tensor

__all__ = ["to_uva_tensor"]


def to_uva_tensor(array: Any, device_id: int = 0) -> Tensor:
    """A Tensor in the memory of the host, which kernels of GPU ``device_id`` would read from there;
    nothing computes on a GPU with it here.
    """
    return to_tensor(array, place="cpu")
