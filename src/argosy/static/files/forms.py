"""The forms of operators: what the arguments and results of each type must be, so that lowering can
take them as they are.

An operator that a script records has its form by construction; one that a file describes is
compared with it before anything else looks at it. A form is a function that says what is wrong with
an operator, or nothing.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from argosy.foundation.errors import nearest
from argosy.ops.array.indexing import setitem_
from argosy.ops.array.manipulation import to_device
from argosy.ops.table import Op
from argosy.static.ir.operator import ONLY_IF, Number, Operator, Ref, SubBlock, leaves
from argosy.static.ir.rows import passes_rows_on
from argosy.static.ir.special import ARRAY_TYPES
from argosy.static.record.print_op import PHASES

_PLACE = re.compile(r"cpu|cuda(:[0-9]{1,3})?")  # torch looks for a module named after any other
_DEEPEST = 16  # lists inside of one another in the result of an op


def problem_of(operator: Operator) -> str:
    """What is wrong with the arguments and results of ``operator``; empty if nothing is."""
    conditions = operator.kwargs.get(ONLY_IF, [])
    if not _are_refs(conditions):
        return f"has {ONLY_IF}, which must be a list of variables"
    if operator.op is not None:
        return _problem_of_call(operator, operator.op)
    form = _FORMS.get(operator.type)
    if form is None:
        return "is of no type that a file may have"
    return form(operator, {key: value for key, value in operator.kwargs.items() if key != ONLY_IF})


# -- calls of the op table
# --------------------------------------------------------------------------------------------


@cache
def signature_of(op: Op) -> inspect.Signature:
    """The parameters of an op; those of torch's own functions, which tell none, may all be left
    out.
    """
    try:
        return inspect.signature(op.fn)
    except ValueError:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature(
            [inspect.Parameter(name, kind, default=None) for name in op.params]
        )


def _problem_of_call(operator: Operator, op: Op) -> str:
    if operator.type in _FORMS and operator.type != op.name:
        return f"calls {op.name!r}, but has the type of an operator of its own kind"
    named = {key: value for key, value in operator.kwargs.items() if key != ONLY_IF}
    signature = signature_of(op)
    unknown = [key for key in named if key not in signature.parameters]
    if unknown:
        known = list(signature.parameters)
        return (
            f"has an argument {unknown[0][:60]!r}, but {op.name!r} takes "
            f"{known}.{nearest(unknown[0][:60], known)}"
        )
    try:
        bound = signature.bind(*operator.args, **named).arguments
    except TypeError as error:
        return f"does not fit {op.name!r}: {error}"
    if any(isinstance(leaf, SubBlock) for leaf in leaves([list(operator.args), operator.kwargs])):
        return "has a block among its arguments"
    if op is to_device and not _PLACE.fullmatch(str(bound["device"])):
        return f"moves to {bound['device']!r:.60}, but a file may name cpu and cuda only"
    return _problem_of_types(signature, bound) or _problem_of_result(operator, op)


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


# -- operators of their own kind
# ----------------------------------------------------------------------------------------


def _are_refs(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(item, Ref) for item in value)


def _backward(operator: Operator, named: dict[str, Any]) -> str:
    if (
        len(operator.args) != 3
        or not _are_refs(operator.args[0])
        or not _are_refs(operator.args[1])
    ):
        return "must have targets, inputs and the gradients of its targets"
    targets, inputs, seeds = operator.args
    if seeds is not None and not (isinstance(seeds, list) and len(seeds) == len(targets)):
        return "must have as many gradients as targets"
    if seeds is not None and not all(seed is None or isinstance(seed, Ref) for seed in seeds):
        return "has gradients of targets that are no variables"
    if not targets or not _are_refs(operator.out) or len(operator.out) != len(inputs):
        return "must have a gradient for each of its inputs"
    if set(named) - {"no_grad", "is_loss", "checkpoints"} or named.get("is_loss") not in (
        None,
        True,
        False,
    ):
        return "takes no_grad, is_loss and checkpoints"
    if named.get("is_loss") and len(targets) != 1:
        return "must have one loss"
    return next(
        (
            f"has {key}, which must be names"
            for key in ("no_grad", "checkpoints")
            if not _are_names(named.get(key))
        ),
        "",
    )


def _are_names(value: Any) -> bool:
    return value is None or (
        isinstance(value, list) and all(isinstance(item, str) for item in value)
    )


def _cond(operator: Operator, named: dict[str, Any]) -> str:
    if (
        len(operator.args) != 2
        or not all(_are_refs(a) for a in operator.args)
        or not operator.args[0]
    ):
        return "must have its conditions and what its branches read"
    branches = named.get("branches")
    if (
        set(named) != {"branches"}
        or not isinstance(branches, list)
        or len(branches) != len(operator.args[0]) + 1
    ):
        return "must have a branch for each of its conditions, and one more"
    return _problem_of_blocks(operator, branches)


def _while(operator: Operator, named: dict[str, Any]) -> str:
    if (
        len(operator.args) != 2
        or not isinstance(operator.args[0], Ref)
        or not _are_refs(operator.args[1])
    ):
        return "must have a condition and what its block reads"
    if set(named) != {"sub_block"}:
        return "must have a block"
    return _problem_of_blocks(operator, [named["sub_block"]])


def _problem_of_blocks(operator: Operator, blocks: list[Any]) -> str:
    out = operator.out
    if not isinstance(out, list) or len(out) != 2 or not all(_are_refs(item) for item in out):
        return "must have its results and what else its blocks write"
    if not all(
        isinstance(block, SubBlock) and len(block.results) == len(out[0]) for block in blocks
    ):
        return f"must have blocks with {len(out[0])} results each"
    return ""


_PRINT_TYPES = {
    "first_n": int,
    "message": str,
    "summarize": int,
    "print_tensor_name": bool,
    "print_tensor_type": bool,
    "print_tensor_shape": bool,
    "print_tensor_layout": bool,
    "print_tensor_lod": bool,
    "print_phase": str,
}


def _print(operator: Operator, named: dict[str, Any]) -> str:
    if (
        len(operator.args) != 2
        or not isinstance(operator.args[0], Ref)
        or not _are_refs(operator.args[1])
    ):
        return "must have a variable and its offsets"
    if {key: type(value) for key, value in named.items()} != _PRINT_TYPES or named[
        "print_phase"
    ] not in PHASES:
        return f"takes {', '.join(_PRINT_TYPES)}"
    return "" if isinstance(operator.out, Ref) else "must have one variable as its result"


_ARRAY_ARGUMENTS = {
    "create_array": 0,
    "write_to_array": 3,
    "read_from_array": 2,
    "lod_array_length": 1,
    "stack_array": 1,
}


def _array(operator: Operator, named: dict[str, Any]) -> str:
    count = _ARRAY_ARGUMENTS[operator.type]
    if len(operator.args) != count or not _are_refs(operator.args) or named:
        return f"must have {count} variables as its arguments"
    return "" if isinstance(operator.out, Ref) else "must have one variable as its result"


# What a file may have beside calls of the op table. Not py_func: a file has no functions.
_FORMS: dict[str, Callable[[Operator, dict[str, Any]], str]] = {
    "backward": _backward,
    "cond": _cond,
    "while": _while,
    "print": _print,
    **dict.fromkeys(ARRAY_TYPES, _array),
}
