"""Where in the operators of a training program workers can talk, and how an operator gets there:
pure functions on lists of operators.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from argosy.ops.table import Op
from argosy.ops.training.loss_scaling import check_finite_and_unscale_, unscale_gradients
from argosy.ops.training.updates import accumulate_, count_to_
from argosy.static.ir.operator import ONLY_IF, OPTIMIZE, Operator, Ref, names_in
from argosy.static.ir.rewritten import Rewritten
from argosy.static.parallel.rewrite import is_of_loss

__all__ = ["Maker", "behind_gradients", "behind_overflow_checks", "behind_updates"]

# From parameters, their gradients and whether these are merged: the op, its arguments after the
# list of gradients, the gradients that it hands on.
Maker = Callable[[list[str], list[str], bool], tuple[Op, tuple[Any, ...], list[str]]]


def _calling(origin: Operator, op: Op, args: tuple[Any, ...], out: Any) -> Operator:
    """A call of ``op`` that belongs to the update, under the condition of ``origin`` and with its
    place in error messages.
    """
    conditions = origin.kwargs.get(ONLY_IF)
    kwargs = {ONLY_IF: conditions} if conditions else {}
    return Rewritten(origin, type=op.name, op=op, args=args, kwargs=kwargs, out=out, role=OPTIMIZE)


def behind_gradients(
    operators: Sequence[Operator], parameters: Collection[str], make: Maker
) -> list[Operator]:
    """Put an operator where the gradients of ``parameters`` are complete: behind the backward of a
    loss or, with merged gradients, where sums are due.

    Sums are kept variables, which it changes in place.
    """
    merging = [o for o in operators if _is_merging(o)]
    result: list[Operator] = []
    for operator in operators:
        result.append(operator)
        is_merged = _is_merging(operator)
        if not (is_merged if merging else is_of_loss(operator)):
            continue
        params, grads = _merged(operator) if is_merged else _taken(operator, parameters)
        if not grads:
            continue
        op, more, kept = make(params, grads, is_merged)
        refs = [Ref(name) for name in grads]
        made = _calling(operator, op, (refs, *more), [Ref(name) for name in kept])
        if is_merged:
            made.kwargs[ONLY_IF] = [*made.kwargs.get(ONLY_IF, ()), Ref(_due(operators))]
        result.append(made)
    return result


def _is_merging(operator: Operator) -> bool:
    op = operator.op
    return op is accumulate_ and all(r.name.endswith("@GRAD@GradientMerge") for r in operator.out)


def _merged(operator: Operator) -> tuple[list[str], list[str]]:
    sums = operator.output_arg_names
    return [name.removesuffix("@GRAD@GradientMerge") for name in sums], sums


def _taken(operator: Operator, parameters: Collection[str]) -> tuple[list[str], list[str]]:
    """Those of ``parameters`` whose gradients a backward operator takes, and the gradients."""
    both = zip(names_in(operator.args[1]), operator.output_arg_names, strict=True)
    pairs = [(name, grad) for name, grad in both if name in parameters]
    return [name for name, _ in pairs], [grad for _, grad in pairs]


def _due(operators: Sequence[Operator]) -> str:
    """The variable that says whether merged gradients are complete."""
    [counting] = [o for o in operators if o.op is count_to_ and "gradient_merge" in o.out.name]
    found: str = counting.out.name
    return found


def behind_overflow_checks(operators: Sequence[Operator], op: Op) -> list[Operator]:
    """Let ``op`` replace what each check of loss scaling found."""
    result: list[Operator] = []
    for operator in operators:
        result.append(operator)
        if operator.op in (check_finite_and_unscale_, unscale_gradients):
            found = operator.out[1] if isinstance(operator.out, tuple) else operator.out
            result.append(_calling(operator, op, (found,), found))
    return result


def behind_updates(
    operators: list[Operator], op: Op, args: tuple[Any, ...], out: list[Ref]
) -> list[Operator]:
    """Put an operator behind all others, if there is an update among them; with merged gradients it
    runs when they update.
    """
    if not any(is_of_loss(o) for o in operators):
        return operators
    made = Rewritten(
        operators[-1], type=op.name, op=op, args=args, kwargs={}, out=out, role=OPTIMIZE
    )
    if any(_is_merging(o) for o in operators):
        made.kwargs[ONLY_IF] = [Ref(_due(operators))]
    return [*operators, made]
