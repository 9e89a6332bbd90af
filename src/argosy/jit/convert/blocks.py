"""``if``, ``while`` and ``for`` become functions that are handed to a helper.

    if a:                     def then(): nonlocal x; x = f(x)
        x = f(x)      ->      def otherwise(): nonlocal x; x = g(x)
    else:                     _jst.if_(a, then, otherwise, ("x",), ("x",), ...)
        x = g(x)

The helper calls one of them, or records both. What they bind lives in the cells that they share
with the function around them: the helper finds the cells in their closures, by the names it is
given, and an empty cell is a name that is not bound. Names whose values nothing reads afterwards
are not in the second list, so what is recorded need not agree on them.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from argosy.jit.convert import source
from argosy.jit.convert.jumps import STOP
from argosy.jit.convert.scope import (
    LOOPS,
    attributes_in,
    bound_in,
    exposed_in,
    grown_in,
    own_nodes,
    read_in,
    surely_bound,
)

_ITEM = "_jst_item"
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def with_functions(tree: ast.FunctionDef) -> None:
    """Turn the branches and loops of a function, and of functions inside of it, into functions."""
    Blocks(tree).convert()


class Blocks:
    """Converts the statements of one function."""

    def __init__(self, tree: ast.FunctionDef, numbers: Iterator[int] | None = None) -> None:
        self._tree = tree
        self._numbers = itertools.count() if numbers is None else numbers
        declared = [n for n in own_nodes(tree.body) if isinstance(n, (ast.Global, ast.Nonlocal))]
        self._globals = {x for n in declared if isinstance(n, ast.Global) for x in n.names}
        self._outer = {x for n in declared if isinstance(n, ast.Nonlocal) for x in n.names}
        arguments = {arg.arg for arg in ast.walk(tree.args) if isinstance(arg, ast.arg)}
        self._parameters = arguments
        self._local = (arguments | bound_in(tree.body)) - self._globals
        self._shared: set[str] = set()  # names that some of the new functions bind

    def convert(self) -> None:
        tree = self._tree
        tree.body = self._suite(tree.body, set())
        local = sorted(self._shared - self._parameters - self._globals - self._outer)
        # ``x: None`` makes a name the function's own, and does nothing
        declared = [
            ast.AnnAssign(source.store(name), ast.Constant(None), None, 1) for name in local
        ]
        skipped = 1 if ast.get_docstring(tree) is not None else 0
        while skipped < len(tree.body) and isinstance(
            tree.body[skipped], (ast.Global, ast.Nonlocal)
        ):
            skipped += 1
        tree.body[skipped:skipped] = source.at(tree, declared)

    def _suite(self, statements: Sequence[ast.stmt], live: set[str]) -> list[ast.stmt]:
        """Convert statements, after which the names ``live`` may be read."""
        out: list[ast.stmt] = []
        for statement in reversed(statements):
            before = (live - surely_bound(statement)) | read_in([statement])
            out[:0] = self._statement(statement, live)
            live = before
        return out

    def _statement(self, statement: ast.stmt, live: set[str]) -> list[ast.stmt]:
        if isinstance(statement, ast.If):
            return self._if(statement, live)
        if isinstance(statement, ast.While):
            return self._while(statement, live)
        if isinstance(statement, ast.For):
            return self._for(statement, live)
        if isinstance(statement, ast.FunctionDef):
            Blocks(statement, self._numbers).convert()
            return [statement]
        if isinstance(statement, _SCOPES):
            return [statement]
        inside = live | read_in([statement])
        for name in ("body", "orelse", "finalbody"):
            block = getattr(statement, name, None)
            if isinstance(block, list):
                setattr(statement, name, self._suite(block, inside))
        for part in [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]:
            part.body = self._suite(part.body, inside)
        return [statement]

    def _if(self, node: ast.If, live: set[str]) -> list[ast.stmt]:
        if _jumps_out([node]):
            return self._left_alone(node, live)
        inner = [*node.body, *node.orelse]
        grown = grown_in(inner) & self._local
        bound, attributes = bound_in(inner) | grown, attributes_in(inner)
        carried = sorted(bound & (live | self._outer | self._globals | grown))
        number = next(self._numbers)
        then, otherwise = f"_jst_then_{number}", f"_jst_else_{number}"
        functions = [
            self._function(name, [], self._suite(block, live), bound)
            for name, block in ((then, node.body), (otherwise, node.orelse))
        ]
        call = source.helper(
            "if_",
            node.test,
            source.load(then),
            source.load(otherwise),
            source.strings(sorted(bound)),
            source.strings(carried),
            _attribute_list(attributes),
            source.strings(sorted(grown)),
        )
        return source.at(node, [*functions, ast.Expr(call)])  # type: ignore[no-any-return]

    def _while(self, node: ast.While, live: set[str]) -> list[ast.stmt]:
        if _jumps_out(node.body):
            return self._left_alone(node, live)
        number = next(self._numbers)
        test, body = f"_jst_test_{number}", f"_jst_body_{number}"
        carried, bound, inside = self._carried(node.body, read_in([node.test]), live, [node])
        functions = [
            self._function(test, [], [ast.Return(node.test)], set()),
            self._function(body, [], self._suite(node.body, inside), bound),
        ]
        call = source.helper(
            "while_",
            source.load(test),
            source.load(body),
            source.strings(carried),
            _attribute_list(attributes_in(node.body)),
            source.strings(sorted(grown_in(node.body) & self._local)),
        )
        return source.at(node, [*functions, ast.Expr(call)])  # type: ignore[no-any-return]

    def _for(self, node: ast.For, live: set[str]) -> list[ast.stmt]:
        if _jumps_out(node.body):
            return self._left_alone(node, live)
        number = next(self._numbers)
        name = f"_jst_body_{number}"
        item = f"{_ITEM}_{number}"
        take = ast.copy_location(ast.Assign([node.target], source.load(item)), node)
        stop = getattr(node, STOP, "")
        body: list[ast.stmt] = [source.at(node, take), *node.body]
        carried, bound, inside = self._carried(body, {stop} if stop else set(), live, [node])
        function = self._function(name, [item], self._suite(body, inside), bound)
        stopped = source.lazily(source.load(stop)) if stop else ast.Constant(None)
        call = source.helper(
            "for_",
            node.iter,
            source.load(name),
            source.strings(carried),
            _attribute_list(attributes_in(node.body)),
            source.strings(sorted(grown_in(node.body) & self._local)),
            stopped,
        )
        return source.at(node, [function, ast.Expr(call)])  # type: ignore[no-any-return]

    def _carried(
        self, body: list[ast.stmt], tested: set[str], live: set[str], loop: list[ast.stmt]
    ) -> tuple[list[str], set[str], set[str]]:
        """What a loop hands from turn to turn or leaves behind, what it binds at all, and what may
        be read after a turn.
        """
        grown = grown_in(body) & self._local
        bound = bound_in(body) | grown
        wanted = live | exposed_in(body) | tested | self._outer | self._globals | grown
        inside = live | read_in(loop) | tested
        return sorted(bound & wanted), bound, inside

    def _left_alone(self, node: ast.If | ast.While | ast.For, live: set[str]) -> list[ast.stmt]:
        inside = live | read_in([node])
        node.body = self._suite(node.body, inside)
        node.orelse = self._suite(node.orelse, inside)
        return [node]

    def _function(
        self, name: str, params: list[str], body: list[ast.stmt], bound: set[str]
    ) -> ast.FunctionDef:
        self._shared |= bound
        shared, outer = sorted(bound - self._globals), sorted(bound & self._globals)
        head: list[ast.stmt] = []
        if shared:
            head.append(ast.Nonlocal(shared))
        if outer:
            head.append(ast.Global(outer))
        return source.function_of(name, params, [*head, *body])


def _attribute_list(paths: Sequence[tuple[str, ...]]) -> ast.expr:
    """The attributes that a block binds, each as its holder, lazily, and its name."""
    items: list[ast.expr] = []
    for *holder, name in paths:
        value: ast.expr = source.load(holder[0])
        for part in holder[1:]:
            value = ast.Attribute(value, part, ast.Load())
        items.append(ast.Tuple([source.lazily(value), ast.Constant(name)], ast.Load()))
    return ast.Tuple(items, ast.Load())


def _jumps_out(statements: Sequence[ast.stmt]) -> bool:
    """Whether a statement that cannot move into a function is left among statements."""
    kinds = (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Await)
    waiting: list[tuple[ast.AST, bool]] = [(statement, False) for statement in statements]
    while waiting:
        node, in_loop = waiting.pop()
        if isinstance(node, (*_SCOPES, ast.Lambda)):
            continue
        if isinstance(node, kinds) and not (in_loop and isinstance(node, kinds[1:3])):
            return True
        inside = in_loop or isinstance(node, LOOPS)
        waiting.extend((child, inside) for child in ast.iter_child_nodes(node))
    return False
