"""``fluid.executor``: running programs; what is fed as LoDTensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from argosy.foundation import dtypes
from argosy.foundation.errors import BadArgument, DtypeError
from argosy.static.ir.lod import LoDTensor


class HoldsSequences(DtypeError, RuntimeError):
    """A list that is no array was fed where one is wanted."""


def _as_lodtensor(data: Any, place: Any, dtype: Any = None) -> LoDTensor:
    """An array, or numbers of ``dtype``, one of them as shape [1], as a LoDTensor without
    sequences.
    """
    if isinstance(data, (list, tuple)) and dtype is not None:
        data = _numbers(data, dtypes.name_of(dtypes.to_torch(dtype)))
    if isinstance(data, list):
        raise HoldsSequences(
            "Some of your feed data hold LoD information. They can not be completely cast from a "
            "list of Python ndarray to LoDTensor. Please convert data to LoDTensor directly "
            "before feeding the data."
        )
    if np.isscalar(data):
        if dtype is None:
            raise BadArgument("dtype should be given when casting python scalar to tensor")
        data = np.array([data], dtypes.name_of(dtypes.to_torch(dtype)))
    out = LoDTensor()
    out.set(data, place)
    return out


def _numbers(nest: Any, dtype: str) -> Any:
    """Nested lists as an array; as they are, if they are none."""
    try:
        array = np.array(nest)
    except ValueError:
        return nest
    return list(nest) if array.dtype == object else array.astype(dtype)
