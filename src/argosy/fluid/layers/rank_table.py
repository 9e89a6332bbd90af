"""Sequences by rank, longest first, and the arrays of their steps: what ``DynamicRNN`` and
``IfElse`` are made of, and scripts that write such loops themselves.
"""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import DtypeError, UsageError
from argosy.static.ir.variable import Variable
from argosy.static.record import arrays, ranks


def lod_rank_table(x: Any, level: int = 0) -> Any:
    """The sequences of ``x`` on ``level`` by length, longest first."""
    [x] = x if isinstance(x, (list, tuple)) and len(x) == 1 else [x]
    return ranks.rank_table(_require("lod_rank_table", "x", x), level)


def max_sequence_len(rank_table: Any) -> Any:
    """The length of the longest sequence."""
    return ranks.longest(_require("max_sequence_len", "rank_table", rank_table))


def lod_tensor_to_array(x: Any, table: Any) -> Any:
    """An array with what the sequences of ``x`` have in each step, longest first."""
    call = "lod_tensor_to_array"
    variables = []
    for item in x if isinstance(x, (list, tuple)) else [x]:
        variables.append(_require(call, "x", item))
    [variable] = variables
    return ranks.steps(variable, _require(call, "table", table))


def array_to_lod_tensor(x: Any, table: Any) -> Any:
    """The sequences whose steps the array ``x`` has, in the order from before ``table``."""
    if isinstance(x, (list, tuple)):
        for item in x:
            _require("array_to_lod_tensor", "x", item)
        [x] = x
    _require("array_to_lod_tensor", "x", x)
    return arrays.record_sequences(x, _require("array_to_lod_tensor", "table", table))


def shrink_memory(x: Any, i: Any, table: Any) -> Any:
    """Those rows, or sequences, of ``x`` whose sequences of ``table`` have a step ``i``."""
    for argument, value in (("x", x), ("i", i), ("table", table)):
        _require("shrink_memory", argument, value)
    return ranks.shrunk(x, i, table)


def reorder_lod_tensor_by_rank(x: Any, rank_table: Any) -> Any:
    """The rows, or sequences, of ``x`` in the order of ``rank_table``."""
    call = "reorder_lod_tensor_by_rank"
    variable = _require(call, "x", x)
    table = _require(call, "rank_table", rank_table)
    if table.type != ranks.RANK_TABLE:
        raise DtypeError(f"{call}: rank_table must be made by lod_rank_table, not {table!r}")
    return ranks.reordered(variable, table)


def split_lod_tensor(input: Any, mask: Any, level: int = 0) -> tuple[Any, Any]:
    """The rows of ``input``, or its sequences on ``level``, whose ``mask`` is true, and the
    others.
    """
    for argument, value in (("input", input), ("mask", mask)):
        _require("split_lod_tensor", argument, value)
    return ranks.divided(input, mask, level)


def merge_lod_tensor(in_true: Any, in_false: Any, x: Any, mask: Any, level: int = 0) -> Any:
    """What ``split_lod_tensor`` of ``x`` divided, in its old order."""
    given = {"in_true": in_true, "in_false": in_false, "x": x, "mask": mask}
    for argument, value in given.items():
        if value is None:
            raise UsageError(f"merge_lod_tensor: {argument} must not be None")
        _require("merge_lod_tensor", argument, value)
    return ranks.merged(in_true, in_false, mask)


def _require(call: str, argument: str, value: Any) -> Any:
    if not isinstance(value, Variable):
        raise DtypeError(
            f"{call}: {argument} must be a Variable, but received {type(value).__name__}"
        )
    return value
