"""``fluid.data``: what a program is fed, with its whole shape."""

from __future__ import annotations

from typing import Any

from argosy.fluid.dygraph.tracer import begin_recording, tracers
from argosy.foundation import dtypes
from argosy.foundation.errors import UsageError
from argosy.static import data as _data
from argosy.tensor.engine import Tensor


class Declared(Tensor):
    """What is declared inside of ``fluid.dygraph.guard()``, where nothing is fed: scripts hand it
    to loaders, which need its name at most. It has no values, and using them is an error.
    """

    __slots__ = ()

    def __init__(self, name: str, shape: Any, dtype: Any) -> None:
        self.name = name
        self._extents = [-1 if n is None else int(n) for n in shape]
        self._dtype = dtypes.from_any(dtype)

    @property
    def raw(self) -> Any:  # type: ignore[override]
        raise UsageError(
            f"{self.name!r} is declared by fluid.data inside of fluid.dygraph.guard(), where "
            "nothing is fed: it has no values. Make a Tensor of them with "
            "fluid.dygraph.to_variable(array)."
        )

    @property
    def shape(self) -> list[int]:  # type: ignore[override]
        return list(self._extents)

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property  # type: ignore[misc]
    def stop_gradient(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"Declared(name={self.name!r}, shape={self._extents}, dtype={self._dtype})"


def data(name: str, shape: Any, dtype: Any = "float32", lod_level: int = 0) -> Any:
    """Declare a variable that runs are fed with; None or -1 is a dimension that each run may
    choose.
    """
    if tracers.is_guarded:
        return Declared(name, shape, dtype)
    begin_recording("fluid.data")
    variable = _data(name, shape, dtype, lod_level)
    variable.is_fed_exactly = True
    return variable
