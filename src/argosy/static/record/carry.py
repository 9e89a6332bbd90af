"""Which sequences the rows of a result belong to.

One rule for all ops: a result with as many rows as the first variable that the op takes has the
same sequences as that variable. That is what Paddle does for nearly all ops. The exceptions are ops
that put other rows in those places, and those for which Paddle has another rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from argosy.ops.table import Op
from argosy.static.ir.operator import leaves
from argosy.static.ir.variable import Variable

# Row i of the result is not made of row i of the first input, though there may be as many.
_OTHER_ROWS = frozenset(
    [
        "accuracy",
        "einsum",
        "flip",
        "gather",
        "gather_nd",
        "index_select",
        "masked_select",
        "matrix_transpose",
        "moveaxis",
        "multiplex",
        "nonzero",
        "outer",
        "repeat_interleave",
        "reverse_axes",
        "roll",
        "rot90",
        "searchsorted",
        "swapaxes",
        "t",
        "take",
        "take_along_axis",
        "tensordot",
        "transpose",
        "unique",
        "unique_consecutive",
    ]
)

# Paddle drops the sequences of these: their results can be fetched as arrays.
_DROPPING = frozenset(("argmax", "argmin", "shape"))


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
    if op.name == "getitem":
        return num_inputs == 1  # not with an index of its own
    # What ops on sequences return is for their face to say.
    return (
        op.name not in _OTHER_ROWS
        and op.name not in _DROPPING
        and not op.name.startswith(("sequence_", "lod_", "dynamic_"))
    )


def _has_rows_of(result: Variable, source: Variable) -> bool:
    def rows(variable: Variable) -> tuple[int, ...]:
        first, second = variable.raw, variable.raw if variable.alt is None else variable.alt
        return (first.shape[0], second.shape[0]) if first.dim() else ()

    return rows(result) == rows(source) != ()
