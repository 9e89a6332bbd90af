"""Optimizers in a program: their steps recorded as the update ops that eager mode calls.

Clip, decay and grouping follow ``Optimizer._run``. Accumulators, the step count of a group and the learning rate are persistable variables
that the startup program fills.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch

from argosy.foundation.errors import NotSupported, UsageError
from argosy.ops import updates
from argosy.ops.table import Op
from argosy.optimizer import LBFGS
from argosy.optimizer._plan import Options, rate_of
from argosy.optimizer._state import LOW_PRECISION, Slot
from argosy.optimizer.adam import AdamBase
from argosy.optimizer.optimizer import Optimizer
from argosy.regularizer import L1Decay, L2Decay
from argosy.static._backward import ParamsGrads, append_backward
from argosy.static._operator import OPTIMIZE, Number, Operator, type_of
from argosy.static._program import Block, Program, RateSource
from argosy.static._recorder import program_guard, recorder
from argosy.static._variable import Parameter, Variable
from argosy.tensor._naming import unique_name
from argosy.tensor._tensor import apply


class RecordedBucket:
    """Stands for a ``Bucket``: its state are variables, and ``run`` records the update op."""

    def __init__(
        self, block: Block, params: list[Parameter], slots: Any, step: Any, setting: Any, options: Options
    ) -> None:
        self.block = block
        self.params = params
        self.slots: dict[str, list[Variable]] = slots
        self.clock = SimpleNamespace(tensor=step)
        self.setting = setting
        self.options = options

    def run(self, op: Op, *args: Any) -> None:
        recorder.append(self.block, type_of(op), op, args, {}, list(self.params))


class RecordedOptimizer:
    """Records what an optimizer does in the program of a loss."""

    def __init__(self, optimizer: Optimizer) -> None:
        if isinstance(optimizer, LBFGS):
            raise NotSupported("LBFGS.minimize: it evaluates the loss repeatedly, which a program cannot record")
        self._optimizer = optimizer

    def minimize(
        self, loss: Variable, startup_program: Program | None, parameters: Any, no_grad_set: Any
    ) -> tuple[list[Operator], ParamsGrads]:
        """Record backward and update; returns the operators of the update and the (parameter, gradient) pairs."""
        pairs = self.backward(loss, startup_program, parameters, no_grad_set, None)
        with program_guard(loss.block.program, startup_program):
            return self.apply_gradients(pairs), pairs

    def backward(
        self, loss: Variable, startup_program: Program | None, parameters: Any, no_grad_set: Any, callbacks: Any
    ) -> ParamsGrads:
        chosen = parameters or self._optimizer._parameters() or None
        return append_backward(loss, chosen, no_grad_set, callbacks)

    def apply_gradients(self, params_grads: Sequence[tuple[Parameter, Variable]]) -> list[Operator]:
        """Record clipping, decay and the update of the given pairs."""
        optimizer = self._optimizer
        pairs = [(p, g) for p, g in params_grads if g is not None]
        if not pairs:
            raise UsageError(f"{type(optimizer).__name__}.apply_gradients: there is no gradient to apply")
        program = pairs[0][0].block.program
        done = len(program.global_block().ops)
        with program_guard(program), recorder.in_role(OPTIMIZE), torch.no_grad():
            rate = self._rate(program)
            if optimizer._has_groups:
                for group in optimizer._param_groups:
                    own = {p.name for p in group["params"]}
                    self._update_group([x for x in pairs if x[0].name in own], group, group["grad_clip"], rate)
            else:
                self._update_group(pairs, {}, optimizer._grad_clip, rate)
        return program.global_block().ops[done:]

    def _rate(self, program: Program) -> Number:
        """The variable that holds the learning rate, made at the first use in a program."""
        for source in program._rates:
            if source.optimizer is self._optimizer:
                return Number(source.name)
        value = self._optimizer._checked_lr()
        name = unique_name.generate("learning_rate")
        recorder.new_state(name, [], torch.float32, value)
        program._rates.append(RateSource(name, self._optimizer, value))
        return Number(name)

    def _update_group(self, pairs: ParamsGrads, options: Options, clip: Any, rate: Number) -> None:
        optimizer = self._optimizer
        if clip is not None and pairs:
            pairs = clip(pairs)
        buckets: dict[Any, ParamsGrads] = {}
        for param, grad in pairs:
            multiplier = rate_of(param)
            if not isinstance(multiplier, (int, float)):
                raise NotSupported(
                    f"the learning rate of parameter {param.name!r} must be a number in a static program"
                )
            if param._t.dtype in LOW_PRECISION:
                raise NotSupported(
                    f"parameter {param.name!r} is {param.dtype.name}: programs train float32 and float64"
                )
            self._refuse_rows(param)
            regularizer = param.regularizer or optimizer.regularization
            key = (param._t.dtype, float(multiplier), id(regularizer), optimizer._setting(param, options))
            buckets.setdefault(key, []).append((param, grad))
        for (_, multiplier, _, setting), members in buckets.items():
            self._update_bucket(members, rate * multiplier, setting, options)

    def _update_bucket(self, pairs: ParamsGrads, rate: Number, setting: Any, options: Options) -> None:
        optimizer = self._optimizer
        params: list[Any] = [p for p, _ in pairs]
        grads: list[Any] = [g for _, g in pairs]
        regularizer = params[0].regularizer or optimizer.regularization
        decay = 0.0
        if type(regularizer) is L2Decay and optimizer._couples_decay:
            decay = regularizer._coeff
        elif type(regularizer) in (L1Decay, L2Decay):
            op = updates.l2_decay if type(regularizer) is L2Decay else updates.l1_decay
            grads = apply(op, grads, params, regularizer._coeff)
        elif regularizer is not None:
            grads = [g + regularizer(p, g, p.block) for p, g in zip(params, grads, strict=True)]
        slots: dict[str, list[Variable]] = {}
        for param in params:
            for slot in optimizer._slots(param, options):
                if isinstance(slot, Slot):
                    slots.setdefault(slot.name, []).append(self._accumulator(param, slot))
        step = recorder.new_state(unique_name.generate(f"{optimizer.type}_step"), [], torch.float32, 0.0)
        bucket: Any = RecordedBucket(params[0].block, params, slots, step, setting, options)
        lr: Any = rate
        optimizer._update(bucket, params, grads, lr, decay)

    def _accumulator(self, param: Parameter, slot: Slot) -> Variable:
        label = f"{self._optimizer._name}_{slot.name}" if self._optimizer._name else slot.name
        shape = param.shape if slot.shape is None else slot.shape
        name = unique_name.generate(f"{param.name}_{label}")
        return recorder.new_state(name, list(shape), slot.dtype or param._t.dtype, slot.fill)

    def _refuse_rows(self, param: Parameter) -> None:
        """Row-sparse gradients are made dense here, which Adam would treat differently."""
        if isinstance(self._optimizer, AdamBase):
            for operator in param.block.ops:
                if param.name in operator.input_arg_names and operator.attrs.get("sparse") is True:
                    raise NotSupported(
                        f"{type(self._optimizer).__name__}: parameter {param.name!r} has a row-sparse gradient "
                        "(embedding with sparse=True), which it does not take in a static program; use sparse=False"
                    )
