"""Beam search of 1.x, whose beams are sequences of sequences: of sources over prefixes, and of
prefixes over what continues them.
"""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import DtypeError
from argosy.static.ir.variable import Variable
from argosy.static.record.arrays import ArrayVariable, record_backtrace
from argosy.static.record.ranks import best_beams


def beam_search(
    pre_ids: Any,
    pre_scores: Any,
    ids: Any,
    scores: Any,
    beam_size: int,
    end_id: int,
    level: int = 0,
    is_accumulated: bool = True,
    name: str | None = None,
    return_parent_idx: bool = False,
) -> Any:
    """The best ``beam_size`` ids that continue the prefixes of each source, with their scores,
    sequences of two levels; with ``return_parent_idx`` also the prefix that each continues.

    ``scores`` are sums over the sequence if ``is_accumulated``, else probabilities of this step.
    """
    given = {"pre_ids": pre_ids, "pre_scores": pre_scores, "scores": scores}
    if ids is not None:
        given["ids"] = ids
    for argument, value in given.items():
        if not isinstance(value, Variable):
            raise DtypeError(
                f"beam_search: {argument} must be a Variable, but received {type(value).__name__}"
            )
        is_float = value.raw.is_floating_point()
        if is_float is argument.endswith("ids"):
            raise DtypeError(f"beam_search: {argument} cannot be {value.dtype}")
    options = int(level), int(beam_size), int(end_id), bool(is_accumulated)
    chosen, totals, parents = best_beams(pre_ids, pre_scores, ids, scores, *options)
    return (chosen, totals, parents) if return_parent_idx else (chosen, totals)


def beam_search_decode(
    ids: Any, scores: Any, beam_size: int, end_id: int, name: str | None = None
) -> tuple[Any, Any]:
    """The full sequences of each source, best first, and their scores, of the arrays of what each
    step of a beam search chose.
    """
    for argument, value in (("ids", ids), ("scores", scores)):
        if not isinstance(value, ArrayVariable):
            raise DtypeError(
                f"beam_search_decode: {argument} must be an array of tensors, but received "
                f"{type(value).__name__}"
            )
    return record_backtrace(ids, scores, int(beam_size), int(end_id))
