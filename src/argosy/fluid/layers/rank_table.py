"""Sequences by rank, longest first, and the arrays of their steps: what ``DynamicRNN`` and
``IfElse`` are made of, and scripts that write such loops themselves.
"""

from __future__ import annotations

from typing import Any

from argosy.fluid.core import VarDesc
from argosy.foundation.errors import DtypeError, UsageError
from argosy.ops.sequences import rank as ops
from argosy.static.ir.variable import Variable
from argosy.static.nn.sequence_lod import possible_levels
from argosy.static.record import arrays
from argosy.tensor.engine import apply


def lod_rank_table(x: Any, level: int = 0) -> Any:
    """The sequences of ``x`` on ``level`` by length, longest first."""
    [x] = x if isinstance(x, (list, tuple)) and len(x) == 1 else [x]
    variable = _require("lod_rank_table", "x", x)
    levels = possible_levels(variable)
    if not 0 <= level < len(levels):
        raise UsageError(
            f"lod_rank_table: level={level}, but {variable.name!r} has a lod_level of {len(levels)}"
        )
    table = apply(ops.lod_rank_table, levels[level])
    # What has an array's steps put together again is sequences as those that were ranked.
    table.lod_names = tuple(v.name for v in levels[: level + 1])
    table.type = VarDesc.VarType.LOD_RANK_TABLE
    return table


def max_sequence_len(rank_table: Any) -> Any:
    """The length of the longest sequence."""
    return apply(ops.max_sequence_len, _require("max_sequence_len", "rank_table", rank_table))


def lod_tensor_to_array(x: Any, table: Any) -> Any:
    """An array with what the sequences of ``x`` have in each step, longest first."""
    call = "lod_tensor_to_array"
    variables = []
    for item in x if isinstance(x, (list, tuple)) else [x]:
        variables.append(_require(call, "x", item))
    _require(call, "table", table)
    [variable] = variables
    levels = possible_levels(variable)[table.lod_level - 1 :]
    if not levels:
        raise UsageError(
            f"{call}: the table has sequences of level {table.lod_level - 1}, but "
            f"{variable.name!r} has a lod_level of {variable.lod_level}"
        )
    return arrays.record_steps(variable, levels, table)


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
    return _with_levels(*apply(ops.shrink_rnn_memory, x, possible_levels(x), i, table))


def reorder_lod_tensor_by_rank(x: Any, rank_table: Any) -> Any:
    """The rows, or sequences, of ``x`` in the order of ``rank_table``."""
    call = "reorder_lod_tensor_by_rank"
    variable = _require(call, "x", x)
    table = _require(call, "rank_table", rank_table)
    if table.type != VarDesc.VarType.LOD_RANK_TABLE:
        raise DtypeError(f"{call}: rank_table must be made by lod_rank_table, not {table!r}")
    return _with_levels(
        *apply(ops.reorder_lod_tensor_by_rank, variable, possible_levels(variable), table)
    )


def split_lod_tensor(input: Any, mask: Any, level: int = 0) -> tuple[Any, Any]:
    """The rows of ``input``, or its sequences on ``level``, whose ``mask`` is true, and the
    others.
    """
    for argument, value in (("input", input), ("mask", mask)):
        _require("split_lod_tensor", argument, value)
    levels = possible_levels(input)[level:]
    out, other, lod, other_lod = apply(ops.split_lod_tensor, input, levels, mask)
    return _with_levels(out, lod), _with_levels(other, other_lod)


def merge_lod_tensor(in_true: Any, in_false: Any, x: Any, mask: Any, level: int = 0) -> Any:
    """What ``split_lod_tensor`` of ``x`` divided, in its old order."""
    given = {"in_true": in_true, "in_false": in_false, "x": x, "mask": mask}
    for argument, value in given.items():
        if value is None:
            raise UsageError(f"merge_lod_tensor: {argument} must not be None")
        _require("merge_lod_tensor", argument, value)
    levels = [possible_levels(part) for part in (in_true, in_false)]
    return _with_levels(*apply(ops.merge_lod_tensor, in_true, in_false, *levels, mask))


def _with_levels(out: Any, levels: list[Any]) -> Any:
    out.lod_names = tuple(v.name for v in levels)
    return out


def _require(call: str, argument: str, value: Any) -> Any:
    if not isinstance(value, Variable):
        raise DtypeError(
            f"{call}: {argument} must be a Variable, but received {type(value).__name__}"
        )
    return value
