"""Puts the face functions on Tensor as methods, and the methods that have no function beside
them.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import UsageError, ValueMismatch
from argosy.tensor._core.assignments import assignments
from argosy.tensor._core.inner import METHODS as INNER_METHODS
from argosy.tensor._core.tensor import Tensor, wrap

MODULES = (
    "creation",
    "math",
    "logic",
    "manipulation",
    "reduction",
    "linalg",
    "decomposition",
    "stft",
    "search",
    "random",
    "attribute",
)


def set_value(self: Tensor, value: Any) -> None:
    """Copy ``value`` into this tensor; shape and dtype must be equal.

    As in Paddle this is no in-place change: a backward that needs the tensor takes the new value.
    """
    raw = getattr(value, "raw", None)
    if raw is None:
        raw = value if isinstance(value, torch.Tensor) else Tensor(np.asarray(value)).raw
    if raw.shape != self.raw.shape or raw.dtype is not self.raw.dtype:
        raise ValueMismatch(
            f"Tensor.set_value: variable {self.name!r} needs a value of shape {self.shape} and "
            f"dtype {self.dtype.name}, "
            f"but received shape {list(raw.shape)} and dtype {dtypes.name_of(raw.dtype)}"
        )
    self.raw.data.copy_(raw.detach())
    assignments.count += 1


def copy_(self: Tensor, other: Any, blocking: bool = True) -> Tensor:
    """Copy ``other`` into this tensor, which takes over its shape and dtype if they differ."""
    raw = other.raw
    if raw.shape == self.raw.shape and raw.dtype is self.raw.dtype:
        set_value(self, other)
    else:
        flows = self.raw.requires_grad and raw.is_floating_point()
        self.raw = raw.detach().clone().requires_grad_(flows)
    return self


def install() -> None:
    """Bind every function that a face module lists in TENSOR_METHODS."""
    for module_name in MODULES:
        module = importlib.import_module(f"argosy.tensor.{module_name}")
        for name in module.TENSOR_METHODS:
            setattr(Tensor, name, getattr(module, name))
    own = {
        "set_value": set_value,
        "copy_": copy_,
        "get_tensor": lambda self: self,
        "value": lambda self: self,
    }
    for name, function in (own | INNER_METHODS).items():
        setattr(Tensor, name, function)


def from_torch(tensor: torch.Tensor) -> Tensor:
    """Wrap a torch tensor without a copy: same memory, same graph."""
    if not isinstance(tensor, torch.Tensor):
        raise UsageError(
            f"from_torch: expected a torch.Tensor, but received {type(tensor).__name__}"
        )
    return wrap(tensor)


def from_numpy(array: np.ndarray) -> Tensor:
    """Wrap a NumPy array without a copy: both see each other's writes."""
    return wrap(torch.from_numpy(array))
