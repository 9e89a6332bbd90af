"""Operators that take offsets of sequences, written: Paddle's take a tensor that holds them.

Which variables have the offsets is known of a program (``Variable.lod_names``); the first of them
that has a value when the operator runs is written. What makes only offsets is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from argosy.ops.sequences import beam, rank
from argosy.ops.sequences import sequence_shape as shapes
from argosy.ops.table import Op
from argosy.static.files.paddle.call import Desc, NoWords, op_desc
from argosy.static.files.paddle.space import Space
from argosy.static.ir.operator import Operator, names_in
from argosy.static.ir.variable import Variable
from argosy.static.record.arrays import ArrayVariable
from argosy.static.record.ranks import RANK_TABLE


def written(operator: Operator, space: Space) -> list[Desc] | None:
    """The operators for one that has to do with offsets in a way that its words do not say; None if
    it is another.
    """
    made = operator.output_arg_names
    if made and space.offsets.issuperset(made):
        return []
    writer = None if operator.op is None else _WRITERS.get(operator.op)
    return None if writer is None else writer(operator, space)


def _variables_before(operator: Operator) -> Iterator[Variable]:
    """The variables that have a value when ``operator`` runs, the first ones first."""
    chain: list[tuple[Any, Operator | None]] = []
    block: Any = operator.block
    until = operator
    while True:
        chain.append((block, until))
        parent = block.parent
        if parent is None:
            break
        until = next(o for o in parent.ops if block in o.sub_blocks)
        block = parent
    for holder, last in reversed(chain):
        yield from (v for v in holder.vars.values() if v.is_data)
        for earlier in holder.ops:
            if earlier is last:
                break
            for name in earlier.output_arg_names:
                found = holder.find_var_recursive(name)
                if found is not None:
                    yield found


def _holder(operator: Operator, offsets: str) -> tuple[str, int]:
    """The name of a variable with these offsets, and on which level it has them."""
    for variable in _variables_before(operator):
        is_tensor = not isinstance(variable, ArrayVariable) and variable.type != RANK_TABLE
        if is_tensor and offsets in variable.lod_names:
            return variable.name, variable.lod_names.index(offsets)
    raise NoWords(f"nothing before it has the sequences at {offsets!r}")


def _rank_table(operator: Operator, space: Space) -> list[Desc]:
    holder, level = _holder(operator, operator.args[0].name)
    outputs = {"Out": [operator.out.name]}
    return [op_desc("lod_rank_table", {"X": [holder]}, outputs, {"level": level}, about=operator)]


def _expand(operator: Operator, space: Space) -> list[Desc]:
    x, offsets = (ref.name for ref in operator.args[:2])
    holder, level = _holder(operator, offsets)
    inputs, outputs = {"X": [x], "Y": [holder]}, {"Out": [names_in(operator.out)[0]]}
    return [op_desc("sequence_expand", inputs, outputs, {"ref_level": level}, about=operator)]


def _expand_as(operator: Operator, space: Space) -> list[Desc]:
    x, offsets = (ref.name for ref in operator.args[:2])
    holder, level = _holder(operator, offsets)
    if level:
        raise NoWords("Paddle's operator takes the outermost sequences only")
    inputs, outputs = {"X": [x], "Y": [holder]}, {"Out": [operator.out.name]}
    return [op_desc("sequence_expand_as", inputs, outputs, {}, about=operator)]


def _reset(operator: Operator, space: Space) -> list[Desc]:
    x, target = (ref.name for ref in operator.args[:2])
    out = names_in(operator.out)[0]
    inner = operator.block.find_var_recursive(out)
    if target not in space.offsets or inner is None or target not in inner.lod_names:
        raise NoWords("Paddle's operator takes offsets of 32 bits")
    holder, _ = _holder(operator, target)
    inputs = {"X": [x], "Y": [holder]}
    attrs = {"target_lod": [], "append": False}
    return [op_desc("lod_reset", inputs, {"Out": [out]}, attrs, about=operator)]


def _divide(operator: Operator, space: Space) -> list[Desc]:
    x, mask = operator.args[0].name, operator.args[2].name
    given = operator.block.find_var_recursive(x)
    level = 0 if given is None else max(0, given.lod_level - len(names_in(operator.args[1])))
    when_true, when_false = names_in(operator.out)[:2]
    inputs = {"X": [x], "Mask": [mask]}
    outputs = {"OutTrue": [when_true], "OutFalse": [when_false]}
    return [op_desc("split_lod_tensor", inputs, outputs, {"level": level}, about=operator)]


def _merge(operator: Operator, space: Space) -> list[Desc]:
    when_true, when_false, mask = (operator.args[i].name for i in (0, 1, 4))
    inputs = {"InTrue": [when_true], "InFalse": [when_false], "Mask": [mask], "X": [mask]}
    outputs = {"Out": [names_in(operator.out)[0]]}
    return [op_desc("merge_lod_tensor", inputs, outputs, {"level": 0}, about=operator)]


def _beam_search(operator: Operator, space: Space) -> list[Desc]:
    named = operator.named_args
    slots = ("pre_ids", "pre_scores", "ids", "scores")
    inputs = {slot: [named[slot].name] for slot in slots if named[slot] is not None}
    scores = operator.block.find_var_recursive(inputs["scores"][0])
    assert scores is not None  # a program names what it has
    attrs = {
        "level": scores.lod_level - _num_levels(operator, named["sources"].name),
        **{name: named[name] for name in ("beam_size", "end_id", "is_accumulated")},
    }
    outputs = dict(
        zip(("selected_ids", "selected_scores", "parent_idx"), operator.out, strict=False)
    )
    made = {slot: [ref.name] for slot, ref in outputs.items()}
    return [op_desc("beam_search", inputs, made, attrs, about=operator)]


def _num_levels(operator: Operator, sources: str) -> int:
    """Of how many levels the rows were found at which the sources of a beam search begin."""
    maker = next((o for o in operator.block.ops if sources in o.output_arg_names), None)
    if maker is None or maker.op is not rank.absolute_offsets:
        raise NoWords("its sources are no level of the sequences of its scores")
    return len(names_in(maker.args))


_WRITERS: dict[Op, Callable[[Operator, Space], list[Desc]]] = {
    rank.lod_rank_table: _rank_table,
    rank.split_lod_tensor: _divide,
    rank.merge_lod_tensor: _merge,
    shapes.sequence_expand: _expand,
    shapes.sequence_expand_as: _expand_as,
    shapes.lod_reset: _reset,
    beam.beam_search: _beam_search,
}
