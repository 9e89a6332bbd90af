"""The forms of operators in files: what the arguments and results of each type must be, so that
lowering can take them as they are.

Calls of the op table have the form of ``ir.forms``. Of the other types each has its own here: a
function that says what is wrong with an operator, or nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from argosy.ops.array.manipulation import to_device
from argosy.ops.table import Op
from argosy.static.ir.forms import problem_of_call
from argosy.static.ir.operator import ONLY_IF, Operator, Ref, SubBlock
from argosy.static.record.print_op import PHASES

_PLACE = re.compile(r"cpu|cuda(:[0-9]{1,3})?")  # torch looks for a module named after any other


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


def _problem_of_call(operator: Operator, op: Op) -> str:
    if op is to_device and not _PLACE.fullmatch(str(operator.attrs.get("device", "cpu"))):
        return f"moves to {operator.attrs['device']!r:.60}, but a file may name cpu and cuda only"
    return problem_of_call(operator, op)


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


def _pylayer(operator: Operator, named: dict[str, Any]) -> str:
    args, blocks = operator.args, [named.get("forward")]
    if len(args) != 2 or not all(_are_refs(a) for a in args):
        return "must have its inputs and what its blocks read"
    if set(named) == {"forward"}:
        return _problem_of_blocks(operator, blocks)
    if set(named) != {"forward", "backward", "grads", "taken"}:
        return "must have a forward block, and a backward block with what it takes and gives"
    problem = _problem_of_blocks(operator, blocks)
    backward, grads, taken = named["backward"], named["grads"], named["taken"]
    if problem or not isinstance(backward, SubBlock):
        return problem or "must have a backward block"
    block = operator.block.program.blocks[backward.index : backward.index + 1]
    known = {v.name for b in block for v in b.vars.values() if v.is_data}
    if not isinstance(grads, list) or not known.issuperset(grads):
        return "must give its backward block gradients"
    if len(grads) != len(operator.out[0]) or len(set(grads)) != len(grads):
        return "must have a gradient for each of its results"
    places = range(len(args[0]))
    if not isinstance(taken, list) or len(taken) != len(backward.results):
        return "must say whose gradients its backward block gives"
    is_sorted = taken == sorted(set(taken)) and all(i in places for i in taken)
    return "" if is_sorted else "must name each of its inputs once at most"


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


def _assert(operator: Operator, named: dict[str, Any]) -> str:
    args = operator.args
    if len(args) != 2 or not isinstance(args[0], Ref) or not _are_refs(args[1]):
        return "must have a condition and what is shown if it does not hold"
    types = {key: type(value) for key, value in named.items()}
    if types != {"summarize": int, "message": str}:
        return "takes summarize and message"
    return "" if operator.out == [] else "must have no result"


def _no_value(operator: Operator, named: dict[str, Any]) -> str:
    is_bare = not operator.args and not named
    return "" if is_bare and isinstance(operator.out, Ref) else "must have one variable, its result"


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


def _ranked(operator: Operator, named: dict[str, Any]) -> str:
    args, out = operator.args, operator.out
    if len(args) != 3 or not _are_refs([args[0], args[2]]) or not _are_refs(args[1]) or named:
        return "must have a variable, offsets and a table as its arguments"
    if not isinstance(out, list) or len(out) != 2 or not isinstance(out[0], Ref):
        return "must have a variable and its offsets as its results"
    return "" if _are_refs(out[1]) else "must have variables as its offsets"


def _popped(operator: Operator, named: dict[str, Any]) -> str:
    if [type(a) for a in operator.args] != [Ref, int] or named:
        return "must have an array and a position as its arguments"
    out = operator.out
    return "" if _are_refs(out) and len(out) == 2 else "must have two variables as its results"


def _joined(operator: Operator, named: dict[str, Any]) -> str:
    args, out = operator.args, operator.out
    if len(args) != 3 or named or [type(a) for a in args] != [Ref, int, bool]:
        return "must have an array, an axis and whether it stacks as its arguments"
    return "" if _are_refs(out) and len(out) == 2 else "must have two variables as its results"


def _backtraced(operator: Operator, named: dict[str, Any]) -> str:
    args, out = operator.args, operator.out
    types = [Ref, Ref, list, int, int]
    if [type(a) for a in args] != types or not _are_refs(args[2]) or named:
        return "must have ids, scores, offsets, a beam size and an end id as its arguments"
    if not isinstance(out, list) or len(out) != 3 or not _are_refs(out[:2]):
        return "must have ids, scores and offsets as its results"
    return "" if _are_refs(out[2]) and len(out[2]) == 2 else "must have two levels of offsets"


# What a file may have beside calls of the op table. Not py_func: a file has no functions.
_FORMS: dict[str, Callable[[Operator, dict[str, Any]], str]] = {
    "backward": _backward,
    "cond": _cond,
    "while": _while,
    "pylayer": _pylayer,
    "print": _print,
    "assert": _assert,
    "no_value": _no_value,
    **dict.fromkeys(_ARRAY_ARGUMENTS, _array),
    "pop_from_array": _popped,
    "lod_tensor_to_array": _ranked,
    "array_to_lod_tensor": _ranked,
    "tensor_array_to_tensor": _joined,
    "beam_search_decode": _backtraced,
}
