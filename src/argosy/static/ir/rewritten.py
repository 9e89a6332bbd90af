"""Operators that passes put in the place of recorded ones."""

from __future__ import annotations

from typing import Any

from argosy.static.ir.operator import Operator


class Rewritten(Operator):
    """An operator in place of, or beside, a recorded one, whose position and line it shows in
    errors.
    """

    def __init__(self, origin: Operator, **changes: Any) -> None:
        kept = {
            name: getattr(origin, name) for name in ("type", "op", "args", "kwargs", "out", "role")
        }
        super().__init__(
            origin.block, **{**kept, **changes}, name_scope=origin.name_scope, where=origin.where
        )
        self._origin = origin

    @property
    def idx(self) -> int:
        return self._origin.idx
