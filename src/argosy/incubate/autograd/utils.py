"""Asking for primitive operators, and tensors as sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.framework.primitives import primitives
from argosy.tensor.engine import Tensor

__all__ = ["as_tensors", "disable_prim", "enable_prim", "prim_enabled"]


def enable_prim() -> None:
    """Ask for primitive operators; what is computed stays the same."""
    primitives.forward = primitives.backward = True


def disable_prim() -> None:
    """Take back what ``enable_prim`` asked for."""
    primitives.forward = primitives.backward = False


def prim_enabled() -> bool:
    """Whether primitive operators were asked for."""
    return primitives.forward and primitives.backward


def as_tensors(xs: Any) -> Any:
    """One Tensor, or the members of a sequence, as a tuple; anything else as it is."""
    if isinstance(xs, Tensor):
        return (xs,)
    return tuple(xs) if isinstance(xs, Sequence) else xs
