"""Variables of the environment with a type and a default."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from argosy.foundation import env
from argosy.foundation.errors import UsageError

__all__ = [
    "BooleanEnvironmentVariable",
    "EnvironmentVariable",
    "EnvironmentVariableGuard",
    "IntegerEnvironmentVariable",
    "StringEnvironmentVariable",
    "strtobool",
]

T = TypeVar("T")


def strtobool(val: str) -> bool:
    """What a word such as ``on`` or ``0`` means."""
    word = val.lower()
    if word in ("y", "yes", "t", "true", "on", "1"):
        return True
    if word in ("n", "no", "f", "false", "off", "0"):
        return False
    raise UsageError(f"Invalid truth value {word!r}")


class EnvironmentVariable(Generic[T]):
    """A variable by name, with the value that it has where it is not set."""

    def __init__(self, name: str, default: T) -> None:
        self.name = name
        self.default = default

    def get(self) -> T:
        """The value now."""
        raise NotImplementedError

    def set(self, value: T) -> None:
        """Set the variable, for this process and those it starts."""
        env.update({self.name: self._text(value)})

    def delete(self) -> None:
        """Make the variable one that is not set."""
        env.remove(self.name)

    def _text(self, value: T) -> str:
        return str(value)

    def _check(self, value: Any, kind: type) -> None:
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise _WrongType(f"{self.name} must be a {kind.__name__}, but received {value!r}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name}, default={self.default})"


class _WrongType(UsageError, AssertionError):
    """A variable was given a value of another type."""


class StringEnvironmentVariable(EnvironmentVariable[str]):
    def __init__(self, name: str, default: str) -> None:
        super().__init__(name, default)
        self._check(default, str)

    def get(self) -> str:
        return env.get(self.name, self.default)

    def _text(self, value: str) -> str:
        self._check(value, str)
        return value


class BooleanEnvironmentVariable(EnvironmentVariable[bool]):
    def __init__(self, name: str, default: bool) -> None:
        super().__init__(name, default)
        self._check(default, bool)

    def get(self) -> bool:
        return strtobool(env.get(self.name, str(self.default)))

    def _text(self, value: bool) -> str:
        self._check(value, bool)
        return str(value).lower()


class IntegerEnvironmentVariable(EnvironmentVariable[int]):
    def __init__(self, name: str, default: int) -> None:
        super().__init__(name, default)
        self._check(default, int)

    def get(self) -> int:
        try:
            return int(env.get(self.name, str(self.default)))
        except ValueError:
            return self.default

    def _text(self, value: int) -> str:
        self._check(value, int)
        return str(value)


class EnvironmentVariableGuard(Generic[T]):
    """Another value inside a ``with`` block."""

    def __init__(self, variable: EnvironmentVariable[T], value: T) -> None:
        self.variable = variable
        self.original_value = variable.get()
        self.variable.set(value)

    def __enter__(self) -> EnvironmentVariableGuard[T]:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.variable.set(self.original_value)
