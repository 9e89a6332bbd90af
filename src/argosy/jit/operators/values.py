"""Values while a function is recorded: which are known, and what stands for none."""

from __future__ import annotations

from typing import Any

from argosy.framework.mode import switch
from argosy.jit.errors import NotConvertible
from argosy.static.ir.operator import leaves, mapped
from argosy.static.ir.variable import Kind, Variable
from argosy.static.record.control import record_no_value
from argosy.static.record.recorder import recorder
from argosy.tensor import cast, full
from argosy.tensor.engine import Tensor


def is_unknown(value: Any) -> bool:
    """Whether only a run knows ``value``: a Tensor, while a program is recorded."""
    return isinstance(value, Tensor) and switch.is_static


class Undefined:
    """What a name holds that is not bound. Only helpers see it: the cell of the name is empty."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "no value"


UNDEFINED = Undefined()


class Pending:
    """A name that is not bound before a loop that binds it: what it is shows when that is recorded.

    A run finds no value in it before the turn that gives it one.
    """

    def __init__(self, name: str, block: int) -> None:
        self._name = name
        self._block = block
        self._variable: Variable | None = None

    def resolved(self, kind: Kind) -> Variable:
        """The variable in front of the loop that holds it."""
        if self._variable is None:
            with recorder.main.in_block(self._block):
                self._variable = record_no_value(kind)
        return self._variable

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise NotConvertible(
            f"{self._name!r} is read in a loop over Tensors before the loop has given it a value; "
            "give it one before the loop"
        )

    def __repr__(self) -> str:
        return f"{self._name}, without a value yet"


def is_missing(value: Any) -> bool:
    """Whether ``value`` stands for none."""
    return value is None or isinstance(value, (Undefined, Pending))


def as_condition(value: Any) -> Any:
    """``value``, which only a run knows, as a bool variable."""
    admitted = recorder.admit(value)
    return admitted if admitted.dtype.name == "bool" else cast(admitted, "bool")


# What numbers become that change when a program runs.
_NUMBER_DTYPES = {bool: "bool", int: "int64", float: "float64"}


def as_variable(value: Any) -> Any:
    """A number, or a Tensor with values, as a variable; anything else as it is."""
    dtype = _NUMBER_DTYPES.get(type(value))
    if dtype is not None:
        return full([], value, dtype)
    return recorder.admit(value)


def has_variable(tree: Any) -> bool:
    return any(isinstance(leaf, Variable) for leaf in leaves(tree))


def copied(tree: Any) -> Any:
    """``tree`` with its lists and dicts copied, so that a branch may change them."""
    return mapped(tree, lambda leaf: leaf) if isinstance(tree, (list, dict)) else tree
