"""``fluid.data_feeder``: names of dtypes."""

from __future__ import annotations

from typing import Any

from argosy.fluid._missing import missing_names
from argosy.foundation import dtypes

__all__ = ["convert_dtype"]


def convert_dtype(dtype: Any) -> str:
    """The name of a dtype, as 'float32'."""
    return dtypes.name_of(dtypes.to_torch(dtype))


__getattr__ = missing_names(__name__, globals())
