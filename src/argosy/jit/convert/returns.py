"""``return`` inside of branches and loops becomes the assignment of a value and of a mark.

    if a:                     if a:
        return x                  value = x; mark = True
    y = f(x)          ->      else:
    return y                      y = f(x)
                                  value = y; mark = True
                              return value

Where one branch always returns, what follows moves into the other, so that both give a value. In
loops, and where a branch returns only sometimes, what follows waits for the mark.
"""

from __future__ import annotations

import ast

from argosy.jit.convert import source
from argosy.jit.convert.scope import LOOPS, has_own

VALUE, MARK = "_jst_value", "_jst_returned"


def without_inner_returns(tree: ast.FunctionDef) -> None:
    """Leave at most one ``return``, at the end."""
    if not any(isinstance(s, (ast.If, *LOOPS)) and _returns(s) for s in _walked(tree.body)):
        return
    body = _marked(_in_tail_form(tree.body), is_in_loop=False)
    last = source.helper("returned", source.lazily(source.load(VALUE)))
    tree.body = [
        *source.at(tree, [source.assigned(MARK, ast.Constant(False))]),
        *body,
        *source.at(body[-1], [ast.Return(last)]),
    ]


def _walked(statements: list[ast.stmt]) -> list[ast.stmt]:
    """Statements, with those inside of ``with`` and ``try``."""
    found = []
    for statement in statements:
        found.append(statement)
        for block in _blocks(statement):
            found += _walked(block)
    return found


def _blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    """The suites of a statement that belong to the same function."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return []
    fields = [getattr(statement, name, None) for name in ("body", "orelse", "finalbody")]
    handlers = [h.body for h in getattr(statement, "handlers", [])]
    cases = [case.body for case in getattr(statement, "cases", [])]
    return [block for block in [*fields, *handlers, *cases] if isinstance(block, list) and block]


def _returns(statement: ast.stmt) -> bool:
    return has_own([statement], (ast.Return,))


def _ends(statements: list[ast.stmt]) -> bool:
    """Whether statements always return or raise."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, (ast.Return, ast.Raise)):
        return True
    if isinstance(last, ast.If):
        return _ends(last.body) and _ends(last.orelse)
    return isinstance(last, ast.With) and _ends(last.body)


def _in_tail_form(statements: list[ast.stmt]) -> list[ast.stmt]:
    """Move what follows a branch that always returns into the other branch."""
    for i, statement in enumerate(statements):
        rest = statements[i + 1 :]
        if not isinstance(statement, ast.If) or not _returns(statement):
            continue
        statement.body = _in_tail_form(statement.body)
        statement.orelse = _in_tail_form(statement.orelse)
        if rest and _ends(statement.body):
            statement.orelse = _in_tail_form([*statement.orelse, *rest])
            return statements[: i + 1]
        if rest and _ends(statement.orelse):
            statement.body = _in_tail_form([*statement.body, *rest])
            return statements[: i + 1]
    return statements


def _marked(statements: list[ast.stmt], is_in_loop: bool) -> list[ast.stmt]:
    """Statements whose returns assign, followed by what waits for the mark."""
    out: list[ast.stmt] = []
    for i, statement in enumerate(statements):
        if isinstance(statement, ast.Return):
            value = statement.value or ast.Constant(None)
            made: list[ast.stmt] = [
                source.assigned(VALUE, value),
                source.assigned(MARK, ast.Constant(True)),
            ]
            if is_in_loop:
                made.append(ast.Break())
            return [*out, *source.at(statement, made)]
        if not _returns(statement) or isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            out.append(statement)
            continue
        _mark_inside(statement, is_in_loop)
        out.append(statement)
        rest = _marked(statements[i + 1 :], is_in_loop)
        returned = source.load(MARK)
        if isinstance(statement, LOOPS) and is_in_loop:
            leave = ast.If(returned, [ast.Break()], [])
            return [*out, *source.at(statement, [leave]), *rest]
        if rest:
            waits = ast.If(source.helper("not_", returned), rest, [])
            out += source.at(statement, [waits])
        return out
    return out


def _mark_inside(statement: ast.stmt, is_in_loop: bool) -> None:
    inside = is_in_loop or isinstance(statement, LOOPS)
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if isinstance(block, list) and block:
            # the ``else`` of a loop is not inside of it
            is_body = name == "body" or not isinstance(statement, LOOPS)
            setattr(statement, name, _marked(block, inside if is_body else is_in_loop))
    for part in [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]:
        part.body = _marked(part.body, is_in_loop)
