"""append_backward and gradients: mark in a program where gradients are taken.

One ``backward`` operator holds its targets, the variables that gradients are wanted of and the
gradient variables. The Executor hands it to torch's autograd, and computes only those gradients
that something reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from argosy.foundation.errors import DtypeError, NotSupported, ProgramError, UsageError
from argosy.static.ir.operator import BACKWARD, SubBlock, leaves, names_in
from argosy.static.ir.owner import OwningBlock
from argosy.static.ir.variable import Parameter, Variable
from argosy.static.record.recompute import recompute_program
from argosy.static.record.recorder import recorder

ParamsGrads = list[tuple[Parameter, Variable]]


def append_backward(
    loss: Variable,
    parameter_list: Sequence[Any] | None = None,
    no_grad_set: Iterable[Any] | None = None,
    callbacks: Any = None,
    checkpoints: Any = None,
    distop_context: Any = None,
) -> ParamsGrads:
    """Take the gradients of ``loss``; returns the trainable parameters it depends on with their
    gradient variables.

    Every variable on the way gets one too: ``x@GRAD`` can be fetched. Where nothing trains, these
    are what is computed from data; else only what is computed from parameters has one. Variables
    of ``parameter_list`` may be any of them. What lies between
    ``checkpoints``, a list of variables, is not kept for the backward pass but computed again.
    """
    if not isinstance(loss, Variable):
        raise DtypeError(
            f"append_backward: loss must be a Variable, but received {type(loss).__name__}"
        )
    if callbacks is not None and not isinstance(callbacks, (list, tuple)):
        raise DtypeError(
            f"append_backward: callbacks must be a list, but received {type(callbacks).__name__}"
        )
    if callbacks or distop_context is not None:
        raise NotSupported("append_backward: callbacks and distop_context are not supported")
    if loss.size != 1:
        raise ProgramError(
            f"append_backward: loss {loss.name!r} must have one element, but its shape is "
            f"{list(loss.shape)}; "
            "reduce it with mean() or sum()"
        )
    block = loss.block
    excluded = _names(no_grad_set, "append_backward: no_grad_set")
    if parameter_list is not None:
        _names(parameter_list, "append_backward: parameter_list")
    if loss.stop_gradient:
        let_pass([loss])
    reached = _reached(block, [loss], excluded)
    given = (
        block.program.all_parameters()
        if parameter_list is None
        else [_as_variable(block, p) for p in parameter_list]
    )
    params = [p for p in given if p.name in reached and not p.stop_gradient]
    if not reached:
        return []
    grads = _record(
        block, [loss], [_variable(block, name) for name in reached], None, excluded, is_loss=True
    )
    if checkpoints:
        recompute_program(block.program, checkpoints)
    return [(p, grads[p.name]) for p in params]  # type: ignore[misc]


def gradients(
    targets: Any, inputs: Any, target_gradients: Any = None, no_grad_set: Any = None
) -> list[Variable | None]:
    """The gradients of the sum of ``targets``, weighted by ``target_gradients``, one for each of
    ``inputs``.

    None where no target depends on an input. An input must not have ``stop_gradient`` set before it
    is used.
    """
    ends, starts = _listed(targets, "targets"), _listed(inputs, "inputs")
    seeds = (
        None
        if target_gradients is None
        else _listed(target_gradients, "target_gradients", optional=True)
    )
    if seeds is not None and len(seeds) != len(ends):
        raise UsageError(f"gradients: {len(ends)} targets, but {len(seeds)} target_gradients")
    for target, seed in zip(ends, seeds or (), strict=False):
        if seed is not None and list(seed.shape) != list(target.shape):
            raise UsageError(
                f"gradients: target {target.name!r} has shape {list(target.shape)}, its gradient "
                f"{list(seed.shape)}"
            )
    block = ends[0].block
    excluded = _names(no_grad_set, "gradients: no_grad_set")
    reached = _reached(block, ends, excluded)
    wanted = [v for v in starts if v.name in reached]
    if not wanted:
        return [None] * len(starts)
    grads = _record(block, ends, wanted, seeds, excluded)
    return [grads.get(v.name) for v in starts]


def _record(
    block: OwningBlock,
    targets: list[Variable],
    inputs: list[Variable],
    seeds: Any,
    excluded: set[str],
    is_loss: bool = False,
) -> dict[str, Variable]:
    """Append the operator; returns gradient variables by the name of what they belong to.

    ``is_loss`` marks the gradients that training takes: those which several places combine.
    """
    grads = {}
    for variable in {v.name: v for v in inputs}.values():
        grads[variable.name] = block.add_variable(
            Variable(
                block,
                _free_name(block, variable.grad_name),
                variable.raw,
                variable.alt,
                stop_gradient=False,
                lod=variable.lod_names or variable.late_lod,
            )
        )
    kwargs: dict[str, Any] = {"no_grad": sorted(excluded)} if excluded else {}
    if is_loss:
        kwargs["is_loss"] = True
    args = (targets, [_variable(block, name) for name in grads], seeds)
    with recorder.in_role(BACKWARD):
        recorder.append(block, "backward", None, args, kwargs, list(grads.values()))
    return grads


def _free_name(block: OwningBlock, name: str) -> str:
    taken, count = name, 0
    while taken in block.vars:
        count += 1
        taken = f"{name}_{count}"
    return taken


def _reached(block: OwningBlock, targets: list[Variable], excluded: set[str]) -> dict[str, None]:
    """Names of the variables that a gradient from ``targets`` flows to, nearest first."""

    def flows(name: str) -> bool:
        variable = _variable(block, name)
        dtype = variable.raw.dtype
        is_number = dtype.is_floating_point or dtype.is_complex
        return is_number and not variable.stop_gradient and name not in excluded

    reached = {v.name: None for v in targets if flows(v.name)}
    around: Any = block
    while around is not None:  # all that the enclosing blocks hold so far runs before this one
        for operator in reversed(around.ops):
            if any(name in reached for name in operator.output_arg_names):
                reached.update((name, None) for name in _passed_on(operator) if flows(name))
        around = around.parent
    return reached


def _passed_on(operator: Any) -> list[str]:
    """What gradients of an operator's results flow to."""
    if operator.special is not None and operator.special.passes_to_first:
        return names_in(operator.args[0])
    names: list[str] = operator.input_arg_names
    return names


def let_pass(targets: Iterable[Any]) -> None:
    """Let gradients of ``targets`` reach all that they are computed of, but what has to be there
    before (data and parameters) and what was told to stop them.
    """
    for target in targets:
        if isinstance(target, Variable):
            around: Any = target.block
            reached = {target.name}
            while around is not None:
                _let_pass_in(around, reached)
                around = around.parent


def _let_pass_in(block: Any, reached: set[str]) -> None:
    for operator in reversed(block.ops):
        outputs = reached.intersection(operator.output_arg_names)
        if not outputs or not operator.input_arg_names or operator.takes_gradients:
            continue
        for variable in (_variable(block, name) for name in outputs):
            is_kept = variable.persistable or variable.is_data or variable.is_stopped
            is_number = variable.raw.is_floating_point() or variable.raw.is_complex()
            if variable.stop_gradient and not is_kept and is_number:
                variable.stop_gradient = False
        subs = [leaf for leaf in leaves(operator.kwargs) if isinstance(leaf, SubBlock)]
        results = [name for sub in subs for name in sub.results]
        for inner in operator.sub_blocks:
            _let_pass_in(inner, reached.union(results))
        reached.update(operator.input_arg_names)


def _variable(block: OwningBlock, name: str) -> Variable:
    found: Variable | None = block.find_var_recursive(name)
    assert found is not None  # an operator of the block names it
    return found


def _names(items: Any, argument: str) -> set[str]:
    """The names that a list, tuple or set of variables and names mentions."""
    if items is not None and not isinstance(items, (list, tuple, set, frozenset)):
        raise DtypeError(
            f"{argument} must be a list, tuple or set, but received {type(items).__name__}"
        )
    for item in items or ():
        if not isinstance(item, (str, Variable)):
            raise DtypeError(
                f"{argument} must hold Variables or names, but received {type(item).__name__}"
            )
    return {item if isinstance(item, str) else item.name for item in items or ()}


def _as_variable(block: OwningBlock, item: Any) -> Variable:
    name = item if isinstance(item, str) else item.name
    found: Variable = block.program.global_block().var(name)
    return found


def _listed(value: Any, argument: str, optional: bool = False) -> list[Any]:
    items = list(value) if isinstance(value, (list, tuple)) else [value]
    for item in items:
        if not isinstance(item, Variable) and not (optional and item is None):
            raise DtypeError(
                f"gradients: {argument} must be Variables, but received {type(item).__name__}"
            )
    return items
