"""Tensor and the functions on it: Paddle's names over the op table."""

from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from argosy.tensor._core import methods as _methods
from argosy.tensor._core.methods import from_numpy, from_torch
from argosy.tensor._core.print import set_printoptions
from argosy.tensor._core.tensor import Parameter, Tensor
from argosy.tensor.attribute import *
from argosy.tensor.creation import *
from argosy.tensor.linalg import *
from argosy.tensor.logic import *
from argosy.tensor.manipulation import *
from argosy.tensor.math import *
from argosy.tensor.random import *
from argosy.tensor.reduction import *
from argosy.tensor.search import *

_methods.install()

if _TYPE_CHECKING:  # the names of its parts, whose lists are computed

    def __getattr__(name: str) -> _Any: ...


# A star import gives the functions, not their modules: paddle.linalg is not argosy.tensor.linalg.
__all__ = [
    n for n, v in globals().items() if not n.startswith("_") and not isinstance(v, _ModuleType)
]
