"""``break`` and ``continue`` become marks, for which the rest of the body and the loop wait.

while a:                  left = False
    if b:                 while not left and a:
        break     ->          if b:
    c()                           left = True
                              if not left:
                                  c()
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from argosy.jit.convert import source
from argosy.jit.convert.scope import LOOPS

STOP = "jst_stop"  # the attribute of a ``for`` that names the mark which ends it


def without_jumps(tree: ast.FunctionDef) -> None:
    """Replace the jumps of all loops of a function."""
    tree.body = _converted(tree.body, itertools.count())


def _converted(statements: list[ast.stmt], numbers: Iterator[int]) -> list[ast.stmt]:
    out: list[ast.stmt] = []
    for statement in statements:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            out.append(statement)
            continue
        for name in ("body", "orelse", "finalbody"):
            block = getattr(statement, name, None)
            if isinstance(block, list):
                setattr(statement, name, _converted(block, numbers))
        for part in [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]:
            part.body = _converted(part.body, numbers)
        out += _loop(statement, numbers) if isinstance(statement, LOOPS) else [statement]
    return out


def _loop(loop: ast.While | ast.For, numbers: Iterator[int]) -> list[ast.stmt]:
    number = next(numbers)
    left, skipped = f"_jst_left_{number}", f"_jst_skipped_{number}"
    marks = [
        mark
        for mark, kind in ((left, ast.Break), (skipped, ast.Continue))
        if _jumps(loop.body, kind)
    ]
    before: list[ast.stmt] = []
    after, loop.orelse = loop.orelse, []
    if marks:
        loop.body = _waiting(loop.body, left, skipped, marks)
    if skipped in marks:
        loop.body.insert(0, source.assigned(skipped, ast.Constant(False)))
        before.append(source.assigned(skipped, ast.Constant(False)))
    if left in marks:
        before.append(source.assigned(left, ast.Constant(False)))
        setattr(loop, STOP, left)
        if isinstance(loop, ast.While):
            goes_on = source.helper("not_", source.load(left))
            loop.test = source.helper("and_", source.lazily(goes_on), source.lazily(loop.test))
        if after:
            after = [ast.If(source.helper("not_", source.load(left)), after, [])]
    return source.at(loop, [*before, loop, *after])  # type: ignore[no-any-return]


def _jumps(statements: list[ast.stmt], kind: type) -> bool:
    """Whether a ``break`` or ``continue`` among statements belongs to the loop around them."""
    for statement in statements:
        if isinstance(statement, kind):
            return True
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, *LOOPS)):
            continue
        blocks = [getattr(statement, name, None) for name in ("body", "orelse", "finalbody")]
        blocks += [h.body for h in getattr(statement, "handlers", [])]
        blocks += [c.body for c in getattr(statement, "cases", [])]
        if any(isinstance(block, list) and _jumps(block, kind) for block in blocks):
            return True
    return False


def _waiting(
    statements: list[ast.stmt], left: str, skipped: str, marks: list[str]
) -> list[ast.stmt]:
    """Statements whose jumps set marks, followed by what waits for these."""
    out: list[ast.stmt] = []
    for i, statement in enumerate(statements):
        if isinstance(statement, (ast.Break, ast.Continue)):
            mark = left if isinstance(statement, ast.Break) else skipped
            return [*out, *source.at(statement, [source.assigned(mark, ast.Constant(True))])]
        out.append(statement)
        if not _jumps([statement], ast.Break) and not _jumps([statement], ast.Continue):
            continue
        for name in ("body", "orelse", "finalbody"):
            block = getattr(statement, name, None)
            if isinstance(block, list):
                setattr(statement, name, _waiting(block, left, skipped, marks))
        for part in [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]:
            part.body = _waiting(part.body, left, skipped, marks)
        rest = _waiting(statements[i + 1 :], left, skipped, marks)
        if rest:
            jumped: ast.expr = source.load(marks[0])
            if len(marks) > 1:
                both = (source.lazily(source.load(mark)) for mark in marks)
                jumped = source.helper("or_", *both)
            out += source.at(statement, [ast.If(source.helper("not_", jumped), rest, [])])
        return out
    return out
