"""The table itself: ``Op`` records, the ``@op`` decorator that adds one, ``get`` by name or Paddle
op type.

An op is a function of raw torch tensors and plain attributes (numbers, strings, torch dtypes, lists
of these). It returns a tensor or a tuple or list of tensors, never keeps state, and never touches
its inputs unless its name ends in ``_``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from argosy.foundation.errors import InternalError
from argosy.foundation.registry import Registry


class Op:
    """One entry of the table.

    ``fn`` computes on raw tensors. ``aliases`` are the op types by which Paddle's programs and AMP
    lists call it. ``is_random`` says that two calls with equal inputs differ (a program cannot fold
    or share it).
    """

    __slots__ = ("_params", "aliases", "fn", "is_random", "name")

    def __init__(
        self,
        name: str,
        fn: Callable[..., Any],
        aliases: tuple[str, ...] = (),
        is_random: bool = False,
        params: tuple[str, ...] | None = None,
    ) -> None:
        self.name = name
        self.fn = fn
        self.aliases = aliases
        self.is_random = is_random
        self._params = params

    @property
    def params(self) -> tuple[str, ...]:
        """Names of the positional parameters, in order."""
        if self._params is None:
            self._params = tuple(inspect.signature(self.fn).parameters)
        return self._params

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Op({self.name})"


_TABLE: Registry[Op] = Registry("op")
_BY_ALIAS: dict[str, Op] = {}


def define(
    name: str,
    fn: Callable[..., Any],
    params: Iterable[str] | None = None,
    *,
    aliases: Iterable[str] = (),
    is_random: bool = False,
) -> Op:
    """Add ``fn`` to the table as ``name``; ``params`` names its arguments where the signature
    cannot be read.
    """
    entry = Op(name, fn, tuple(aliases), is_random, tuple(params) if params is not None else None)
    for alias in entry.aliases:
        if alias in _BY_ALIAS:
            raise InternalError(
                f"alias {alias!r} of op {name!r} already belongs to {_BY_ALIAS[alias].name!r}"
            )
        _BY_ALIAS[alias] = entry
    return _TABLE.add(name, entry)


def op(
    name: str, *, aliases: Iterable[str] = (), is_random: bool = False
) -> Callable[[Callable[..., Any]], Op]:
    """Decorate a raw function to add it to the table; the name in the module is then the ``Op``."""

    def add(fn: Callable[..., Any]) -> Op:
        return define(name, fn, aliases=aliases, is_random=is_random)

    return add


def get(name: str) -> Op:
    """Find an op by its name or by the op type Paddle uses."""
    return _BY_ALIAS[name] if name in _BY_ALIAS else _TABLE.get(name)


def find(name: str) -> Op | None:
    """As ``get``, but None where there is no such op."""
    return _BY_ALIAS[name] if name in _BY_ALIAS else _TABLE.get(name) if name in _TABLE else None


def names() -> list[str]:
    """Every op of the table, sorted."""
    return sorted(_TABLE)
