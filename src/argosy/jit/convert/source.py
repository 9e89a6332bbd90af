"""From a function to its syntax tree and back.

The function that comes back has the globals, the defaults and the very closure cells of the first
one; its code keeps file and line numbers, so a traceback through it shows the script as written.
What converted code calls is reached through one more free variable, ``_jst``.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
import types
from collections.abc import Callable
from typing import Any

from argosy.foundation.errors import NotSupported

HELPERS = "_jst"  # the free variable that holds what converted code calls

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class NoSource(NotSupported):
    """The text of a function is not at hand."""


def tree_of(function: types.FunctionType) -> ast.FunctionDef:
    """The definition of ``function``, at the lines where it stands in its file."""
    code = function.__code__
    try:
        lines, start = inspect.getsourcelines(code)
    except (OSError, TypeError) as error:
        raise NoSource(
            f"{function.__qualname__}: its source is not at hand ({error}), so it cannot be "
            "converted; define it in a file"
        ) from error
    # a string that reaches to the first column would hide the indentation from ``dedent``
    text = "".join(lines)
    indented = text[:1] in (" ", "\t")
    try:
        module = ast.parse(f"if True:\n{text}" if indented else textwrap.dedent(text))
    except SyntaxError as error:
        raise NoSource(f"{function.__qualname__}: its source cannot be parsed: {error}") from error
    ast.increment_lineno(module, start - 1 - indented)
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            node.decorator_list = []
            return _mangled(node, _class_name(function))
    raise NoSource(f"{function.__qualname__}: no definition of it at line {start} of its file")


def compiled(
    function: types.FunctionType, tree: ast.FunctionDef, helpers: Any
) -> tuple[types.FunctionType, set[types.CodeType]]:
    """The function that ``tree`` defines, in the place of ``function``, and its code objects."""
    names = [*function.__code__.co_freevars, HELPERS]
    factory = ast.FunctionDef(
        name="factory",
        args=_parameters(names),
        body=[tree, ast.Return(ast.Name(tree.name, ast.Load()))],
        decorator_list=[],
    )
    module = ast.fix_missing_locations(ast.Module([factory], []))
    code = compile(module, function.__code__.co_filename, "exec", dont_inherit=True)
    outer = _codes_in(code, "factory")[0]
    inner = _codes_in(outer, tree.name)[0]
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[HELPERS] = types.CellType(helpers)
    made = types.FunctionType(
        inner,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple(cells[name] for name in inner.co_freevars),
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    made.__module__ = function.__module__
    made.__doc__ = function.__doc__
    made.__dict__.update(function.__dict__)
    return made, set(_all_codes(inner))


def _parameters(names: list[str]) -> ast.arguments:
    return ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])


def _codes_in(code: types.CodeType, name: str) -> list[types.CodeType]:
    found = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return [c for c in found if c.co_name == name]


def _all_codes(code: types.CodeType) -> list[types.CodeType]:
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return [code, *(found for c in inner for found in _all_codes(c))]


def _class_name(function: types.FunctionType) -> str:
    """The class whose body a function was written in, or nothing."""
    parts = function.__qualname__.split(".")
    return parts[-2] if len(parts) > 1 and parts[-2] != "<locals>" else ""


def _mangled(tree: ast.FunctionDef, class_name: str) -> ast.FunctionDef:
    """The tree with the private names ``__x`` of its class as the compiler would make them."""
    prefix = class_name.lstrip("_")
    if prefix:
        for node in ast.walk(tree):
            for field in ("id", "attr", "arg", "name"):
                value = getattr(node, field, None)
                if isinstance(value, str) and value.startswith("__") and not value.endswith("__"):
                    setattr(node, field, f"_{prefix}{value}")
    return tree


def line_of(filename: str, number: int) -> str:
    """A line of a file, without its indentation."""
    return linecache.getline(filename, number).strip()


# -- writing trees
# --------------------------------------------------------------------------------------------------


def load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def helper(name: str, *args: ast.expr) -> ast.Call:
    """A call of something that converted code is given."""
    return ast.Call(ast.Attribute(load(HELPERS), name, ast.Load()), list(args), [])


def lazily(value: ast.expr) -> ast.Lambda:
    """``value`` as a function without arguments."""
    return ast.Lambda(_parameters([]), value)


def assigned(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([store(name)], value)


def function_of(name: str, params: list[str], body: list[ast.stmt]) -> ast.FunctionDef:
    return ast.FunctionDef(
        name=name, args=_parameters(params), body=body or [ast.Pass()], decorator_list=[]
    )


def strings(names: Any) -> ast.Tuple:
    return ast.Tuple([ast.Constant(name) for name in names], ast.Load())


def at(node: ast.AST, made: Any) -> Any:
    """``made``, a node or a list of them, at the first line of ``node``: what has no place yet."""
    for item in made if isinstance(made, list) else [made]:
        for inner in ast.walk(item):
            if "lineno" in inner._attributes and not hasattr(inner, "lineno"):
                inner.lineno = inner.end_lineno = node.lineno  # type: ignore[attr-defined]
                inner.col_offset = node.col_offset  # type: ignore[attr-defined]
                inner.end_col_offset = node.col_offset  # type: ignore[attr-defined]
    return made


Pass = Callable[[ast.FunctionDef], None]
