"""Branches, loops and arrays written as the operators of Paddle's that do the same.

A ``cond`` becomes a ``conditional_block`` per branch, each with a condition of its own; a branch
assigns its results to variables outside, of which ``select_input`` picks. A ``while`` keeps its
block, at whose end the loop variables are assigned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from argosy.foundation import dtypes
from argosy.static.files.paddle.call import Desc, NoWords, op_desc
from argosy.static.files.paddle.space import Space
from argosy.static.ir.block import Block
from argosy.static.ir.operator import Operator, SubBlock, names_in
from argosy.static.ir.variable import Variable


def written(operator: Operator, space: Space) -> list[Desc]:
    """The operators for one that is no call of the op table."""
    writer = _WRITERS.get(operator.type)
    if writer is None:
        raise NoWords("Paddle has no operator of this type")
    return writer(operator, space)


def assignments(block: Block, space: Space) -> list[Desc]:
    """What a block does at its end: all pairs at once, so what is overwritten is kept first."""
    pairs = space.ends.get(block.idx, [])
    targets = {target for _, target in pairs}
    ops = []
    for i, (source, target) in enumerate(pairs):
        if source in targets and source != target:
            kept = space.like(block, _found(block, source))
            ops.append(_assign(source, kept))
            pairs[i] = kept, target
    return [*ops, *(_assign(source, target) for source, target in pairs if source != target)]


def _assign(source: str, target: str) -> Desc:
    return op_desc("assign", {"X": [source]}, {"Out": [target]}, {})


def _found(block: Any, name: str) -> Variable:
    found: Variable | None = block.find_var_recursive(name)
    assert found is not None  # a program names what it has
    return found


# -- branches
# --------------------------------------------------------------------------------------------------


def _cond(operator: Operator, space: Space) -> list[Desc]:
    block = operator.block
    branches: list[SubBlock] = operator.kwargs["branches"]
    reads, writes = space.without_offsets(operator.args[1]), space.without_offsets(operator.out[1])
    tests, ops = _tests([ref.name for ref in operator.args[0]], block, space)
    held: list[list[str]] = []  # the results of each branch, outside of it
    for test, sub in zip(tests, branches, strict=True):
        results = [space.like(block, _found(block, ref.name)) for ref in operator.out[0]]
        held.append(results)
        space.ends[sub.index] = list(zip(sub.results, results, strict=True))
        ops.append(
            op_desc(
                "conditional_block",
                {"Cond": [test], "Input": reads},
                {"Out": [*results, *writes], "Scope": [space.scopes(block)]},
                {"is_scalar_condition": True, "sub_block": sub.index},
                {"sub_block": "BLOCK"},
                operator,
            )
        )
    if operator.out[0]:
        mask = _mask(tests, block, space, ops)
        for position, ref in enumerate(operator.out[0]):
            choices = [held[i][position] for i in (-1, *range(len(held) - 1))]
            picked = {"Mask": [mask], "X": choices}
            ops.append(op_desc("select_input", picked, {"Out": [ref.name]}, {}))
    return ops


def _tests(conditions: list[str], block: Any, space: Space) -> tuple[list[str], list[Desc]]:
    """Conditions of which one holds: the first of the given that does, or that none does."""
    ops: list[Desc] = []

    def compute(type: str, **inputs: str) -> str:
        out = space.new(block, type, torch.bool, list(_found(block, conditions[0]).shape))
        ops.append(op_desc(type, {k: [v] for k, v in inputs.items()}, {"Out": [out]}, {}))
        return out

    tests = [conditions[0]]
    none = compute("logical_not", X=conditions[0])
    for condition in conditions[1:]:
        tests.append(compute("logical_and", X=none, Y=condition))
        none = compute("logical_and", X=none, Y=compute("logical_not", X=condition))
    return [*tests, none], ops


def _mask(tests: list[str], block: Any, space: Space, ops: list[Desc]) -> str:
    """The number of the condition that holds, from 1 on; 0 for the last."""
    shape = list(_found(block, tests[0]).shape)
    codes = {
        "in_dtype": int(dtypes.CODE_BY_TORCH[torch.bool]),
        "out_dtype": int(dtypes.CODE_BY_TORCH[torch.int32]),
    }
    parts = []
    for number, test in enumerate(tests[:-1], 1):
        out = space.new(block, "cast", torch.int32, shape)
        ops.append(op_desc("cast", {"X": [test]}, {"Out": [out]}, codes))
        if number > 1:
            scaled = space.new(block, "scale", torch.int32, shape)
            attrs = {"scale": float(number), "bias": 0.0, "bias_after_scale": True}
            ops.append(op_desc("scale", {"X": [out]}, {"Out": [scaled]}, attrs))
            out = scaled
        parts.append(out)
    if len(parts) == 1:
        return parts[0]
    total = space.new(block, "sum", torch.int32, shape)
    ops.append(op_desc("sum", {"X": parts}, {"Out": [total]}, {}))
    return total


# -- loops
# --------------------------------------------------------------------------------------------------


def _while(operator: Operator, space: Space) -> list[Desc]:
    sub: SubBlock = operator.kwargs["sub_block"]
    targets, writes = names_in(operator.out[0]), space.without_offsets(operator.out[1])
    space.ends[sub.index] = list(zip(sub.results, targets, strict=True))
    condition = operator.args[0].name
    reads = [name for name in space.without_offsets(operator.args[1]) if name != condition]
    return [
        op_desc(
            "while",
            {"Condition": [condition], "X": reads},
            {"Out": [*targets, *writes], "StepScopes": [space.scopes(operator.block)]},
            {"is_test": True, "sub_block": sub.index},
            {"sub_block": "BLOCK"},
            operator,
        )
    ]


# -- arrays
# --------------------------------------------------------------------------------------------------


def _create(operator: Operator, space: Space) -> list[Desc]:
    """Nothing: Paddle makes an array when it is first written."""
    return []


def _write(operator: Operator, space: Space) -> list[Desc]:
    array, index, value = (ref.name for ref in operator.args)
    inputs = {"X": [value], "I": [index]}
    return [op_desc("write_to_array", inputs, {"Out": [array]}, {}, about=operator)]


def _read(operator: Operator, space: Space) -> list[Desc]:
    array, index = (ref.name for ref in operator.args)
    outputs = {"Out": [operator.out.name]}
    inputs = {"X": [array], "I": [index]}
    return [op_desc("read_from_array", inputs, outputs, {}, about=operator)]


def _length(operator: Operator, space: Space) -> list[Desc]:
    inputs = {"X": [operator.args[0].name]}
    outputs = {"Out": [operator.out.name]}
    return [op_desc("lod_array_length", inputs, outputs, {}, about=operator)]


def _stack(operator: Operator, space: Space) -> list[Desc]:
    sizes = space.new(operator.block, "tensor_array_to_tensor", torch.int32, [-1])
    return _whole(operator, operator.out.name, sizes, 0, True)


def _joined(operator: Operator, space: Space) -> list[Desc]:
    out, sizes = (ref.name for ref in operator.out)
    return _whole(operator, out, sizes, *operator.args[1:])


def _whole(operator: Operator, out: str, sizes: str, axis: int, stacks: bool) -> list[Desc]:
    inputs, outputs = {"X": [operator.args[0].name]}, {"Out": [out], "OutIndex": [sizes]}
    attrs = {"axis": axis, "use_stack": stacks}
    return [op_desc("tensor_array_to_tensor", inputs, outputs, attrs, about=operator)]


def _ranked(operator: Operator, space: Space) -> list[Desc]:
    x, _, table = operator.args
    inputs, outputs = {"X": [x.name], "RankTable": [table.name]}, {"Out": [operator.out[0].name]}
    return [op_desc(operator.type, inputs, outputs, {}, about=operator)]


def _backtraced(operator: Operator, space: Space) -> list[Desc]:
    ids, scores, _, beam_size, end_id = operator.args
    out, marks = (ref.name for ref in operator.out[:2])
    return [
        op_desc(
            "beam_search_decode",
            {"Ids": [ids.name], "Scores": [scores.name]},
            {"SentenceIds": [out], "SentenceScores": [marks]},
            {"beam_size": beam_size, "end_id": end_id},
            about=operator,
        )
    ]


_WRITERS: dict[str, Callable[[Operator, Space], list[Desc]]] = {
    "cond": _cond,
    "while": _while,
    "create_array": _create,
    "write_to_array": _write,
    "read_from_array": _read,
    "lod_array_length": _length,
    "stack_array": _stack,
    "tensor_array_to_tensor": _joined,
    "lod_tensor_to_array": _ranked,
    "array_to_lod_tensor": _ranked,
    "beam_search_decode": _backtraced,
}
