"""``fluid.data``: what a program is fed, with its whole shape."""

from __future__ import annotations

from typing import Any

from argosy.fluid.dygraph.tracer import begin_recording
from argosy.static import data as _data


def data(name: str, shape: Any, dtype: Any = "float32", lod_level: int = 0) -> Any:
    """Declare a variable that runs are fed with; None or -1 is a dimension that each run may
    choose.
    """
    begin_recording("fluid.data")
    variable = _data(name, shape, dtype, lod_level)
    variable.is_fed_exactly = True
    return variable
