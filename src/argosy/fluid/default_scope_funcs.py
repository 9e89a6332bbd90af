"""``fluid.default_scope_funcs``: a stack of scopes, one inside of the other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from argosy.foundation.process_state import register
from argosy.static.ir.scope import Scope, ScopeVariable

__all__ = [
    "get_cur_scope",
    "enter_local_scope",
    "leave_local_scope",
    "var",
    "find_var",
    "scoped_function",
]


class _Stack(threading.local):
    """The scopes that are open in a thread, the innermost last."""

    def __init__(self) -> None:
        self.scopes = [Scope()]

    def reset(self) -> None:
        self.scopes = [Scope()]


_stack = _Stack()
register(
    "default scopes",
    _stack,
    state=lambda: [scope.local_var_names() for scope in _stack.scopes],
    reset=_stack.reset,
)


def get_cur_scope() -> Scope:
    """The innermost open scope of this thread."""
    return _stack.scopes[-1]


def enter_local_scope() -> None:
    """Open a scope inside of the current one."""
    _stack.scopes.append(get_cur_scope().new_scope())


def leave_local_scope() -> None:
    """Close the current scope."""
    _stack.scopes.pop()
    get_cur_scope().drop_kids()


def var(name: str) -> ScopeVariable:
    """The variable of this name in the current scope, made if need be."""
    return get_cur_scope().var(name)


def find_var(name: str) -> ScopeVariable | None:
    """The variable of this name in the current scope or one around it."""
    return get_cur_scope().find_var(name)


def scoped_function(func: Callable[[], Any]) -> Any:
    """Call ``func`` in a scope of its own.

    Example:
        >>> from paddle.fluid.default_scope_funcs import find_var, scoped_function, var
        >>> scoped_function(lambda: var("counter").set_int(3))
        >>> find_var("counter") is None
        True
    """
    enter_local_scope()
    try:
        return func()
    finally:
        leave_local_scope()
