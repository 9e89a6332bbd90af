"""``paddle.complex``: a module in 1.8, a function since 2.0. Here it is both from the moment that
``paddle.fluid`` is used: calling it makes a complex tensor out of two real ones.

Its names are those of ``fluid.complex_layer``.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from argosy.tensor import complex as _complex


class ComplexModule(ModuleType):
    """The module, as the function that has its name."""

    def __call__(self, real: Any, imag: Any, name: str | None = None) -> Any:
        """As ``paddle.tensor.complex``."""
        return _complex(real, imag, name)


sys.modules[__name__].__class__ = ComplexModule
