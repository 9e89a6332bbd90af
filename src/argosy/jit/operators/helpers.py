"""The names that converted code uses, as attributes of ``_jst``."""

from __future__ import annotations

from typing import Any

from argosy.jit.operators.branch import choose, if_
from argosy.jit.operators.builtin import assert_, numpy, returned, shape
from argosy.jit.operators.logic import and_, chain, not_, or_
from argosy.jit.operators.loop import for_, while_

__all__ = [
    "and_",
    "assert_",
    "call",
    "chain",
    "choose",
    "for_",
    "if_",
    "not_",
    "numpy",
    "or_",
    "returned",
    "shape",
    "while_",
]


def call(function: Any) -> Any:
    """What converted code calls in the place of ``function``."""
    from argosy.jit.operators import call as calls  # which converts with these very names

    return calls.call(function)
