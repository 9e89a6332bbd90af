"""Asking for primitive operators."""

from __future__ import annotations

from argosy.framework.primitives import primitives

__all__ = ["disable_prim", "enable_prim", "prim_enabled"]


def enable_prim() -> None:
    """Ask for primitive operators; what is computed stays the same."""
    primitives.forward = primitives.backward = True


def disable_prim() -> None:
    """Take back what ``enable_prim`` asked for."""
    primitives.forward = primitives.backward = False


def prim_enabled() -> bool:
    """Whether primitive operators were asked for."""
    return primitives.forward and primitives.backward
