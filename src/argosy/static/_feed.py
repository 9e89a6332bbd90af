"""What may be fed for a data variable, and its way into a torch tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import UsageError
from argosy.static._scope import raw_of
from argosy.static._variable import Variable


@dataclass(frozen=True, slots=True)
class FeedSpec:
    """The declaration of a fed variable; -1 in ``shape`` may be any size."""

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]

    @classmethod
    def of(cls, variable: Variable) -> FeedSpec:
        return cls(variable.name, variable._t.dtype, tuple(variable.shape))

    def to_tensor(self, value: Any, device: torch.device) -> torch.Tensor:
        """What is fed as a torch tensor; shape and dtype must be the declared ones. Memory is shared where possible."""
        if isinstance(value, np.ndarray):
            raw = self._from_array(value)
        else:
            given = raw_of(value)
            raw = torch.from_numpy(np.array(value)).to(self.dtype) if given is None else given
        if raw.dtype is not self.dtype:
            raise UsageError(
                f"Executor.run: The data type of fed Variable {self.name!r} must be {dtypes.name_of(self.dtype)}, "
                f"but received {dtypes.name_of(raw.dtype)}"
            )
        if raw.shape != self.shape:
            self._check_shape(raw.shape)
        return raw if raw.device == device else raw.to(device)

    def _check_shape(self, given: torch.Size) -> None:
        is_known = len(given) == len(self.shape)
        if not is_known or any(n not in (-1, m) for n, m in zip(self.shape, given, strict=True)):
            raise UsageError(
                f"Executor.run: The fed Variable {self.name!r} should have shape {list(self.shape)}, but received {list(given)}"
            )

    def _from_array(self, array: np.ndarray) -> torch.Tensor:
        if array.dtype == np.uint16 and self.dtype is torch.bfloat16:  # how Paddle stores bfloat16 in arrays
            return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
        if not array.flags.writeable or any(stride < 0 for stride in array.strides):
            array = array.copy()
        try:
            return torch.from_numpy(array)
        except TypeError as error:
            raise UsageError(
                f"Executor.run: feed {self.name!r} is an array of {array.dtype}, which has no tensor"
            ) from error
