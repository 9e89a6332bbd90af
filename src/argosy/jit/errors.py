"""Errors of conversion."""

from __future__ import annotations

from argosy.foundation.errors import UsageError


class Dygraph2StaticException(Exception):
    """A function that cannot be converted, in scripts that know Paddle's error for it."""


class NotConvertible(UsageError, Dygraph2StaticException):
    """Control flow that no program can express as it is written."""
