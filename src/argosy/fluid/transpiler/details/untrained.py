"""Taking what ``minimize`` recorded out of a program again, so that it can be recorded as servers
want it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from argosy.foundation.errors import NotSupported, UsageError
from argosy.nn.clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue
from argosy.static.ir.operator import Operator
from argosy.static.ir.program import Program, RecordedUpdate
from argosy.static.ir.verify import checked

__all__ = ["Training", "put_last", "take_out_training"]


@dataclass(frozen=True)
class Training:
    """What a program was trained with: the loss, the parameters by name, and the optimizer with the
    clip that was in force.

    ``later`` are the operators that were recorded after the update, and that only they depend on.
    """

    loss: Any
    params: list[str]
    no_grad: list[str]
    optimizer: Any
    clip: Any
    later: list[Operator]


def take_out_training(call: str, program: Program, startup: Program) -> Training:
    """Remove the backward pass and the update of ``program``, and what ``startup`` fills for them;
    returns what they were.
    """
    update, backward = _update_of(call, program), _backward_of(call, program)
    block = program.global_block()
    gone = update.made.union(backward.output_arg_names)
    removed = {id(o) for o in (backward, *update.operators)}
    kept = [o for o in block.ops if id(o) not in removed]
    for operator in kept:
        used = gone.intersection(operator.input_arg_names)
        if used:
            raise NotSupported(
                f"{call}: operator {operator.type} uses {sorted(used)[0]!r}; on a trainer only "
                "servers see gradients and the optimizer's state"
            )
    later = _after_update(block.ops, update, kept)
    with checked(program.blocks, call), checked(startup.blocks, call):
        block.ops[:] = kept
        _forget(program, gone)
        _forget(startup, update.made)
    program.updates.remove(update)
    loss = block.var(backward.args[0][0].name)
    no_grad = list(backward.kwargs.get("no_grad", ()))
    return Training(loss, list(update.params), no_grad, update.optimizer, update.clip, later)


def put_last(program: Program, operators: list[Operator]) -> None:
    """Let ``operators`` run after everything else, as they did after the update."""
    chosen = {id(o) for o in operators}
    block = program.global_block()
    block.ops[:] = [*(o for o in block.ops if id(o) not in chosen), *operators]
    program.changed()


def _after_update(
    operators: list[Operator], update: RecordedUpdate, kept: list[Operator]
) -> list[Operator]:
    """What stands behind the update and nothing before it needs: averages of parameters, for
    example.
    """
    last = max(i for i, o in enumerate(operators) if o is update.operators[-1])
    behind = {id(o) for o in operators[last + 1 :]}
    needed = {name for o in kept if id(o) not in behind for name in o.input_arg_names}
    return [o for o in kept if id(o) in behind and not needed.intersection(o.output_arg_names)]


def _update_of(call: str, program: Program) -> RecordedUpdate:
    if not program.updates:
        raise UsageError(
            f"{call}: the program has no optimizer; call optimizer.minimize(loss) before"
        )
    if len(program.updates) > 1:
        raise NotSupported(
            f"{call}: the program has {len(program.updates)} optimizers; servers take one"
        )
    [update] = program.updates
    if update.is_conditional:
        raise NotSupported(
            f"{call}: the update runs in some steps only (mixed precision, merged gradients)"
        )
    if update.clip is not None and not isinstance(
        update.clip, (ClipGradByValue, ClipGradByNorm, ClipGradByGlobalNorm)
    ):
        raise NotSupported(
            f"{call}: set_gradient_clip with different limits; servers take one clip for all "
            "parameters"
        )
    if any(o.block.idx != 0 for o in update.operators):
        raise NotSupported(f"{call}: the update is inside a branch or a loop")
    return update


def _backward_of(call: str, program: Program) -> Operator:
    found = [
        o
        for block in program.blocks
        for o in block.ops
        if o.takes_gradients and o.kwargs.get("is_loss")
    ]
    if len(found) != 1 or found[0].block.idx != 0:
        raise NotSupported(
            f"{call}: the program must have one loss, outside of branches and loops; it has "
            f"{len(found)}"
        )
    if set(found[0].kwargs) - {"is_loss", "no_grad"}:
        raise NotSupported(
            f"{call}: a backward pass that computes activations again is not supported with servers"
        )
    return found[0]


def _forget(program: Program, names: frozenset[str]) -> None:
    """Take variables, and what fills them, out of a program."""
    block = program.global_block()
    for name in names:
        block.vars.pop(name, None)
    block.ops[:] = [o for o in block.ops if not names.intersection(o.output_arg_names)]
    program.changed()
