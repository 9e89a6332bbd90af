"""``paddle.hapi.static_flops``: floating-point operations of a program, and the table that both
kinds of ``flops`` print.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from argosy.foundation.errors import BadArgument, UsageError
from argosy.static import Program, Variable

__all__: list[str] = []


class VarWrapper:
    """A variable of a program, as counting functions see it."""

    def __init__(self, var: Variable, graph: GraphWrapper) -> None:
        if not isinstance(var, Variable) or not isinstance(graph, GraphWrapper):
            raise BadArgument("VarWrapper: expected a Variable and a GraphWrapper")
        self._var = var
        self._graph = graph

    def name(self) -> str:
        return self._var.name

    def shape(self) -> list[int]:
        return list(self._var.shape)


class OpWrapper:
    """An operator of a program, by Paddle's words for its inputs and outputs."""

    def __init__(self, op: Any, graph: GraphWrapper) -> None:
        if not isinstance(graph, GraphWrapper):
            raise BadArgument("OpWrapper: expected an operator and a GraphWrapper")
        self._op = op
        self._graph = graph

    def type(self) -> str:
        return str(self._op.type)

    def inputs(self, name: str) -> list[Any]:
        """The variables in an input slot; empty if there is no such slot."""
        known = name in self._op.input_names
        return [self._graph.var(v) for v in self._op.input(name)] if known else []

    def outputs(self, name: str) -> list[Any]:
        """The variables in an output slot."""
        return [self._graph.var(v) for v in self._op.output(name)]


class GraphWrapper:
    """A program with names for some of its variables."""

    def __init__(self, program: Program | None = None, in_nodes: Any = (), out_nodes: Any = ()):
        self.program = Program() if program is None else program
        self.persistables = {v.name: v for v in self.program.list_vars() if v.persistable}
        self.in_nodes = OrderedDict(in_nodes or ())
        self.out_nodes = OrderedDict(out_nodes or ())

    def ops(self) -> list[OpWrapper]:
        """The operators of all blocks."""
        return [OpWrapper(op, self) for block in self.program.blocks for op in block.ops]

    def var(self, name: str) -> VarWrapper | None:
        """The variable of a name, None if there is none."""
        for block in self.program.blocks:
            if block.has_var(name):
                return VarWrapper(block.var(name), self)
        return None


def _size(shape: Any) -> int:
    return int(abs(np.prod(shape)))


def count_convNd(op: OpWrapper) -> int:
    per_number = _size(op.inputs("Filter")[0].shape()[1:]) + bool(op.inputs("Bias"))
    return _size(op.outputs("Output")[0].shape()[1:]) * per_number


def count_leaky_relu(op: OpWrapper) -> int:
    return _size(op.outputs("Output")[0].shape()[1:])


def count_bn(op: OpWrapper) -> int:
    return 2 * _size(op.outputs("Y")[0].shape()[1:])


def count_linear(op: OpWrapper) -> int:
    return int(abs(op.inputs("Y")[0].shape()[0])) * _size(op.outputs("Out")[0].shape()[1:])


def count_pool2d(op: OpWrapper) -> int:
    given, out = op.inputs("X")[0].shape(), op.outputs("Out")[0].shape()
    window = _size(np.array(given[2:]) // np.array(out[2:]))
    return (window + 1) * _size(out[1:])


def count_element_op(op: OpWrapper) -> int:
    return _size(op.inputs("X")[0].shape()[1:])


# by type: the count, and the slot of the parameter to name
_COUNTS: dict[str, tuple[Any, str | None]] = {
    "conv2d": (count_convNd, "Filter"),
    "depthwise_conv2d": (count_convNd, "Filter"),
    "pool2d": (count_pool2d, None),
    "mul": (count_linear, "Y"),
    "matmul": (count_linear, "Y"),
    "batch_norm": (count_bn, None),
}


def static_flops(program: Program, print_detail: bool = False) -> int:
    """The floating-point operations of a program's convolutions, products, pools, normalisations
    and elementwise operators.
    """
    table, total = Table(["OP Type", "Param name", "Flops"]), 0
    for op in GraphWrapper(program).ops():
        count, slot = _COUNTS.get(op.type(), (None, None))
        if count is None and op.type().startswith("element"):
            count = count_element_op
        num = count(op) if count is not None else 0
        total += num
        if num:
            table.add_row([op.type(), op.inputs(slot)[0].name() if slot else "", num])
    if print_detail:
        table.print_table()
    return total


class Table:
    """Rows under heads, in a frame of text.

    Example:
        >>> table = paddle.hapi.static_flops.Table(["a", "b"])
        >>> table.add_row([1, "two"])
        >>> table.print_table()
        +---+-----+
        | a |  b  |
        +---+-----+
        | 1 | two |
        +---+-----+
    """

    def __init__(self, table_heads: list[str]) -> None:
        self.table_heads = table_heads
        self.table_len = [len(head) for head in table_heads]
        self.col_num = len(table_heads)
        self.data: list[list[Any]] = []

    def add_row(self, row_str: list[Any]) -> None:
        if not isinstance(row_str, list) or len(row_str) != self.col_num:
            raise UsageError(
                f"Table.add_row: expected a list of {self.col_num} cells, for {self.table_heads}, "
                f"but received {row_str!r}"
            )
        self.table_len = [
            max(n, len(str(cell))) for n, cell in zip(self.table_len, row_str, strict=True)
        ]
        self.data.append(row_str)

    def print_row(self, row: list[Any]) -> None:
        cells = (str(cell).center(n + 2) for cell, n in zip(row, self.table_len, strict=True))
        print(f"|{'|'.join(cells)}|")

    def print_shelf(self) -> None:
        print("+" + "".join("-" * (n + 2) + "+" for n in self.table_len))

    def print_table(self) -> None:
        self.print_shelf()
        self.print_row(self.table_heads)
        self.print_shelf()
        for row in self.data:
            self.print_row(row)
        self.print_shelf()
