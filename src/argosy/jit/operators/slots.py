"""Where converted code keeps what a branch or a loop binds: cells of closures, globals, attributes.

A slot is read and written; UNDEFINED stands for a name or an attribute that there is not.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from argosy.jit.operators.values import UNDEFINED


class Slot(Protocol):
    """One name, or one attribute."""

    name: str

    def read(self) -> Any: ...

    def write(self, value: Any) -> None: ...


class CellSlot:
    """A local name of the function around."""

    def __init__(self, name: str, cell: types.CellType) -> None:
        self.name = name
        self._cell = cell

    def read(self) -> Any:
        try:
            return self._cell.cell_contents
        except ValueError:  # empty
            return UNDEFINED

    def write(self, value: Any) -> None:
        if value is not UNDEFINED:
            self._cell.cell_contents = value
        elif self.read() is not UNDEFINED:
            del self._cell.cell_contents


class GlobalSlot:
    """A name of the module."""

    def __init__(self, name: str, names: dict[str, Any]) -> None:
        self.name = name
        self._names = names

    def read(self) -> Any:
        return self._names.get(self.name, UNDEFINED)

    def write(self, value: Any) -> None:
        if value is UNDEFINED:
            self._names.pop(self.name, None)
        else:
            self._names[self.name] = value


class AttributeSlot:
    """An attribute of an object."""

    def __init__(self, holder: Any, attribute: str) -> None:
        self.name = attribute
        self._holder = holder

    def read(self) -> Any:
        return getattr(self._holder, self.name, UNDEFINED)

    def write(self, value: Any) -> None:
        held = self.read()
        if value is held:
            return
        if value is not UNDEFINED:
            setattr(self._holder, self.name, value)
        elif held is not UNDEFINED:
            delattr(self._holder, self.name)


class BoxSlot:
    """A value that only a helper knows."""

    name = "a counter"

    def __init__(self, value: Any) -> None:
        self.value = value

    def read(self) -> Any:
        return self.value

    def write(self, value: Any) -> None:
        self.value = value


class Slots:
    """What a block binds; ``grown`` are the names of lists that it lengthens or shortens."""

    def __init__(self, slots: Sequence[Slot], grown: Sequence[str] = ()) -> None:
        self.slots = list(slots)
        self.grown = frozenset(grown)

    def read(self) -> list[Any]:
        return [slot.read() for slot in self.slots]

    def write(self, values: Sequence[Any]) -> None:
        for slot, value in zip(self.slots, values, strict=True):
            slot.write(value)

    def names(self) -> list[str]:
        return [slot.name for slot in self.slots]

    def with_box(self, box: BoxSlot) -> Slots:
        return Slots([*self.slots, box], tuple(self.grown))


NO_SLOTS = Slots(())


def slots_of(
    function: Callable[..., Any],
    names: Sequence[str],
    attributes: Sequence[tuple[Callable[[], Any], str]],
    grown: Sequence[str],
) -> Slots:
    """The slots that a function of converted code binds."""
    assert isinstance(function, types.FunctionType)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    slots: list[Slot] = [
        CellSlot(name, cells[name]) if name in cells else GlobalSlot(name, function.__globals__)
        for name in names
    ]
    for holder, attribute in attributes:
        try:
            slots.append(AttributeSlot(holder(), attribute))
        except (NameError, AttributeError):
            continue  # made inside of the block, so nobody outside knows it
    return Slots(slots, grown)
