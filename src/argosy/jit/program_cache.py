"""The programs of a function, by the kind of arguments that they serve."""

from __future__ import annotations

from typing import Any

from argosy.jit.concrete_program import ConcreteProgram


class ProgramCache:
    """Recorded programs, in the order in which they were made.

    Under one key there may be several: of layers that the function uses, other ones were in
    training mode.
    """

    def __init__(self) -> None:
        self._found: dict[Any, list[ConcreteProgram]] = {}
        self._last: tuple[Any, ConcreteProgram] | None = None

    def find(self, key: Any) -> ConcreteProgram | None:
        """The program for a key in the modes that layers are in now."""
        for program in self._found.get(key, ()):
            if program.serves():
                self._last = key, program
                return program
        return None

    def add(self, key: Any, program: ConcreteProgram) -> None:
        self._found.setdefault(key, []).append(program)
        self._last = key, program

    def last(self) -> Any:
        """The key that was used last, and (program, what runs it)."""
        if self._last is None:
            raise AssertionError("No valid cached program in ProgramCache.")
        key, program = self._last
        return key, (program, program.partial_program)

    def concrete_programs(self) -> list[ConcreteProgram]:
        return [program for programs in self._found.values() for program in programs]

    def clear(self) -> None:
        self._found.clear()
        self._last = None

    def __len__(self) -> int:
        return len(self.concrete_programs())
