"""``fluid.backward``: what Paddle's gradients ask of a program, beside ``append_backward`` and
``gradients``.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from typing import Any

import torch

from argosy import static
from argosy.foundation.errors import BadArgument
from argosy.static import Program
from argosy.static.ir.block import Block
from argosy.static.ir.operator import Operator
from argosy.static.ir.variable import Variable, samples
from argosy.static.record.backward import let_pass

_SUFFIX = "@GRAD"


def append_backward(
    loss: Any,
    parameter_list: Any = None,
    no_grad_set: Any = None,
    callbacks: Any = None,
    checkpoints: Any = None,
    distop_context: Any = None,
) -> Any:
    """``paddle.static.append_backward``, with gradients of what is computed of data alone too: in
    1.x a result stops gradients only if it was told to, not because all inputs do.
    """
    let_pass([loss])
    return static.append_backward(
        loss, parameter_list, no_grad_set, callbacks, checkpoints, distop_context
    )


def gradients(
    targets: Any, inputs: Any, target_gradients: Any = None, no_grad_set: Any = None
) -> Any:
    """``paddle.static.gradients``, also for inputs that are computed of data alone."""
    let_pass(_as_list(targets))
    return static.gradients(targets, inputs, target_gradients, no_grad_set)


calc_gradient = gradients


def _append_grad_suffix_(name: str) -> str:
    """The name of the gradient of a variable."""
    return f"{name}{_SUFFIX}"


def _strip_grad_suffix_(name: str) -> str:
    """The name of the variable that a gradient belongs to."""
    head, found, _ = name.partition(_SUFFIX)
    return head if found else name


def _as_list(x: Any) -> list[Any]:
    """``x`` as a list; None is an empty one."""
    if x is None:
        return []
    return list(x) if isinstance(x, (list, tuple)) else [x]


def _infer_var_data_type_shape_(grad_var_name: str, block: Block) -> None:
    """Give a gradient the dtype and shape of the variable that it belongs to, or float32."""
    grad = block.vars[grad_var_name]
    variable = block.find_var_recursive(_strip_grad_suffix_(grad_var_name))
    if variable is not None:
        grad.define(variable.kind)
        return
    warnings.warn(
        f"Set grad var: {grad_var_name} dtype to default FP32, since we can't find its related "
        "forward var",
        stacklevel=2,
    )
    first, second = samples(list(grad.shape), torch.float32)
    grad.define(type(grad.kind)(first, second))


def _get_stop_gradients_(program: Program) -> dict[int, set[str]]:
    """By the number of a block, the gradients that its variables do not get."""
    if not isinstance(program, Program):
        raise BadArgument(f"expected a Program, but received {type(program).__name__}")
    return {
        block.idx: {_append_grad_suffix_(v.name) for v in block.vars.values() if v.stop_gradient}
        for block in program.blocks
    }


def _find_op_path_(
    block: Block,
    targets: Sequence[Variable],
    inputs: Sequence[Variable],
    no_grad_set: set[str],
    op_path_dict: Any = None,
    is_while: bool = False,
) -> list[Operator]:
    """The operators through which gradients of ``targets`` flow, to ``inputs`` if there are any.

    Adds to ``no_grad_set`` what the operators read and ``inputs`` do not lead to, if no gradient
    passes it.
    """
    reached, leads = {v.name for v in targets}, {v.name for v in inputs}
    for operator in block.ops if inputs else ():
        if leads.intersection(operator.input_arg_names):
            leads.update(n for n in operator.output_arg_names if n not in no_grad_set)
    path = []
    for operator in reversed(block.ops):
        if reached.intersection(operator.output_arg_names) and not operator.takes_gradients:
            if not inputs or leads.intersection(operator.input_arg_names):
                path.append(operator)
            reached.update(n for n in operator.input_arg_names if n not in no_grad_set)
    for operator in path if inputs else ():
        for name in operator.input_arg_names:
            if name not in leads and block.vars[name].stop_gradient:
                no_grad_set.add(name)
    return path[::-1]


def _find_no_grad_vars(
    block: Block,
    op_path: Sequence[Operator],
    targets: Sequence[Variable],
    no_grad_set: Collection[str],
) -> set[str]:
    """What the operators of a path compute that nothing on the way to ``targets`` reads."""
    read = {v.name for v in targets}
    unread: set[str] = set()
    for operator in reversed(op_path):
        if not operator.sub_blocks:
            unread.update(
                name
                for name in operator.output_arg_names
                if name not in read
                and name not in operator.input_arg_names
                and not block.vars[name].stop_gradient
            )
        read.update(name for name in operator.input_arg_names if name not in no_grad_set)
    return unread
