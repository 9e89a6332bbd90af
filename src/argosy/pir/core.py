"""The classes of Paddle's second IR, of which there are no objects here, and its names of
dtypes.
"""

from __future__ import annotations

from typing import Any, NoReturn

from argosy.foundation import dtypes
from argosy.foundation.errors import NotSupported

__all__ = ["Block", "OpResult", "Program", "Value", "datatype_to_vartype", "vartype_to_datatype"]


class _OfSecondIr:
    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotSupported(
            f"paddle.pir.{cls.__name__}: programs here are paddle.static.Program, with Variables; "
            "build one with paddle.static.program_guard"
        )


class Value(_OfSecondIr):
    """A value in a program of the second IR: what ``isinstance`` is asked about; nothing is one."""


class OpResult(Value):
    """The name of a value in 2.6; nothing is one."""


class Block(_OfSecondIr):
    """A block of the second IR; nothing is one."""


class Program(_OfSecondIr):
    """A program of the second IR: what ``isinstance`` is asked about; nothing is one."""


# There is one kind of dtypes here: a VarType is the DataType of the same numbers.
vartype_to_datatype = {dtype: dtype for dtype in dtypes.ALL}
datatype_to_vartype = vartype_to_datatype
