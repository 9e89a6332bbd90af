"""The state that a process has one of: default programs, default group, flags, unique names.

Each holder of such state registers here when its module is imported, so that the state can be
listed and put back to that of a fresh process. A holder is an object whose attributes change, a
class or a module of which some do, or a list, dict or set. Its first state is noted one level deep:
attributes are compared by ``==``, lists, dicts and sets among them by content. A holder of things
that change in place says what to compare (``state``) and how to start anew (``reset``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from argosy.foundation.errors import InternalError

T = TypeVar("T")


@dataclass(frozen=True, eq=False, slots=True)
class _Holder:
    read: Callable[[], Any]
    reset: Callable[[], object]
    first: Any


_holders: dict[str, _Holder] = {}


def register(
    name: str,
    holder: T,
    *,
    attributes: Sequence[str] = (),
    state: Callable[[], Any] | None = None,
    reset: Callable[[], object] | None = None,
) -> T:
    """Make ``holder`` known and return it.

    ``attributes`` are those that are state, all of an object's own without it. ``state`` returns a
    value that is equal as long as nothing has changed; ``reset`` brings the first state back.
    """
    if name in _holders:
        raise InternalError(f"process state {name!r} is registered twice")
    fixed = attributes or _slots(holder)
    read = state or (lambda: _state_of(holder, fixed))
    first = read()
    _holders[name] = _Holder(read, reset or (lambda: _restore(holder, fixed, first)), first)
    return holder


class Held(Generic[T]):
    """One value of the process, registered under ``name``."""

    __slots__ = ("value",)

    def __init__(self, name: str, value: T) -> None:
        self.value = value
        register(name, self)


def names() -> list[str]:
    """The holders that the modules imported so far have registered."""
    return list(_holders)


def changed() -> list[str]:
    """The names of the holders that differ from their first state."""
    return [name for name, holder in _holders.items() if holder.read() != holder.first]


def reset_all() -> None:
    """Give every holder its first state back."""
    reset(_holders)


def reset(names: Collection[str]) -> None:
    """Give the holders of these names their first state back, those of upper layers first."""
    for name in reversed(changed()):
        if name in names:
            _holders[name].reset()


def _copied(value: Any) -> Any:
    return value.copy() if type(value) in (list, dict, set) else value


def _slots(holder: object) -> tuple[str, ...]:
    return getattr(type(holder), "__slots__", ())


def _state_of(holder: Any, attributes: Sequence[str]) -> Any:
    if isinstance(holder, (list, dict, set)):
        return holder.copy()
    return {name: _copied(getattr(holder, name)) for name in attributes or holder.__dict__}


def _restore(holder: Any, attributes: Sequence[str], first: Any) -> None:
    if isinstance(holder, (list, dict, set)):
        holder.clear()
        (holder.extend if isinstance(holder, list) else holder.update)(first)
        return
    for name in () if attributes else holder.__dict__.keys() - first.keys():
        delattr(holder, name)
    for name, value in first.items():
        setattr(holder, name, _copied(value))
