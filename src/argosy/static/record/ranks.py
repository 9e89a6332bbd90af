"""Sequences by rank, longest first, rows that a mask divides, and beams, recorded with the offsets
of what they make. The face of 1.x checks arguments first, files of Paddle's have them checked.
"""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import UsageError
from argosy.ops.sequences import beam as beam_ops
from argosy.ops.sequences import rank as ops
from argosy.static.ir.variable import Variable
from argosy.static.record import arrays
from argosy.static.record.levels import lod_variables, possible_levels
from argosy.tensor.engine import apply

RANK_TABLE = "lod_rank_table"  # the type of a variable that is one


def rank_table(x: Variable, level: int) -> Any:
    """The sequences of ``x`` on ``level`` by length, longest first."""
    levels = possible_levels(x)
    if not 0 <= level < len(levels):
        raise UsageError(
            f"lod_rank_table: level={level}, but {x.name!r} has a lod_level of {len(levels)}"
        )
    table = apply(ops.lod_rank_table, levels[level])
    # What has an array's steps put together again is sequences as those that were ranked.
    table.lod_names = tuple(v.name for v in levels[: level + 1])
    table.type = RANK_TABLE
    return table


def longest(table: Variable) -> Any:
    """The length of the longest sequence."""
    return apply(ops.max_sequence_len, table)


def steps(x: Variable, table: Variable) -> Any:
    """An array with what the sequences of ``x`` have in each step, longest first."""
    levels = possible_levels(x)[table.lod_level - 1 :]
    if not levels or not table.lod_level:
        raise UsageError(
            f"lod_tensor_to_array: the table has sequences of level {table.lod_level - 1}, but "
            f"{x.name!r} has a lod_level of {x.lod_level}"
        )
    return arrays.record_steps(x, levels, table)


def shrunk(x: Variable, index: Variable, table: Variable) -> Any:
    """Those rows, or sequences, of ``x`` whose sequences of ``table`` have a step ``index``."""
    return with_levels(*apply(ops.shrink_rnn_memory, x, possible_levels(x), index, table))


def reordered(x: Variable, table: Variable) -> Any:
    """The rows, or sequences, of ``x`` in the order of ``table``."""
    return with_levels(*apply(ops.reorder_lod_tensor_by_rank, x, possible_levels(x), table))


def divided(x: Variable, mask: Variable, level: int) -> tuple[Any, Any]:
    """The rows of ``x``, or its sequences on ``level``, whose ``mask`` is true, and the others."""
    levels = possible_levels(x)[level:]
    out, other, lod, other_lod = apply(ops.split_lod_tensor, x, levels, mask)
    return with_levels(out, lod), with_levels(other, other_lod)


def merged(in_true: Variable, in_false: Variable, mask: Variable) -> Any:
    """What ``divided`` made two parts of, in its old order."""
    levels = [possible_levels(part) for part in (in_true, in_false)]
    if len(levels[0]) != len(levels[1]):
        raise UsageError(
            f"merge_lod_tensor: {in_true.name!r} has a lod_level of {len(levels[0])}, "
            f"{in_false.name!r} of {len(levels[1])}"
        )
    return with_levels(*apply(ops.merge_lod_tensor, in_true, in_false, *levels, mask))


def best_beams(
    pre_ids: Variable,
    pre_scores: Variable,
    ids: Variable | None,
    scores: Variable,
    level: int,
    beam_size: int,
    end_id: int,
    is_accumulated: bool,
) -> tuple[Any, Any, Any]:
    """The ids that continue the prefixes of each source best, their scores, and the prefix that
    each continues; the first two are sequences of two levels.
    """
    levels = lod_variables(scores)[level:]
    if not levels:
        raise UsageError(
            f"beam_search: scores must have a lod_level above {level}, but {scores.name!r} has "
            f"{scores.lod_level}"
        )
    sources = apply(ops.absolute_offsets, levels)
    chosen, totals, parents, offsets = apply(
        beam_ops.beam_search, pre_ids, pre_scores, ids, scores, sources, beam_size, end_id,
        is_accumulated,
    )  # fmt: skip
    chosen.lod_names = totals.lod_names = (sources.name, offsets.name)
    return chosen, totals, parents


def with_levels(out: Any, levels: list[Any]) -> Any:
    """``out`` as sequences at the offsets ``levels``."""
    out.lod_names = tuple(v.name for v in levels)
    return out
