"""A program from a file as part of one that is recorded: its operators are recorded again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.foundation.errors import NotSupported
from argosy.jit.model_files import SavedMethod
from argosy.static.ir.block import Block
from argosy.static.ir.operator import ONLY_IF, Number, Operator, Ref, SubBlock, leaves, mapped
from argosy.static.record.control import record_branches
from argosy.static.record.recorder import recorder
from argosy.tensor.engine import Tensor


def replayed(method: SavedMethod, inputs: Sequence[Any], tensors: dict[str, Tensor]) -> list[Any]:
    """Record the operators of a method on ``inputs``; returns its outputs."""
    values: dict[str, Any] = dict(tensors)
    values.update(
        (variable.name, recorder.admit(value))
        for variable, value in zip(method.feeds, inputs, strict=True)
    )
    _replay(method.program.global_block(), values)
    return [recorder.admit(values[v.name]) for v in method.fetches]


def _replay(block: Block, values: dict[str, Any]) -> None:
    for operator in block.ops:
        if operator.op is not None and not operator.kwargs.get(ONLY_IF):
            _call(operator, values)
        elif operator.type == "cond":
            _branch(operator, values)
        else:
            raise NotSupported(
                f"TranslatedLayer inside of a recorded function: {operator.describe()} cannot be "
                "recorded again; call the layer eagerly"
            )


def _call(operator: Operator, values: dict[str, Any]) -> None:
    def given(leaf: Any) -> Any:
        return values[leaf.name] if isinstance(leaf, (Ref, Number)) else leaf

    assert operator.op is not None
    result = recorder(
        operator.op, mapped(operator.args, given), mapped(dict(operator.kwargs), given)
    )
    for out, value in zip(leaves(operator.out), leaves(result), strict=True):
        if isinstance(out, Ref):
            values[out.name] = value


def _branch(operator: Operator, values: dict[str, Any]) -> None:
    blocks = operator.block.program.blocks

    def side(sub: SubBlock) -> Any:
        def record() -> list[Any]:
            inner = dict(values)
            _replay(blocks[sub.index], inner)
            return [inner[name] for name in sub.results]

        return record

    conditions = [recorder.admit(values[ref.name]) for ref in operator.args[0]]
    functions = [side(sub) for sub in operator.kwargs["branches"]]
    names = [f"branch {i}" for i in range(len(functions))]
    found = record_branches(conditions, functions, names, "cond")
    values.update((ref.name, value) for ref, value in zip(operator.out[0], found, strict=True))
