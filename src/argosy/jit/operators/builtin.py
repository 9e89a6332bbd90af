"""Python's own functions on values that only a run knows: ``len``, ``print``, casts, ``assert``,
``x.shape``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy.jit.operators.lists import length_of
from argosy.jit.operators.values import as_condition, is_unknown
from argosy.jit.state import state
from argosy.static.ir.variable import Variable
from argosy.static.record.arrays import ArrayVariable
from argosy.static.record.assert_op import record_assert
from argosy.static.record.print_op import Print
from argosy.static.record.recorder import recorder
from argosy.tensor import cast
from argosy.tensor import shape as shape_of


def len_(value: Any) -> Any:
    """``len``."""
    if isinstance(value, ArrayVariable):
        return length_of(value)
    if is_unknown(value):
        extents = value.shape
        return extents[0] if extents and extents[0] >= 0 else shape_of(recorder.admit(value))[0]
    return len(value)


def int_(*args: Any) -> Any:
    """``int``."""
    return cast(recorder.admit(args[0]), "int32") if _is_one(args) else int(*args)


def float_(*args: Any) -> Any:
    """``float``."""
    return cast(recorder.admit(args[0]), "float32") if _is_one(args) else float(*args)


def bool_(*args: Any) -> Any:
    """``bool``."""
    return as_condition(args[0]) if _is_one(args) else bool(*args)


def _is_one(args: tuple[Any, ...]) -> bool:
    return len(args) == 1 and is_unknown(args[0])


def print_(*values: Any, **options: Any) -> None:
    """``print``: what is known is written now, what only a run knows whenever it runs."""
    if not any(is_unknown(value) for value in values):
        print(*values, **options)
        return
    text = ""
    for value in values:
        if is_unknown(value):
            Print(recorder.admit(value), message=text or None, print_phase="forward")
            text = ""
        else:
            text = f"{text} {value}".strip()
    if text:
        print(text, **options)


def assert_(condition: Any, message: Callable[[], Any] | None = None) -> None:
    """``assert``."""
    if is_unknown(condition):
        told = None if message is None else message()
        data = [told] if isinstance(told, Variable) else []
        text = "" if told is None or data else str(told)
        record_assert(as_condition(condition), data, message=text)
    elif not condition:
        raise AssertionError(*(() if message is None else (message(),)))


def numpy(value: Any) -> Any:
    """``value.numpy()``; of what only a run knows the value itself, as Paddle takes it, where all
    of a function has to be recorded.
    """
    return value if is_unknown(value) and state.is_whole else value.numpy()


def shape(value: Any) -> Any:
    """``value.shape``, with variables for extents that only a run knows."""
    found = value.shape
    if not isinstance(value, Variable) or isinstance(value, ArrayVariable) or -1 not in found:
        return found
    extents = shape_of(value)
    return [n if n >= 0 else extents[i] for i, n in enumerate(found)]


def returned(value: Callable[[], Any]) -> Any:
    """What a function returns whose returns were assignments: None, if there was none."""
    try:
        return value()
    except NameError:
        return None
