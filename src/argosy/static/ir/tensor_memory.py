"""What Paddle's tests and older scripts call on the tensor of a variable to make and read its
memory by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import OutOfRange
from argosy.foundation.places import to_place


def _getter(dtype: torch.dtype) -> Callable[..., Any]:
    def get(self: TensorMemory, offset: int) -> Any:
        return self._element(offset, dtype).item()

    return get


def _setter(dtype: torch.dtype) -> Callable[..., None]:
    def set(self: TensorMemory, offset: int, value: Any) -> None:
        self.take_apart()
        self._element(offset, dtype).fill_(value)

    return set


class TensorMemory:
    """The memory behind ``raw_tensor``; subclasses say how another one is taken over."""

    _dims: tuple[int, ...] | None = None  # declared, not yet allocated

    def raw_tensor(self) -> torch.Tensor:
        raise NotImplementedError

    def take_over(self, raw: torch.Tensor) -> None:
        """Hold ``raw``, without a copy."""
        raise NotImplementedError

    def take_apart(self) -> None:
        """Have memory of one's own before some of it is written."""

    def _is_initialized(self) -> bool:
        raise NotImplementedError

    def _set_dims(self, dims: Sequence[int]) -> None:
        """Declare the shape that ``_alloc_float`` and the like give to new memory."""
        self._dims = tuple(int(n) for n in dims)

    def _mutable_data(self, place: Any, dtype: Any) -> int:
        """Make memory of a dtype, in the declared shape or the one there is; returns its
        address.
        """
        dims = self._dims
        if dims is None:
            dims = tuple(self.raw_tensor().shape) if self._is_initialized() else (0,)
        device = to_place(place).device
        self.take_over(torch.zeros(dims, dtype=dtypes.to_torch(dtype), device=device))
        return self._ptr()

    def _alloc_float(self, place: Any) -> None:
        self._mutable_data(place, torch.float32)

    def _alloc_double(self, place: Any) -> None:
        self._mutable_data(place, torch.float64)

    def _alloc_int(self, place: Any) -> None:
        self._mutable_data(place, torch.int32)

    def _ptr(self) -> int:
        """The address of the values."""
        return self.raw_tensor().data_ptr()

    def _share_data_with(self, other: TensorMemory) -> TensorMemory:
        """Hold the very memory of ``other``."""
        self.take_over(other.raw_tensor())
        return self

    def _copy_from(self, other: TensorMemory, place: Any, batch_size: int = -1) -> None:
        """Hold a copy of another tensor, or of its first ``batch_size`` rows."""
        rows = other.raw_tensor() if batch_size < 0 else other.raw_tensor()[:batch_size]
        self.take_over(rows.to(to_place(place).device, copy=True))

    _share_buffer_with = _share_data_with

    def _element(self, offset: int, dtype: torch.dtype) -> torch.Tensor:
        flat = self.raw_tensor().view(-1)
        if not 0 <= offset < flat.numel():
            raise OutOfRange(f"element {offset} lies outside a tensor of {flat.numel()} elements")
        return flat.view(dtype)[offset]

    _get_float_element = _getter(torch.float32)
    _get_double_element = _getter(torch.float64)
    _get_complex64_element = _getter(torch.complex64)
    _get_complex128_element = _getter(torch.complex128)
    _set_float_element = _setter(torch.float32)
    _set_double_element = _setter(torch.float64)
    _set_complex64_element = _setter(torch.complex64)
    _set_complex128_element = _setter(torch.complex128)
