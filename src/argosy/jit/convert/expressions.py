"""Expressions whose meaning depends on whether a value is known: ``and``, ``or``, ``not``, ``a < b
< c``, ``a if b else c``, calls, ``assert``, ``x.shape``.
"""

from __future__ import annotations

import ast
from typing import Any

from argosy.jit.convert import source
from argosy.jit.convert.scope import own_nodes

# What may not move into a function of its own.
_BOUND_HERE = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)


class Expressions(ast.NodeTransformer):
    """Converts the expressions of one function, functions inside of it too."""

    def __init__(self, first_parameter: str) -> None:
        self._first = first_parameter

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        self.generic_visit(node)
        if _is_bound_here(node):
            return node
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return source.at(node, source.helper(name, *map(source.lazily, node.values)))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Not):
            return node
        return source.at(node, source.helper("not_", node.operand))

    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        if len(node.ops) == 1 or _is_bound_here(node):
            return node
        # each operand but the first and the last stands in two comparisons, and is computed once
        names = [ast.Constant(_OPERATORS[type(op)]) for op in node.ops]
        operands = [source.lazily(value) for value in (node.left, *node.comparators)]
        chain = source.helper(
            "chain", ast.List(list(names), ast.Load()), ast.List(list(operands), ast.Load())
        )
        return source.at(node, chain)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        self.generic_visit(node)
        if _is_bound_here(node):
            return node
        chosen = source.helper(
            "choose", node.test, source.lazily(node.body), source.lazily(node.orelse)
        )
        return source.at(node, chosen)

    def visit_Assert(self, node: ast.Assert) -> Any:
        self.generic_visit(node)
        args = [node.test]
        if node.msg is not None and not _is_bound_here(node):
            args.append(source.lazily(node.msg))
        return source.at(node, ast.Expr(source.helper("assert_", *args)))

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        if node.attr != "shape" or not isinstance(node.ctx, ast.Load):
            return node
        return source.at(node, source.helper("shape", node.value))

    def visit_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            if not self._first:
                return node
            node.args = [source.load("__class__"), source.load(self._first)]
            return source.at(node, node)
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "numpy" and not node.args:
            return source.at(node, source.helper("numpy", node.func.value))
        node.func = source.at(node, source.helper("call", node.func))
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        # its decorators and annotations are the script's affair
        node.body = [self.visit(statement) for statement in node.body]
        node.args.defaults = [self.visit(value) for value in node.args.defaults]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is not None:
            node.value = self.visit(node.value)
        node.target = self.visit(node.target)
        return node


_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


def _is_bound_here(node: ast.AST) -> bool:
    return any(isinstance(inner, _BOUND_HERE) for inner in own_nodes([node]))


def with_converted_expressions(tree: ast.FunctionDef) -> None:
    """Convert the expressions of a function."""
    params = [*tree.args.posonlyargs, *tree.args.args]
    converter = Expressions(params[0].arg if params else "")
    tree.body = [converter.visit(statement) for statement in tree.body]
