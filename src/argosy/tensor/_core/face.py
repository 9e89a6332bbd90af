"""Factories for face functions that only pass their tensors on to one op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy.ops.table import Op
from argosy.tensor._core.tensor import apply


def unary(op: Op, doc: str, name: str | None = None) -> Callable[..., Any]:
    """A face function ``f(x, name=None)``."""

    def face(x: Any, name: str | None = None) -> Any:
        return apply(op, x)

    return _dress(face, name or op.name, doc)


def binary(op: Op, doc: str, name: str | None = None) -> Callable[..., Any]:
    """A face function ``f(x, y, name=None)``."""

    def face(x: Any, y: Any, name: str | None = None) -> Any:
        return apply(op, x, y)

    return _dress(face, name or op.name, doc)


def _dress(face: Callable[..., Any], name: str, doc: str) -> Callable[..., Any]:
    face.__name__ = face.__qualname__ = name
    face.__doc__ = doc
    return face
