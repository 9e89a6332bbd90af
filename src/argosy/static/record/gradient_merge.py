"""Gradient merge: sum the gradients of several runs, and update with them at every k-th run
only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from argosy.foundation.errors import UsageError
from argosy.ops.training import updates
from argosy.static.ir.operator import OPTIMIZE, Operator
from argosy.static.ir.program import Program
from argosy.static.ir.variable import Parameter, Variable, samples
from argosy.static.ir.verify import checked
from argosy.static.record.recorder import program_guard, recorder
from argosy.tensor.engine import unique_name

Pairs = Sequence[tuple[Parameter, Variable]]


def record_gradient_merge(
    params_grads: Pairs,
    k_steps: int,
    avg: bool,
    apply_gradients: Callable[[list[tuple[Parameter, Variable]]], list[Operator]],
    startup_program: Program | None = None,
) -> list[Operator]:
    """Record sums of the gradients and, for every ``k_steps``-th run, what ``apply_gradients``
    records for these sums.

    With ``avg`` the sums are divided by ``k_steps`` first. They persist as
    ``<parameter>@GRAD@GradientMerge`` and the count as ``gradient_merge_step``. Returns the
    operators of the update.
    """
    pairs = [(p, g) for p, g in params_grads if g is not None]
    if not pairs:
        raise UsageError("gradient merge: there is no gradient to merge")
    program = pairs[0][0].block.program
    with (
        checked(program.blocks, "gradient merge"),
        program_guard(program, startup_program),
        recorder.in_role(OPTIMIZE),
        torch.no_grad(),
    ):
        due = _count(k_steps)
        sums = [
            recorder.new_state(f"{p.name}@GRAD@GradientMerge", p.shape, p.raw.dtype, 0.0)
            for p, _ in pairs
        ]
        _change(updates.accumulate_, sums, [g for _, g in pairs])
        with recorder.only_if(due):
            if avg:
                _change(updates.scale_all_, sums, 1.0 / k_steps)
            operators = apply_gradients(
                [(p, total) for (p, _), total in zip(pairs, sums, strict=True)]
            )
            _change(updates.clear_, sums)
    return operators


def _count(k_steps: int) -> Variable:
    """Count the runs; returns whether this one is the last of ``k_steps``."""
    block = recorder.main.global_block()
    step = recorder.new_state(block.free_name("gradient_merge_step"), [1], torch.int32, 0)
    due = block.add_variable(
        Variable(block, unique_name.generate("gradient_merge_cond"), samples([1], torch.bool)[0])
    )
    recorder.append(block, "count_to_", updates.count_to_, (step, k_steps), {}, due)
    return due


def _change(op: Any, tensors: list[Variable], *args: Any) -> None:
    recorder.append(tensors[0].block, op.name, op, (tensors, *args), {}, list(tensors))
