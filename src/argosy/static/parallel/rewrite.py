"""Rewriting the operators of a program for one of several places: pure functions on lists of
operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from argosy.foundation.errors import ProgramError
from argosy.ops.table import Op
from argosy.static.ir.operator import BACKWARD, OPTIMIZE, Operator, Ref, names_in
from argosy.static.ir.rewritten import Rewritten
from argosy.static.ir.variable import Parameter


def is_of_loss(operator: Operator) -> bool:
    """Whether an operator takes the gradients of a loss, as ``append_backward`` records it."""
    return operator.takes_gradients and bool(operator.kwargs.get("is_loss"))


def has_training(operators: Sequence[Operator]) -> bool:
    return any(is_of_loss(operator) for operator in operators)


def with_loss_gradient(operators: Sequence[Operator], first: Op | None) -> list[Operator]:
    """Have the gradient of each loss computed from the loss by ``first``, or fed if it is None."""
    result: list[Operator] = []
    for operator in operators:
        if is_of_loss(operator):
            operator = _seeded(operator)
            if first is not None:
                [loss], [seed] = operator.args[0], operator.args[2]
                made = {"type": first.name, "op": first, "args": (loss,), "kwargs": {}, "out": seed}
                result.append(Rewritten(operator, **made))
        result.append(operator)
    return result


def loss_gradient(operator: Operator) -> Ref:
    """The gradient of the loss whose gradients an operator takes."""
    [loss], inputs, _ = operator.args
    for name, grad in zip(inputs, operator.out, strict=True):
        if name == loss:
            found: Ref = grad
            return found
    raise ProgramError(f"{operator.describe()}: loss {loss.name!r} has no gradient variable")


def _seeded(operator: Operator) -> Operator:
    """The backward operator with the gradient of its loss as an input instead of a result."""
    [loss], inputs, _ = operator.args
    kept = [(name, grad) for name, grad in zip(inputs, operator.out, strict=True) if name != loss]
    args = ([loss], [name for name, _ in kept], [loss_gradient(operator)])
    return Rewritten(operator, args=args, out=[grad for _, grad in kept])


def with_combined_gradients(
    operators: Sequence[Operator],
    fetches: Sequence[str],
    make: Callable[[tuple[str, ...], bool], Op],
) -> list[Operator]:
    """Put an operator behind each backward of a loss that replaces the gradients of parameters by
    those of all places.

    Only gradients that something reads are combined; ``make`` gives the op for the ones of a
    backward, and is told whether a later operator overwrites one of them.
    """
    result: list[Operator] = []
    for index, operator in enumerate(operators):
        result.append(operator)
        if is_of_loss(operator):
            rest = operators[index + 1 :]
            later = set(fetches).union(*(o.input_arg_names for o in rest))
            found = [
                grad
                for name, grad in zip(
                    names_in(operator.args[1]), operator.output_arg_names, strict=True
                )
                if grad in later and isinstance(operator.block.vars[name], Parameter)
            ]
            if found:
                is_changed = any(set(found).intersection(o.output_arg_names) for o in rest)
                op, refs = make(tuple(found), is_changed), [Ref(name) for name in found]
                made = {
                    "type": op.name,
                    "op": op,
                    "args": (refs,),
                    "kwargs": {},
                    "out": refs,
                    "role": BACKWARD,
                }
                result.append(Rewritten(operator, **made))
    return result


def owners(sizes: Sequence[int], num_places: int) -> list[int]:
    """A place for each of the sizes: the largest first, each to the place that has least."""
    loads, chosen = [0] * num_places, [0] * len(sizes)
    for index in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        place = loads.index(min(loads))
        chosen[index] = place
        loads[place] += max(sizes[index], 1)
    return chosen


def with_split_updates(
    operators: Sequence[Operator], place: int, num_places: int, make: Callable[[list[int]], Op]
) -> list[Operator]:
    """Let each place update its own part of the parameters, and put an operator at the end that
    hands them to the others.

    ``make`` gives the op for variables with these owners; it gets the variables of all updates as
    one list.
    """
    result: list[Operator] = []
    owner_by_name: dict[str, int] = {}
    for operator in operators:
        if not _is_update(operator):
            result.append(operator)
            continue
        refs: list[Ref] = operator.out
        chosen = owners([operator.block.vars[r.name].raw.numel() for r in refs], num_places)
        for lists in (a for a in operator.args if _is_parallel(a, refs)):
            for ref, owner in zip(lists, chosen, strict=True):
                if operator.block.vars[ref.name].persistable:
                    owner_by_name[ref.name] = owner
        # A place without a parameter of its own updates the first too: step counts go on
        # everywhere, and its owner's value counts.
        own = [i for i, owner in enumerate(chosen) if owner == place] or [0]
        args = tuple([a[i] for i in own] if _is_parallel(a, refs) else a for a in operator.args)
        result.append(Rewritten(operator, args=args, out=[refs[i] for i in own]))
    if owner_by_name:
        op = make(list(owner_by_name.values()))
        refs = [Ref(name) for name in owner_by_name]
        made = {"type": op.name, "op": op, "args": (refs,), "kwargs": {}, "out": refs}
        result.append(Rewritten(result[-1], **made))
    return result


def _is_update(operator: Operator) -> bool:
    """Whether an operator updates each of a list of kept variables from lists that run in parallel
    to it.
    """
    op, out = operator.op, operator.out
    return (
        operator.role == OPTIMIZE
        and op is not None
        and bool(op.traits.mutates)
        and isinstance(out, list)
        and bool(operator.args)
        and operator.args[0] == out
        and len(out) > 1
        and all(isinstance(r, Ref) and operator.block.vars[r.name].persistable for r in out)
    )


def _is_parallel(argument: Any, refs: list[Ref]) -> bool:
    return (
        isinstance(argument, list)
        and len(argument) == len(refs)
        and all(isinstance(a, Ref) for a in argument)
    )
