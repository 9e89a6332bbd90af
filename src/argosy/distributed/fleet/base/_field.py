"""What one row of the strategy's table says.

The kinds are those of protobuf, because strategies are saved as protobuf text; ``kind`` of a nested
group of settings is the name of its table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from argosy.foundation.errors import DtypeError, OutOfRange, UsageError

BOOL, INT, UINT, LONG = "bool", "int32", "uint32", "uint64"
FLOAT, DOUBLE, STRING = "float", "double", "string"
NUMBERS = True  # for ``changes_numbers``

_RANGES = {INT: (-(2**31), 2**31 - 1), UINT: (0, 2**32 - 1), LONG: (0, 2**64 - 1)}
_WORDS = {
    BOOL: "a bool",
    INT: "an int",
    UINT: "an int",
    LONG: "an int",
    FLOAT: "a number",
    DOUBLE: "a number",
    STRING: "a str",
}


class RangeError(OutOfRange, UsageError):
    """A number does not fit the field it is for."""


@dataclass(frozen=True)
class Field:
    """A setting: its name, kind, default and meaning.

    ``changes_numbers``: results of a training run may depend on it; the others only tune, or steer
    what is not built. ``is_list``: values are added to the list on each assignment. ``choices`` are
    the names of an enumeration, the first with number ``first_choice``. ``is_strict``: a switch
    that refuses another type with an error, where most keep their value and warn.
    """

    name: str
    kind: str
    default: Any = None
    doc: str = ""
    changes_numbers: bool = False
    is_list: bool = False
    is_strict: bool = False
    public_name: str = ""
    choices: tuple[str, ...] = ()
    first_choice: int = 0

    @property
    def is_group(self) -> bool:
        return self.kind not in _WORDS

    def check(self, value: Any, where: str) -> Any:
        """``value`` as this field stores it (one element, for a list); an error that names
        ``where`` if it is of another type.
        """
        if self.kind == STRING:
            if isinstance(value, str):
                return value
        elif self.kind in (FLOAT, DOUBLE):
            if hasattr(value, "__float__") and not isinstance(value, str):
                return float(value)
        elif self.choices and isinstance(value, str):
            if value in self.choices:
                return self.first_choice + self.choices.index(value)
        elif hasattr(value, "__index__"):
            return bool(value) if self.kind == BOOL else self._in_range(int(value), where)
        raise DtypeError(f"{where}: expected {_WORDS[self.kind]}, but received {value!r}")

    def _in_range(self, number: int, where: str) -> int:
        low, high = _RANGES[self.kind]
        if not low <= number <= high:
            raise RangeError(f"{where}: {number} is outside {low}..{high}")
        return number
