"""The one place where text becomes code: what the function of a program may consist of.

A program may come from a file, so nothing that it says is written into the text. Names of variables
become locals that the emitter invents (``v12``), strings, arrays and functions become globals
(``c3``, ``f4``) that hold them, and the keywords of a call are checked by ``keyword``. ``compiled``
then reads the text as a tree and refuses every node, name, method and literal that the emitter has
no use for, so that a mistake in an emitter cannot become code either. The function runs without
builtins.
"""

from __future__ import annotations

import ast
import keyword as reserved
import re
import sys
from collections.abc import Callable
from typing import Any

from argosy.foundation.errors import ProgramError

_NODES = frozenset({
    ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.Assign, ast.Delete, ast.Return,
    ast.If, ast.While, ast.Pass, ast.Expr,
    ast.Call, ast.keyword, ast.Name, ast.Load, ast.Store, ast.Del, ast.Attribute, ast.List,
    ast.Tuple, ast.Constant, ast.IfExp,
    ast.BoolOp, ast.And, ast.BinOp, ast.Mult, ast.UnaryOp, ast.USub, ast.Compare, ast.Is,
})  # fmt: skip
_INVENTED = re.compile(r"[vcfsp][0-9]+|run|feeds|state|_")
_METHODS = frozenset({"item", "clone", "detach", "requires_grad_"})
_ENGINE = ("torch", "numpy")
_LITERALS = (type(None), bool, int, float)


def keyword(name: str) -> str:
    """``name`` as the keyword of a call; one that is no plain identifier is refused."""
    if (
        not isinstance(name, str)
        or not name.isidentifier()
        or reserved.iskeyword(name)
        or name.startswith("__")
    ):
        raise ProgramError(
            f"an operator has an argument named {name!r}, which is no name of a parameter"
        )
    return name


def compiled(source: str, title: str, namespace: dict[str, Any]) -> Callable[..., Any]:
    """The function ``run`` that ``source`` defines; it sees ``namespace`` and no builtins.
    ``title`` names it in tracebacks.
    """
    helpers = frozenset(namespace)
    try:
        tree = ast.parse(source, title)
        for node in ast.walk(tree):
            problem = _problem(node, helpers)
            if problem:
                raise ProgramError(
                    f"{title}: line {getattr(node, 'lineno', '?')} of its function has {problem}"
                )
        code = compile(tree, title, "exec")
    # Loops nest at most 20 deep, branches 100, and a chain of thousands of branches is too long for
    # Python's compiler.
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ProgramError(f"{title}: it nests too deep to become a function ({error})") from error
    namespace["__builtins__"] = {"__import__": _engine_import}
    exec(code, namespace)
    run: Callable[..., Any] = namespace["run"]
    return run


def _engine_import(name: str, *details: Any) -> Any:
    """What C code of the engine finds when it loads a module of its own at its first use.

    Python takes the way to import from the globals of the function that called. The text cannot
    name this: it is none of its words.
    """
    if name.partition(".")[0] not in _ENGINE and name not in sys.modules:
        raise ImportError(f"the function of a program may not import {name!r}")
    return __import__(name, *details)


def _problem(node: ast.AST, helpers: frozenset[str]) -> str:
    """What stands there that no emitter writes; empty if nothing does."""
    kind = type(node)
    if kind not in _NODES:
        return f"a {kind.__name__}"
    name = _name(node)
    if name is not None and _INVENTED.fullmatch(name) is None and name not in helpers:
        return f"the name {name!r}"
    if isinstance(node, ast.Attribute) and node.attr not in _METHODS:
        return f"the attribute {node.attr!r}"
    if isinstance(node, ast.Constant) and type(node.value) not in _LITERALS:
        return f"the literal {node.value!r}"
    if isinstance(node, ast.keyword) and (node.arg is None or node.arg != keyword(node.arg)):
        return "keywords from a value"
    return ""


def _name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    return (
        node.name
        if isinstance(node, ast.FunctionDef)
        else node.arg
        if isinstance(node, ast.arg)
        else None
    )
