"""Functions of 1.x that only say otherwise what a function of today computes, as rows of a table.

    transpose(x, perm, name=None) -> tensor.transpose(x, perm)
    mean(x, name=None) -> tensor.mean(x), as [1]

A row has the name and the arguments of 1.x, the function that computes it, by its path in argosy,
and what that is given. Behind it stands what 1.x does besides:

    as [1]      a result without axes gets one
    then act    the activation of that name is applied
    into out    the result is written to the argument ``out``, or another that is named, if given
    recorded    without inputs of a program: recording begins, unless a guard is open

``define`` makes real functions of them: with this signature, so that Python itself complains of
wrong arguments, and a docstring that shows the row. What 1.x computes otherwise is not a row but
code, in the same module.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from argosy.fluid.dygraph.tracer import is_static, records
from argosy.static.nn.layer import anywhere
from argosy.static.record.activation import activate
from argosy.static.record.recorder import recorder
from argosy.tensor import assign, reshape
from argosy.tensor.engine import unique_name

Class = TypeVar("Class")

_ROW = re.compile(
    r"(\w+)\((.*?)\) -> ([\w.]+)\((.*?)\)((?:, (?:as \[1\]|then act|into \w+|recorded))*)"
)


class Row(NamedTuple):
    """One function: its name and arguments, what computes it, with what, and what else happens."""

    name: str
    parameters: str
    target: str
    arguments: str
    besides: tuple[str, ...]


def parse(text: str) -> list[Row]:
    """The rows of a table; a row may go on in lines that are indented further."""
    rows = []
    for line in re.sub(r"\n\s{2,}", " ", text.strip()).splitlines():
        match = _ROW.fullmatch(line)
        if match is None:
            raise SyntaxError(f"not a row of a table of names: {line!r}")
        name, parameters, target, arguments, besides = match.groups()
        rows.append(Row(name, parameters, target, arguments, tuple(besides.split(", ")[1:])))
    return rows


def define(scope: dict[str, Any], text: str) -> None:
    """Put the functions of a table into the module whose globals are ``scope``."""
    for row in parse(text):
        scope[row.name] = make(row, scope["__name__"])


def name_results(scope: dict[str, Any], text: str, but: str = "") -> None:
    """Let the functions of a module name what they compute as 1.x does: after themselves, or after
    what a line of ``text`` says (``topk top_k``). Where a function records other operators than
    Paddle, the line says which variables of the helper its results are (``resize_nearest
    nearest_interp:0``; see ``static.record.naming``).

    Those in ``but`` name their results themselves, or are made of functions that do.
    """
    layers = dict(line.split(maxsplit=1) for line in text.strip().splitlines())
    for name, function in list(scope.items()):
        is_own = inspect.isfunction(function) and function.__module__ == scope["__name__"]
        if is_own and not name.startswith("_") and name not in but.split():
            scope[name] = _naming(function, layers.get(name, name))


def _naming(function: Callable[..., Any], layer: str) -> Callable[..., Any]:
    if getattr(function, "names_itself", False):
        return function
    parameters = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not is_static() or recorder.is_in_layer:
            return function(*args, **kwargs)
        given = dict(zip(parameters, args, strict=False)) | kwargs
        name = given.get("name") or ""
        with recorder.in_fluid():
            if ":" not in layer:
                with recorder.in_layer(name or unique_name.generate(layer)):
                    return function(*args, **kwargs)
            has_act = given.get("act") is not None
            return recorder.as_layer(layer, name, has_act, lambda: function(*args, **kwargs))

    return call


def make(row: Row, module: str) -> Callable[..., Any]:
    """The function of a row."""
    home, _, name = row.target.rpartition(".")
    target = getattr(importlib.import_module(f"argosy.{home}"), name)
    if home.startswith("static.nn"):
        target = anywhere(target)
    lines, result = [], f"_target({row.arguments})"
    for word in row.besides:
        if word == "recorded":
            lines.append("_records()")
        elif word == "as [1]":
            result = f"_at_least_1d({result})"
        elif word == "then act":
            result = f"_activate({result}, act)"
        else:
            out = word.removeprefix("into ")
            result = f"_filled({result}, {out})"
    body = "\n    ".join([*lines, f"return {result}"])
    scope = {
        "__name__": module,
        "_target": target,
        "_records": records,
        "_at_least_1d": at_least_1d,
        "_activate": activate,
        "_filled": filled,
    }
    exec(f"def {row.name}({row.parameters}):\n    {body}", scope)
    function: Callable[..., Any] = scope[row.name]
    besides = "".join(f", {word}" for word in row.besides)
    summary = (target.__doc__ or "").strip().partition("\n\n")[0]
    function.names_itself = home.startswith("static")  # type: ignore[attr-defined]
    function.__doc__ = f"{summary}\n\n``paddle.{row.target}({row.arguments})``{besides}."
    return function


def at_least_1d(x: Any) -> Any:
    """A single number as shape [1], which is the least that 1.x has."""
    return reshape(x, [1]) if x.ndim == 0 else x


def filled(result: Any, out: Any) -> Any:
    """``result``, or ``out`` filled with it if given."""
    return result if out is None else assign(result, out)


def constructor(signature: str, **fixed: Any) -> Callable[[type[Class]], type[Class]]:
    """Give an optimizer a constructor with the arguments of 1.x, which its ``_begin`` is given by
    their names, together with ``fixed``.
    """

    def decorate(cls: type[Class]) -> type[Class]:
        names = [part.partition("=")[0].strip() for part in signature.split(",")]
        given = ", ".join(f"{name}={name}" for name in names)
        scope: dict[str, Any] = {"__name__": cls.__module__, "_fixed": fixed}
        exec(f"def __init__(self, {signature}):\n    self._begin({given}, **_fixed)", scope)
        scope["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
        cls.__init__ = scope["__init__"]  # type: ignore[method-assign]
        return cls

    return decorate
