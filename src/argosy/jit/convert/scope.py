"""What statements do with the names of their function: which they bind, which they read."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LOOPS = (ast.While, ast.For)


def own_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of one scope: of functions and classes in it only themselves."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        waiting.extend(ast.iter_child_nodes(node))


def bound_in(statements: Sequence[ast.AST]) -> set[str]:
    """The names that statements bind in their function."""
    found: set[str] = set()
    for node in own_nodes(statements):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
        elif (isinstance(node, ast.ExceptHandler) and node.name) or (
            isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name
        ):
            found.add(node.name)
    return found - _comprehension_names(statements)


def _comprehension_names(statements: Sequence[ast.AST]) -> set[str]:
    """What only comprehensions bind, in scopes of their own."""
    inner: set[str] = set()
    for node in own_nodes(statements):
        if isinstance(node, _COMPREHENSIONS):
            targets = [n for g in node.generators for n in ast.walk(g.target)]
            inner |= {n.id for n in targets if isinstance(n, ast.Name)}
    if not inner:
        return inner
    outside = {
        node.id
        for node in _without_comprehensions(statements)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }
    return inner - outside


def _without_comprehensions(statements: Sequence[ast.AST]) -> Iterator[ast.AST]:
    waiting = list(statements)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef, *_COMPREHENSIONS)):
            continue
        yield node
        waiting.extend(ast.iter_child_nodes(node))


def read_in(statements: Sequence[ast.AST]) -> set[str]:
    """The names that statements read, functions in them too."""
    found: set[str] = set()
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
                found.add(node.id)
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                found.add(node.target.id)
            elif isinstance(node, (ast.Nonlocal, ast.Global)):
                found |= set(node.names)
    return found


def exposed_in(statements: Sequence[ast.stmt]) -> set[str]:
    """The names that statements may read before they bind them."""
    found: set[str] = set()
    done: set[str] = set()
    for statement in statements:
        found |= read_in([statement]) - done
        done |= surely_bound(statement)
    return found


def surely_bound(statement: ast.stmt) -> set[str]:
    """The names that a statement binds whenever it ends without an error."""
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if isinstance(statement, ast.AnnAssign) and statement.value is None:
            return set()
        return {
            node.id
            for target in targets
            for node in ast.walk(target)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
    if isinstance(statement, ast.If):
        branches = [statement.body, statement.orelse]
        ends = [set().union(*map(surely_bound, branch)) for branch in branches]
        return ends[0] & ends[1]
    if isinstance(statement, ast.With):
        return set().union(*map(surely_bound, statement.body))
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    return set()


def attributes_in(statements: Sequence[ast.AST]) -> list[tuple[str, ...]]:
    """The attributes of names that statements bind: ``self.a.b = 1`` gives ('self', 'a', 'b')."""
    found: dict[tuple[str, ...], None] = {}
    for node in own_nodes(statements):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            path = _path(node)
            if path:
                found[path] = None
    return list(found)


def _path(node: ast.expr) -> tuple[str, ...]:
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        inner = _path(node.value)
        return (*inner, node.attr) if inner else ()
    return ()


def grown_in(statements: Sequence[ast.AST]) -> set[str]:
    """The names on which statements call ``append`` or ``pop``: if they are lists, they change."""
    found: set[str] = set()
    for node in own_nodes(statements):
        if (
            isinstance(node, ast.Attribute)
            and node.attr in ("append", "pop")
            and isinstance(node.value, ast.Name)
        ):
            found.add(node.value.id)
    return found


def has_own(statements: Sequence[ast.AST], kinds: tuple[type, ...]) -> bool:
    return any(isinstance(node, kinds) for node in own_nodes(statements))
