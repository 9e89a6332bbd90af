"""Keeping torch.compile out of the code that communicates.

C++ code of torch, DDP's for instance, calls a group in the middle of a compiled model. The compiler
then sees Python frames of ours and would try to make graphs of them. ``torch.compiler.disable``
would import the compiler with the first group, which takes seconds; a mark on each code object
takes nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from argosy.foundation.torch_private import skip_code

_ROOMS = ("argosy.runtime.comm", "argosy.runtime.torch_backend")


def keep_out() -> None:
    """Mark every function of the rooms that are imported by now."""
    for name, module in list(sys.modules.items()):
        if isinstance(module, ModuleType) and name.startswith(_ROOMS):
            for code in _codes_of(module):
                skip_code(code)


def _codes_of(module: ModuleType) -> Iterator[CodeType]:
    for value in list(vars(module).values()):
        if (getattr(value, "__module__", "") or "").startswith(_ROOMS):
            members = list(vars(value).values()) if isinstance(value, type) else [value]
            for member in members:
                yield from _codes(_function(member))


def _function(member: Any) -> Any:
    if isinstance(member, property):
        return member.fget
    return getattr(member, "__func__", member)


def _codes(function: Any) -> Iterator[CodeType]:
    """The code of a function, of those inside it, and of what it wraps."""
    while isinstance(function, FunctionType):
        waiting = [function.__code__]
        while waiting:
            code = waiting.pop()
            yield code
            waiting += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
        function = getattr(function, "__wrapped__", None)
