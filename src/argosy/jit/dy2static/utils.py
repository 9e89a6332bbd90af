"""Functions and their source."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from argosy.jit.errors import Dygraph2StaticException
from argosy.jit.operators.call import is_convertible
from argosy.jit.static_function import unwrap_decorators

__all__ = [
    "Dygraph2StaticException",
    "ast_to_source_code",
    "func_to_source_code",
    "is_paddle_func",
    "parse_arg_and_kwargs",
    "parse_varargs_name",
]


def parse_arg_and_kwargs(function: Callable[..., Any]) -> tuple[list[str], dict[str, Any]]:
    """The names of a function's arguments, without ``self``, and the defaults by name."""
    spec = inspect.getfullargspec(function)
    names = spec.args[1:] if spec.args[:1] == ["self"] else spec.args
    defaults = spec.defaults or ()
    return names, dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))


def parse_varargs_name(function: Callable[..., Any]) -> str | None:
    """The name of ``*args``, if a function takes them."""
    return inspect.getfullargspec(function).varargs


def func_to_source_code(function: Callable[..., Any], dedent: bool = True) -> str:
    """The source of a function without comments."""
    inner = unwrap_decorators(function)[1]
    if not (inspect.isfunction(inner) or inspect.ismethod(inner)):
        raise TypeError(
            "The type of 'function' should be a function or method, but received "
            f"{type(function).__name__}."
        )
    text = textwrap.dedent(inspect.getsource(inner))
    return ast.unparse(ast.parse(text)) + "\n" if dedent else text


def ast_to_source_code(ast_node: ast.AST) -> str:
    """A syntax tree as Python."""
    return ast.unparse(ast_node) + "\n"


def is_paddle_func(func: Any, ignore_white_list: bool = True) -> bool:
    """Whether a function is called as it is because it is not the script's."""
    inner = getattr(func, "__func__", func)
    return inspect.isfunction(inner) and not is_convertible(inner)
