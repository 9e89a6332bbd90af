"""Text: the function of a program while it is written, with the names that it uses."""

from __future__ import annotations

from typing import Any

from argosy.static.ir.operator import Operator


class Text:
    """Lines, indented as deep as the suite that is written now; locals hold variables, globals hold
    constants.
    """

    def __init__(self, helpers: dict[str, Any]) -> None:
        self.lines: list[str] = []
        self.locals: dict[str, str] = {}
        self.globals = helpers
        self.operators: dict[int, Operator] = {}  # which one a line of the function comes from
        # lists of variables, each of which an operator changes by one rule
        self.alike: list[list[str]] = []
        # whether gradients are on after the last line; None: not known
        self.has_grad: bool | None = None
        self._depth = 0

    def append(self, line: str) -> None:
        self.lines.append("    " * self._depth + line)

    def indent(self) -> None:
        self._depth += 1

    def dedent(self) -> None:
        self._depth -= 1

    def __enter__(self) -> Text:
        self.indent()
        return self

    def __exit__(self, *exc: object) -> None:
        self.dedent()

    def local(self, name: str) -> str:
        """The local that holds a variable."""
        if name not in self.locals:
            self.locals[name] = f"v{len(self.locals)}"
        return self.locals[name]

    def constant(self, value: Any, prefix: str = "c") -> str:
        """A global that holds ``value``."""
        name = f"{prefix}{len(self.globals)}"
        self.globals[name] = value
        return name

    def comes_from(self, operator: Operator, start: int) -> None:
        """Note the operator of the lines from ``start`` on; one inside of it came first."""
        for number in range(start, len(self.lines)):
            self.operators.setdefault(number + 2, operator)  # after the line with ``def``, from 1

    def function(self) -> str:
        return "def run(feeds, state):\n" + "".join(f"    {line}\n" for line in self.lines)


def listed(names: Any) -> str:
    """Items of a list or a tuple as they stand between its brackets."""
    return "".join(f"{name}, " for name in names)
