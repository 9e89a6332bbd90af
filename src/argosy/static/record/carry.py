"""Which sequences the rows of a result belong to.

One rule for all ops: a result with as many rows as the first variable that the op takes has the
same sequences as that variable. That is what Paddle does for nearly all ops. The exceptions, which
put other rows in those places or for which Paddle has another rule, say so in the table (``Rows``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from argosy.ops.table import Op
from argosy.ops.traits import Rows
from argosy.static.ir.operator import leaves
from argosy.static.ir.variable import Variable


def carry(op: Op, inputs: Iterable[Variable], out: Any) -> None:
    """Note on the results of ``op`` the sequences of its first input, by the rule above."""
    given = list(inputs)
    source = given[0] if given else None
    if source is None or not source.lod_names or not _keeps_rows(op, len(given)):
        return
    for result in leaves(out):
        if isinstance(result, Variable) and result is not source and _has_rows_of(result, source):
            result.lod_names = source.lod_names


def _keeps_rows(op: Op, num_inputs: int) -> bool:
    rows = op.traits.rows
    return rows is Rows.KEPT or (rows is Rows.KEPT_IF_ALONE and num_inputs == 1)


def _has_rows_of(result: Variable, source: Variable) -> bool:
    def rows(variable: Variable) -> tuple[int, ...]:
        first, second = variable.raw, variable.raw if variable.alt is None else variable.alt
        return (first.shape[0], second.shape[0]) if first.dim() else ()

    return rows(result) == rows(source) != ()
