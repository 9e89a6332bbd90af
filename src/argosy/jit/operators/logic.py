"""``and``, ``or``, ``not``, chains of comparisons."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from argosy.jit.operators.values import as_condition, is_unknown
from argosy.tensor import logical_and, logical_not, logical_or

Lazy = Callable[[], Any]


def and_(*values: Lazy) -> Any:
    """``a and b``: nothing after a value that is known to be false is computed."""
    found = values[0]()
    for value in values[1:]:
        if not is_unknown(found):
            found = found and value()
            continue
        other = value()
        if is_unknown(other):
            found = logical_and(as_condition(found), as_condition(other))
        else:
            found = other and found
    return found


def or_(*values: Lazy) -> Any:
    """``a or b``: nothing after a value that is known to be true is computed."""
    found = values[0]()
    for value in values[1:]:
        if not is_unknown(found):
            found = found or value()
            continue
        other = value()
        if is_unknown(other):
            found = logical_or(as_condition(found), as_condition(other))
        else:
            found = other or found
    return found


def not_(value: Any) -> Any:
    """``not a``."""
    return logical_not(as_condition(value)) if is_unknown(value) else not value


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}


def chain(symbols: Sequence[str], operands: Sequence[Lazy]) -> Any:
    """``a < b < c``: each operand is computed once, and only if those before it hold."""
    held = [operands[0]()]

    def link(symbol: str, operand: Lazy) -> Lazy:
        def compared() -> Any:
            held.append(operand())
            return _COMPARISONS[symbol](held[-2], held[-1])

        return compared

    return and_(*(link(s, o) for s, o in zip(symbols, operands[1:], strict=True)))
