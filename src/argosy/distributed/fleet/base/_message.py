"""A group of settings as a value: what was set, defaults for the rest, checks from the table.

It behaves as a protobuf message does in Paddle: fields are attributes, reading a nested group gives
the group itself, and only what was set is written to files.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from argosy.distributed.fleet.base._field import Field
from argosy.distributed.fleet.base._strategy_fields import OLD_NAMES, TABLES
from argosy.foundation.errors import BadArgument, DtypeError, nearest

__all__ = ["Message"]

_FIELDS = {kind: {field.name: field for field in fields} for kind, fields in TABLES.items()}


class Message:
    """The settings of table ``kind``; ``path`` is what errors call it, empty for the root."""

    _kind: str
    _held: dict[str, Any]

    def __init__(self, kind: str, path: str = "") -> None:
        own = self.__dict__
        own["_kind"] = kind
        own["_path"] = path
        own["_held"] = {}

    def __getattr__(self, name: str) -> Any:
        field = _FIELDS.get(self.__dict__.get("_kind", ""), {}).get(name)
        if field is None:
            raise AttributeError(f"{self.__dict__.get('_kind', 'Message')} has no field {name!r}")
        values = self._held
        if name in values:
            return values[name]
        if field.is_list:
            return values.setdefault(name, [])
        if field.is_group:
            return values.setdefault(name, Message(field.kind, self._below(name)))
        return field.default

    def __setattr__(self, name: str, value: Any) -> None:
        field = self.field(name)
        where = self._below(name)
        if field.is_list:
            self._held[name] = [self._element(field, item, where) for item in value]
        elif field.is_group:
            getattr(self, name).update(value)
        else:
            self._held[name] = field.check(value, where)

    def field(self, name: str) -> Field:
        """The row of ``name``, which may be an old one; BadArgument (an AssertionError, as in
        Paddle) if there is none.
        """
        known = _FIELDS[self._kind]
        current = OLD_NAMES.get(self._kind, {}).get(name, name)
        if current not in known:
            raise BadArgument(
                f"key:{name} not in {self._path or self._kind}.{nearest(str(name), known)}"
            )
        return known[current]

    def _below(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name

    def update(self, settings: Mapping[str, Any]) -> None:
        """Set what ``settings`` names and keep the rest; lists grow, nested groups are updated.
        Nothing changes if a name or type is wrong.
        """
        if isinstance(settings, Message):
            settings = settings.stored()
        if not isinstance(settings, Mapping):
            raise DtypeError(
                f"{self._path or self._kind}: expected a dict, but received {settings!r}"
            )
        changed = copy.deepcopy(self)
        for key, value in settings.items():
            field = changed.field(key)
            if not field.is_list:
                setattr(changed, field.name, value)
            elif value is not None:
                where = self._below(key)
                getattr(changed, field.name).extend(
                    changed._element(field, item, where) for item in value
                )
        self.__dict__["_held"] = changed._held

    def _element(self, field: Field, item: Any, where: str) -> Any:
        if not field.is_group:
            return field.check(item, where)
        if isinstance(item, Message) and item._kind == field.kind:
            return item
        element = Message(field.kind, where)
        element.update(item)
        return element

    def add(self, name: str) -> Message:
        """Append an empty group to the list ``name`` and return it."""
        element = Message(self.field(name).kind, self._below(name))
        getattr(self, name).append(element)
        return element

    def as_dict(self) -> dict[str, Any]:
        """All settings, defaults filled in; nested groups stay objects, lists of them become lists
        of dicts.
        """
        return {field.name: _plain(getattr(self, field.name)) for field in self.fields()}

    def stored(self) -> dict[str, Any]:
        """What was set, in the order of the table."""
        return {
            f.name: self._held[f.name]
            for f in self.fields()
            if not _is_empty(self._held.get(f.name))
        }

    def fields(self) -> Iterator[Field]:
        yield from TABLES[self._kind]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message) or other._kind != self._kind:
            return NotImplemented
        return all(
            getattr(self, field.name) == getattr(other, field.name) for field in self.fields()
        )

    __hash__ = None  # type: ignore[assignment]  # it can change

    def __deepcopy__(self, memo: Any) -> Message:
        twin = Message(self._kind, self._path)
        twin.__dict__["_held"] = copy.deepcopy(self._held, memo)
        return twin

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.stored().items())
        return f"{self._kind}({fields})"


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [item.as_dict() if isinstance(item, Message) else item for item in value]
    return value


def _is_empty(value: Any) -> bool:
    return value is None or value == [] or (isinstance(value, Message) and not value.stored())
