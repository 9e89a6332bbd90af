"""What operators, variables and blocks see of what they are part of.

``Program`` and ``Block`` stand above the parts that they consist of, so these know them by what
they need.
"""

from __future__ import annotations

from typing import Any, Protocol


class OwningProgram(Protocol):
    """The ``Program`` of a block."""

    blocks: list[Any]
    is_fluid: bool

    def current_block(self) -> Any: ...

    def changed(self) -> None: ...


class OwningBlock(Protocol):
    """The ``Block`` of an operator or a variable."""

    idx: int
    program: Any
    vars: dict[str, Any]
    ops: list[Any]

    def encloses(self, other: Any) -> bool: ...

    def find_var_recursive(self, name: str) -> Any: ...

    def add_variable(self, variable: Any) -> Any: ...

    def declare_late_lod(self, variable: Any) -> tuple[str, ...]: ...

    def append_operator(self, operator: Any) -> Any: ...

    def insert_operator(self, index: int, operator: Any) -> Any: ...

    def rename_var(self, old: str, new: str) -> None: ...
