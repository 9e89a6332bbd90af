"""From anything a script may pass as data to a raw torch tensor, with Paddle's dtype rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import DtypeError, UsageError
from argosy.foundation.places import to_place
from argosy.tensor._defaults import defaults


def to_raw(data: Any, dtype: Any = None, place: Any = None) -> torch.Tensor:
    """Copy ``data`` into a new torch tensor.

    Python floats get the default dtype, Python ints int64, arrays keep theirs.
    """
    wanted = None if dtype is None else dtypes.to_torch(dtype)
    device = defaults.device if place is None else to_place(place).device
    raw = getattr(data, "_t", data)
    if isinstance(raw, torch.Tensor):
        out = raw.detach()
        same = (wanted is None or wanted is out.dtype) and device == out.device
        return out.clone() if same else out.to(device=device, dtype=wanted or out.dtype)
    if isinstance(data, np.ndarray) or np.isscalar(data) and isinstance(data, np.generic):
        return _from_array(np.asarray(data), wanted, device)
    if isinstance(data, (list, tuple)) and _holds_tensors(data):
        parts = [to_raw(item, dtype, place) for item in data]
        if not parts:
            return torch.empty(0, dtype=wanted or defaults.dtype, device=device)
        try:
            return torch.stack(parts)
        except RuntimeError as error:
            raise UsageError(f"to_tensor: the tensors in the list have different shapes: {[list(p.shape) for p in parts]}") from error
    return _from_python(data, wanted, device)


def _holds_tensors(data: Any) -> bool:
    """Whether a nested sequence has a tensor in it, seen along its first elements and its first level."""
    for item in data:
        if hasattr(item, "_t") or isinstance(item, torch.Tensor):
            return True
        if isinstance(item, (list, tuple)) and item and _holds_tensors(item[:1]):
            return True
    return False


def _from_array(array: np.ndarray, wanted: torch.dtype | None, device: torch.device) -> torch.Tensor:
    if array.dtype.kind in "OUSV":
        raise DtypeError(
            f"to_tensor: cannot convert an array of dtype {array.dtype}; "
            "an array must hold numbers, and nested lists must have equal lengths"
        )
    if array.dtype == np.uint16 and wanted in (None, torch.bfloat16):
        return torch.from_numpy(array.astype(np.uint16).view(np.int16).copy()).view(torch.bfloat16).to(device)
    if array.dtype in (np.uint16, np.uint32, np.uint64):
        array = array.astype(np.int64)
    elif array.dtype == np.longdouble:
        array = array.astype(np.float64)
    elif not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return torch.from_numpy(np.array(array, order="C", copy=True)).to(device=device, dtype=wanted)


def _from_python(data: Any, wanted: torch.dtype | None, device: torch.device) -> torch.Tensor:
    try:
        array = np.asarray(data)
    except ValueError as error:
        raise UsageError(
            "to_tensor: Failed to convert data: nested lists have different lengths; expected a rectangular one"
        ) from error
    if array.dtype.kind == "O" or array.dtype.kind in "US":
        raise DtypeError(
            "to_tensor: can't construct a Tensor from "
            f"{type(data).__name__} of {array.dtype}; expected numbers, lists of numbers, arrays or Tensors"
        )
    if wanted is None:
        if array.dtype.kind == "f" and not _has_numpy_float64(data):
            wanted = defaults.dtype
        elif array.dtype.kind == "c" and not isinstance(data, np.generic):
            wanted = torch.complex128 if defaults.dtype is torch.float64 else torch.complex64
    return _from_array(array, wanted, device)


def _has_numpy_float64(data: Any) -> bool:
    """A nested list of NumPy doubles or arrays keeps its dtype, one of Python floats takes the default."""
    while isinstance(data, (list, tuple)):
        if not data:
            return False
        data = data[0]
    return isinstance(data, (np.ndarray, np.generic))
