"""Methods of Tensor that convert dtype or place, or make a tensor like it. Importing the module
binds them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from argosy.foundation import dtypes
from argosy.foundation.dtypes import DType, to_torch
from argosy.foundation.errors import AutogradError, DtypeError
from argosy.foundation.places import Place, to_place
from argosy.ops.array import manipulation as ops
from argosy.tensor import creation
from argosy.tensor._core.inplace import replace
from argosy.tensor._core.tensor import Tensor, apply
from argosy.tensor._joining import split
from argosy.tensor._layout import tile

_TORCH_TYPES = {
    "bfloat16": torch.bfloat16, "bool": torch.bool, "byte": torch.uint8,
    "cdouble": torch.complex128,
    "cfloat": torch.complex64, "char": torch.int8, "complex128": torch.complex128,
    "complex64": torch.complex64,
    "double": torch.float64, "float": torch.float32, "float16": torch.float16,
    "float32": torch.float32,
    "float64": torch.float64, "half": torch.float16, "int": torch.int32, "int16": torch.int16,
    "int32": torch.int32,
    "int64": torch.int64, "int8": torch.int8, "long": torch.int64, "short": torch.int16,
    "uint8": torch.uint8,
}  # fmt: skip


def astype(self: Tensor, dtype: Any) -> Tensor:
    """The elements in another dtype; the tensor itself when it has that dtype already."""
    wanted = to_torch(dtype)
    return self if self.raw.dtype is wanted else apply(ops.cast, self, wanted)


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The elements in the dtype of ``other``."""
    return astype(self, other.dtype)


def _typed(wanted: torch.dtype) -> Callable[[Tensor], Tensor]:
    def convert(self: Tensor) -> Tensor:
        return self if self.raw.dtype is wanted else apply(ops.cast, self, wanted)

    convert.__doc__ = f"The elements as {dtypes.name_of(wanted)}."
    return convert


def to(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Copy to another device, dtype or both: ``to(device, dtype)``, ``to(dtype)`` or ``to(other)``.

    A last argument ``blocking`` is accepted; the copy always completes before it is read.

    Example:
        >>> import paddle
        >>> paddle.ones([1]).to("float64").dtype
        paddle.float64
    """
    device, dtype = _target(args, kwargs)
    out = self if device is None else _moved(self, to_place(device))
    if dtype is not None:
        return apply(ops.cast, out, to_torch(dtype))
    return apply(ops.cast, out, out.raw.dtype) if out is self else out


def _target(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """The device and dtype that the arguments of ``to`` ask for."""
    unknown = set(kwargs) - {"device", "dtype", "blocking", "other"}
    if unknown or (not args and not kwargs) or len(args) + len(kwargs) > 3:
        raise DtypeError(
            "Tensor.to: expected to(device, dtype=None, blocking=None), to(dtype, blocking=None) "
            "or to(other), "
            f"but received {len(args)} positional arguments and {sorted(kwargs)}"
        )
    first = args[0] if args else kwargs.get("other")
    if isinstance(first, Tensor):
        return first.place, first.dtype
    if _is_dtype(first):
        return kwargs.get("device"), first
    device = first if args else kwargs.get("device")
    return device, args[1] if len(args) > 1 else kwargs.get("dtype")


def _is_dtype(value: Any) -> bool:
    if isinstance(value, (DType, np.dtype, torch.dtype, type)):
        return True
    return isinstance(value, str) and value.lower() in {d.name for d in dtypes.ALL}


def _moved(x: Tensor, place: Place) -> Tensor:
    """``x`` on the device of ``place``; itself when it is there already."""
    device = place.device
    return x if x.raw.device == device else apply(ops.to_device, x, str(device))


def cpu(self: Tensor) -> Tensor:
    """The tensor in main memory; itself when it is there already."""
    return _moved(self, Place("cpu"))


def cuda(self: Tensor, device_id: int | None = None, blocking: bool = True) -> Tensor:
    """The tensor on a GPU, or, with a warning, where it is when there is none."""
    return _moved(self, Place(f"gpu:{device_id or 0}"))


def pin_memory(self: Tensor, blocking: bool = True) -> Tensor:
    """The tensor in page-locked memory, which only matters for copies to a GPU; itself where there
    is none.
    """
    return apply(ops.pin_memory, self) if torch.cuda.is_available() else self


def _copy_to(self: Tensor, place: Any, blocking: bool = True) -> Any:
    """Copy to ``place``, always into new memory and outside of the graph; the copy is persistable
    if this tensor is.
    """
    out = to(self, place).detach()
    out.persistable = self.persistable
    return out


def _plain(self: Tensor, call: str) -> None:
    if not self.stop_gradient:
        raise AutogradError(f"{call}: cannot apply a function to a tensor that requires a gradient")


def apply_to(self: Tensor, func: Callable[[Tensor], Tensor]) -> Tensor:
    """Return ``func(self)``, for a tensor that needs no gradient."""
    _plain(self, "Tensor.apply")
    return func(self)


def apply_(self: Tensor, func: Callable[[Tensor], Tensor]) -> Tensor:
    """Overwrite the tensor with ``func(self)``."""
    _plain(self, "Tensor.apply_")
    return replace(self, func(self), "apply_")


def new_full(
    self: Tensor,
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Make a tensor of another shape in the dtype and place of this one."""
    kind, place = dtype or self.dtype, device or self.place
    return creation.full(size, fill_value, kind, device=place, requires_grad=requires_grad)


def _new(make: Callable[..., Any], doc: str) -> Callable[..., Any]:
    def method(
        self: Tensor,
        *size: Any,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
    ) -> Any:
        extents = size[0] if len(size) == 1 else list(size)
        return make(
            extents, dtype or self.dtype, device=device or self.place, requires_grad=requires_grad
        )

    method.__doc__ = doc
    return method


def repeat(input: Tensor, *repeats: Any) -> Any:
    """Repeat the whole tensor along each axis, as ``tile`` does."""
    return tile(input, repeats[0] if len(repeats) == 1 else list(repeats))


def split_with_sizes(self: Tensor, split_sizes: list[int], dim: int = 0) -> Any:
    """Cut one axis into parts of the given sizes, as ``split`` does."""
    return split(self, split_sizes, dim)


def stride(self: Tensor, dim: int | None = None) -> Any:
    """The distance in elements between neighbours along each axis, or along one."""
    return list(self.raw.stride()) if dim is None else self.raw.stride(dim)


def is_same_shape(self: Tensor, y: Tensor) -> bool:
    """Whether both have the same shape."""
    return self.raw.shape == y.raw.shape


def requires_grad_(self: Tensor, value: bool = True) -> Tensor:
    """Ask for a gradient of this tensor, or stop asking."""
    self.stop_gradient = not value
    return self


def _data(self: Tensor) -> Tensor:
    """The values outside the graph, on the same memory; what is assigned takes their place."""
    return self.detach()


def _set_data(self: Tensor, value: Tensor) -> None:
    self.raw.data = value.raw.detach()


def to_string(self: Tensor, throw_on_error: bool = False, with_details: bool = False) -> str:
    """The name and the values, as 1.x shows a variable; neither argument changes anything."""
    return f"Variable: {self.name}\n{self}"


METHODS: dict[str, Any] = {
    **{name: _typed(kind) for name, kind in _TORCH_TYPES.items()},
    "_copy_to": _copy_to,
    "apply": apply_to,
    "apply_": apply_,
    "astype": astype,
    "cpu": cpu,
    "cuda": cuda,
    "data": property(_data, _set_data),
    "is_same_shape": is_same_shape,
    "new_empty": _new(
        creation.empty,
        "Make a tensor of another shape in the dtype and place of this one, not set.",
    ),
    "new_full": new_full,
    "new_ones": _new(creation.ones, "Make a tensor of ones in the dtype and place of this one."),
    "new_zeros": _new(creation.zeros, "Make a tensor of zeros in the dtype and place of this one."),
    "pin_memory": pin_memory,
    "repeat": repeat,
    "requires_grad_": requires_grad_,
    "split_with_sizes": split_with_sizes,
    "stride": stride,
    "to": to,
    "to_string": to_string,
    "type_as": type_as,
}

# Many are called as builtins are, which no module could define as functions without hiding those.
for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
