"""From anything a script may pass as data to a raw torch tensor, with Paddle's dtype rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, UsageError
from argosy.foundation.places import to_place
from argosy.tensor._core.defaults import defaults


def to_raw(data: Any, dtype: Any = None, place: Any = None) -> torch.Tensor:
    """Copy ``data`` into a new torch tensor outside any graph.

    Numbers and lists: floats get the default dtype, integers int64. Arrays, NumPy scalars and
    tensors keep theirs, and so does a list that has tensors in it, with NumPy's promotion between
    them.
    """
    wanted = None if dtype is None else dtypes.to_torch(dtype)
    device = defaults.device if place is None else to_place(place).device
    if isinstance(data, (np.ndarray, np.generic)):
        return _from_array(np.asarray(data), wanted, device)
    raw = data.raw_tensor() if hasattr(data, "raw_tensor") else getattr(data, "raw", data)
    if isinstance(raw, torch.Tensor):
        out = raw.detach()
        same = (wanted is None or wanted is out.dtype) and device == out.device
        return out.clone() if same else out.to(device=device, dtype=wanted or out.dtype)
    if isinstance(data, (bool, int, float, complex)):
        return _from_python(data, wanted, device)
    if not isinstance(data, (list, tuple)):
        raise DtypeError(
            f"to_tensor: can't construct a Tensor from {type(data).__name__}; "
            "expected a number, a list or tuple of numbers, an array or a Tensor"
        )
    parts = [getattr(item, "raw", item) for item in data]
    if any(isinstance(part, torch.Tensor) for part in parts):
        return _from_tensors(data, parts, wanted, device)
    return _from_python(data, wanted, device)


def _from_tensors(
    data: Any, parts: list[Any], wanted: torch.dtype | None, device: torch.device
) -> torch.Tensor:
    first = next(part for part in parts if isinstance(part, torch.Tensor))
    if all(
        isinstance(p, torch.Tensor) and p.shape == first.shape and p.dtype is first.dtype
        for p in parts
    ):
        return torch.stack([p.detach() for p in parts]).to(device=device, dtype=wanted)
    return _from_array(_array(data), wanted, device)


def _from_python(data: Any, wanted: torch.dtype | None, device: torch.device) -> torch.Tensor:
    array = _array(data)
    if wanted is None:
        kind = array.dtype.kind
        if kind == "f":
            wanted = defaults.dtype
        elif kind == "c":
            wanted = torch.complex128 if defaults.dtype is torch.float64 else torch.complex64
        elif array.dtype == np.int32:
            wanted = torch.int64
    return _from_array(array, wanted, device)


def _array(data: Any) -> np.ndarray:
    try:
        array = np.array(data)
    except ValueError as error:
        raise UsageError(
            "to_tensor: Failed to convert data: nested lists have different lengths; expected a "
            "rectangular one"
        ) from error
    if array.dtype.kind == "O":
        raise UsageError(
            "to_tensor: Failed to convert data: not all of its items are numbers in a regular "
            "nesting"
        )
    return array


def _from_array(
    array: np.ndarray, wanted: torch.dtype | None, device: torch.device
) -> torch.Tensor:
    if array.dtype == np.uint16 and wanted in (None, torch.bfloat16):
        # how Paddle stores bfloat16 in arrays
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16).to(device)
    if array.dtype == np.longdouble:
        array = array.astype(np.float64)
    if array.dtype.kind not in "biufc" or array.dtype in (np.uint32, np.uint64):
        raise DtypeError(
            f"to_tensor: cannot convert an array of dtype {array.dtype}; expected bool, complex, "
            "float16, float32, float64, "
            "int8, int16, int32, int64, uint8 or uint16"
        )
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    raw = torch.from_numpy(np.array(array, order="C", copy=True))
    if wanted is None and device.type == "cpu":
        return raw
    if raw.is_complex() and wanted is not None and not wanted.is_complex:
        raw = raw.real
    return raw.to(device=device, dtype=wanted)
