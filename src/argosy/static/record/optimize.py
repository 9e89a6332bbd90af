"""Optimizers in a program: their steps recorded as the update ops that eager mode calls.

What shares an update group and how a group is updated is written once, in ``optimizer``.
Accumulators, the step count of a group and the learning rate are persistable variables that the
startup program fills.
"""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import torch

from argosy.foundation.errors import DtypeError, NotSupported, UsageError
from argosy.ops.math.elementwise import scale
from argosy.optimizer import LBFGS
from argosy.optimizer.appending import append_updates
from argosy.optimizer.optimizer import (
    Optimizer,
    current_rate,
    param_groups_of,
    rule_of,
    update,
)
from argosy.optimizer.state import LOW_PRECISION, Slot
from argosy.optimizer.update_group import Options, alike, rate_of
from argosy.static.ir.operator import OPTIMIZE, Number, Operator
from argosy.static.ir.program import Program, RateSource, RecordedUpdate
from argosy.static.ir.rows import row_names
from argosy.static.ir.variable import Parameter, Variable
from argosy.static.record.backward import ParamsGrads, append_backward, gradients
from argosy.static.record.recorder import program_guard, recorder
from argosy.static.record.update_group import RecordedGroup, new_accumulator
from argosy.tensor.engine import apply, unique_name


class RecordedOptimizer:
    """Records what an optimizer does in the program of a loss."""

    def __init__(self, optimizer: Optimizer) -> None:
        if isinstance(optimizer, LBFGS):
            raise NotSupported(
                "LBFGS.minimize: it evaluates the loss repeatedly, which a program cannot record"
            )
        self._optimizer = optimizer

    def minimize(
        self, loss: Variable, startup_program: Program | None, parameters: Any, no_grad_set: Any
    ) -> tuple[list[Operator], ParamsGrads]:
        """Record backward and update; returns the operators of the update and the (parameter,
        gradient) pairs.
        """
        pairs = self.backward(loss, startup_program, parameters, no_grad_set, None)
        if not pairs:  # nothing to train, but the program has its rate
            program = loss.block.program
            with program_guard(program, startup_program):
                self.rate(program)
            return [], []
        return self.apply_gradients(pairs, startup_program=startup_program), pairs

    def backward(
        self,
        loss: Variable,
        startup_program: Program | None,
        parameters: Any,
        no_grad_set: Any,
        callbacks: Any,
    ) -> ParamsGrads:
        chosen = parameters or rule_of(self._optimizer).parameters() or None
        return append_backward(loss, chosen, no_grad_set, callbacks)

    def apply_gradients(
        self,
        params_grads: Sequence[tuple[Parameter, Variable]],
        only_if: Variable | None = None,
        startup_program: Program | None = None,
    ) -> list[Operator]:
        """Record clipping, decay and the update of the given pairs; the update runs only when
        ``only_if``, if given, is true.
        """
        optimizer = self._optimizer
        pairs = [(p, g) for p, g in params_grads if g is not None]
        if not pairs:
            raise UsageError(
                f"{type(optimizer).__name__}.apply_gradients: there is no gradient to apply"
            )
        program = pairs[0][0].block.program
        done = len(program.current_block().ops)
        known = set(program.global_block().vars)
        with program_guard(program, startup_program), recorder.in_role(OPTIMIZE), torch.no_grad():
            rate = self.rate(program)
            for params, options, clip in param_groups_of(optimizer):
                own = None if params is None else {p.name for p in params}
                members = [x for x in pairs if own is None or x[0].name in own]
                self._update_group(members, options, clip, rate, only_if)
        recorded: list[Operator] = program.current_block().ops[done:]
        made = frozenset(program.global_block().vars) - known - {rate.name}
        is_conditional = only_if is not None or bool(recorder.conditions)
        names = tuple(p.name for p, _ in pairs)
        program.updates.append(
            RecordedUpdate(
                optimizer, names, rule_of(optimizer).clip, is_conditional, tuple(recorded), made
            )
        )
        return recorded

    def rate(self, program: Program) -> Number:
        """The variable that holds the learning rate, made at the first use in a program."""
        rule = rule_of(self._optimizer)
        given = rule.rate
        if isinstance(given, Variable):  # the program computes the rate
            return Number(given.name)
        for source in program.rates:
            if source.optimizer is self._optimizer:
                return Number(source.name)
        value, _ = current_rate(self._optimizer)
        name = unique_name.generate("learning_rate")
        parameters = [p.raw.dtype for p in program.all_parameters()]
        is_double = bool(parameters) and all(dtype is torch.float64 for dtype in parameters)
        dtype = torch.float64 if is_double else torch.float32
        recorder.new_state(name, rule.rate_shape, dtype, value)
        program.rates.append(RateSource(name, self._optimizer, value))
        return Number(name)

    @contextlib.contextmanager
    def recording(self, pairs: ParamsGrads) -> Iterator[None]:
        """Record what belongs to the update of ``pairs`` in their program."""
        with program_guard(pairs[0][0].block.program), recorder.in_role(OPTIMIZE):
            yield

    def rate_variable(self, param: Parameter) -> Variable:
        """The learning rate of a parameter."""
        program = param.block.program
        rate: Variable = program.current_block().find_var_recursive(self.rate(program).name)
        multiplier = _multiplier(param)
        if multiplier == 1.0:
            return rate
        own: Variable = apply(scale, rate, multiplier, 0.0)
        return own

    def new_accumulator(self, name: str, param: Parameter, slot: Slot) -> Variable:
        """A variable that the startup program fills and that belongs to a parameter."""
        return new_accumulator(name, param, param.raw.dtype, slot)

    def _update_group(
        self,
        pairs: ParamsGrads,
        options: Options,
        clip: Any,
        rate: Number,
        only_if: Variable | None,
    ) -> None:
        if not pairs:
            return
        optimizer, rule = self._optimizer, rule_of(self._optimizer)
        if clip is not None:
            pairs = clip(pairs)
        if rule.appends:
            with recorder.only_if(only_if):
                append_updates(optimizer, recorder.main.current_block(), pairs)
            return
        params, grads = [p for p, _ in pairs], [g for _, g in pairs]
        rows = row_names(params[0].block.ops) if rule.takes_rows(options) else set()
        sparse = [
            i
            for i, (param, grad) in enumerate(pairs)
            if grad.name in rows
            and not (param.regularizer or optimizer.regularization)
            and param.raw.dtype not in LOW_PRECISION
        ]

        def trait(index: int) -> Hashable:
            return params[index].raw.dtype, _multiplier(params[index])

        for shared in alike(params, options, optimizer.regularization, rule.setting, sparse, trait):
            members = [params[i] for i in shared.indices]
            group = RecordedGroup(shared, members, rule, optimizer.type)
            with recorder.only_if(only_if):
                update(optimizer, group, [grads[i] for i in shared.indices], rate)


def _multiplier(param: Parameter) -> float:
    multiplier = rate_of(param)
    if not isinstance(multiplier, (int, float)):
        raise NotSupported(
            f"the learning rate of parameter {param.name!r} must be a number in a static program"
        )
    return float(multiplier)


def gradients_with_optimizer(
    program: Any, optimizer: Any, inputs: Any = None, outputs: Any = None
) -> tuple[Any, list[tuple[Any, Any]]]:
    """Take the gradients of ``outputs`` by ``inputs`` and let ``optimizer`` apply those of
    parameters; returns its operators, and the parameters with their gradients.

    Without ``inputs`` and ``outputs`` they are what the operators of ``program`` only read and only
    write.
    """
    if not isinstance(program, Program) or not isinstance(optimizer, Optimizer):
        raise DtypeError(
            "gradients_with_optimizer: expected a Program and an Optimizer, but received "
            f"{type(program).__name__} and {type(optimizer).__name__}"
        )
    read, written = _touched(program)
    if inputs is None:
        inputs = [variable for name, variable in read.items() if name not in written]
    if outputs is None:
        outputs = [variable for name, variable in written.items() if name not in read]
    with program_guard(program):
        found = zip(inputs, gradients(outputs, inputs), strict=True)
        pairs = [(v, grad) for v, grad in found if isinstance(v, Parameter) and grad is not None]
        return optimizer.apply_gradients(pairs), pairs


def _touched(program: Program) -> tuple[dict[str, Any], dict[str, Any]]:
    """The variables that operators of ``program`` read, and those that they write, by name."""
    read: dict[str, Any] = {}
    written: dict[str, Any] = {}
    for block in program.blocks:
        for operator in block.ops:
            for names, found in (
                (operator.input_arg_names, read),
                (operator.output_arg_names, written),
            ):
                found.update((name, block.find_var_recursive(name)) for name in names)
    return read, written
