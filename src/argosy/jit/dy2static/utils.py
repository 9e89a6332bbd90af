"""Reading the signatures of functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["parse_arg_and_kwargs", "parse_varargs_name"]


def parse_arg_and_kwargs(function: Callable[..., Any]) -> tuple[list[str], dict[str, Any]]:
    """The names of a function's arguments, without ``self``, and the defaults by name."""
    spec = inspect.getfullargspec(function)
    names = spec.args[1:] if spec.args[:1] == ["self"] else spec.args
    defaults = spec.defaults or ()
    return names, dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))


def parse_varargs_name(function: Callable[..., Any]) -> str | None:
    """The name of ``*args``, if a function takes them."""
    return inspect.getfullargspec(function).varargs
