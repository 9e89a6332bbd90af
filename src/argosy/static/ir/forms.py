"""The form of a call of the op table: arguments that the op takes, of the types of its parameters,
and results that are variables.

An operator that a script records has it by construction. What a pass made or a file describes is
compared with it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch

from argosy.foundation.errors import nearest
from argosy.ops.array.indexing import setitem_
from argosy.ops.table import Op
from argosy.static.ir import special
from argosy.static.ir.operator import ONLY_IF, Number, Operator, Ref, SubBlock, leaves
from argosy.static.ir.rows import passes_rows_on

_DEEPEST = 16  # lists inside of one another in the result of an op


def problem_of_call(operator: Operator, op: Op) -> str:
    """What is wrong with the arguments and results of a call; empty if nothing is."""
    if operator.type in special.KINDS and operator.type != op.name:
        return f"calls {op.name!r}, but has the type of an operator of its own kind"
    named = {key: value for key, value in operator.kwargs.items() if key != ONLY_IF}
    unknown = [key for key in named if key not in op.signature.parameters]
    if unknown:
        known = list(op.signature.parameters)
        return (
            f"has an argument {unknown[0][:60]!r}, but {op.name!r} takes "
            f"{known}.{nearest(unknown[0][:60], known)}"
        )
    try:
        bound = op.signature.bind(*operator.args, **named).arguments
    except TypeError as error:
        return f"does not fit {op.name!r}: {error}"
    if any(isinstance(leaf, SubBlock) for leaf in leaves([list(operator.args), operator.kwargs])):
        return "has a block among its arguments"
    return _problem_of_types(op.signature, bound) or _problem_of_result(operator, op)


def _problem_of_types(signature: inspect.Signature, bound: dict[str, Any]) -> str:
    for name, value in bound.items():
        kind = str(signature.parameters[name].annotation)
        fits = _TYPES.get(kind.removesuffix(" | None"))
        if fits is None or fits(value) or (value is None and kind.endswith(" | None")):
            continue
        return f"has {name}, which must be of type {kind}"
    return ""


def _is_a(*types: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, types)


def _is_list_of(*types: type) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, (list, tuple)) and all(isinstance(item, types) for item in value)
    )


# What fits the types that parameters of ops are annotated with; a Number is one when the program
# runs.
_TYPES: dict[str, Callable[[Any], bool]] = {
    "Tensor": _is_a(Ref),
    **dict.fromkeys(("Tensors", "list[Tensor]", "Sequence[Tensor]"), _is_list_of(Ref)),
    "float": _is_a(float, int, Number),
    "int": _is_a(int, Number),
    "bool": _is_a(bool, int),
    "str": _is_a(str),
    "torch.dtype": _is_a(torch.dtype),
    "torch.device": _is_a(torch.device),
    **dict.fromkeys(("list[int]", "Sequence[int]"), _is_list_of(int, Number)),
    **dict.fromkeys(("list[float]", "Sequence[float]"), _is_list_of(float, int, Number)),
}


def _problem_of_result(operator: Operator, op: Op) -> str:
    if not _is_result(operator.out, _DEEPEST):
        return "has results that are no variables"
    if op is setitem_ and not isinstance(operator.out, Ref):
        return "must have one variable as its result"
    if passes_rows_on(operator) and (
        not operator.args or len(list(leaves(operator.args[0]))) != len(operator.output_arg_names)
    ):
        return "must have as many results as gradients"
    return ""


def _is_result(out: Any, depth: int) -> bool:
    if isinstance(out, (list, tuple)):
        return depth > 0 and all(_is_result(item, depth - 1) for item in out)
    return out is None or isinstance(out, (Ref, bool, int, float))
