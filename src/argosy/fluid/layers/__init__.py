"""``fluid.layers``: the functions of 1.x."""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:  # the names of its modules, found by the table of Paddle's paths

    def __getattr__(name: str) -> _Any: ...
