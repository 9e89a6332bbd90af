"""Conversion of a function, once per code object."""

from __future__ import annotations

import ast
import inspect
import types
from typing import Any

from argosy.jit.convert import source
from argosy.jit.convert.blocks import with_functions
from argosy.jit.convert.expressions import with_converted_expressions
from argosy.jit.convert.jumps import without_jumps
from argosy.jit.convert.returns import without_inner_returns

_GENERATOR_FLAGS = (
    inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
    | inspect.CO_ITERABLE_COROUTINE
)


class Converter:
    """Converts functions and remembers what came out.

    ``helpers`` is what converted code calls, ``_jst`` in its text.
    """

    def __init__(self, helpers: Any) -> None:
        self._helpers = helpers
        self._trees: dict[types.CodeType, ast.FunctionDef] = {}
        # by the code and the cells: one definition makes a function per call of what is around it
        self._functions: dict[tuple[Any, ...], tuple[Any, types.FunctionType]] = {}
        self.codes: set[types.CodeType] = set()  # what was generated

    def converted(self, function: types.FunctionType) -> types.FunctionType:
        """``function`` with its control flow converted; a generator, and what was converted
        before, is returned as it is.
        """
        code = function.__code__
        if code in self.codes or code.co_flags & _GENERATOR_FLAGS or code.co_name == "<lambda>":
            return function
        key = (code, *map(id, function.__closure__ or ()), id(function.__defaults__))
        known = self._functions.get(key)
        if known is not None:
            return known[1]
        made, codes = source.compiled(function, self.tree(function), self._helpers)
        self.codes |= codes
        self._functions[key] = (function, made)  # kept alive, so that the ids stay its own
        return made

    def forget(self) -> None:
        """Convert every function anew; what was generated is still known as such."""
        self._trees.clear()
        self._functions.clear()

    def tree(self, function: types.FunctionType) -> ast.FunctionDef:
        """The converted definition of ``function``."""
        code = function.__code__
        if code not in self._trees:
            tree = source.tree_of(function)
            for node in [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]:
                without_inner_returns(node)
                without_jumps(node)
            with_converted_expressions(tree)
            with_functions(tree)
            self._trees[code] = ast.fix_missing_locations(tree)
        return self._trees[code]

    def text(self, function: types.FunctionType) -> str:
        """The converted definition of ``function`` as Python."""
        return ast.unparse(self.tree(function)) + "\n"
