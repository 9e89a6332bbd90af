"""Optimizers in a program: their steps recorded as the update ops that eager mode calls.

Clip, decay and grouping follow ``Optimizer._run``. Accumulators, the step count of a group and the
learning rate are persistable variables that the startup program fills.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from argosy.foundation.errors import NotSupported, UsageError
from argosy.ops.array import manipulation as manipulation_ops
from argosy.ops.training import updates
from argosy.optimizer import LBFGS
from argosy.optimizer.optimizer import Optimizer
from argosy.optimizer.plan import Options, rate_of
from argosy.optimizer.state import LOW_PRECISION
from argosy.regularizer import L1Decay, L2Decay
from argosy.static.ir.operator import OPTIMIZE, Number, Operator
from argosy.static.ir.program import Program, RateSource, RecordedUpdate
from argosy.static.ir.rows import row_names
from argosy.static.ir.variable import Parameter, Variable
from argosy.static.record.backward import ParamsGrads, append_backward
from argosy.static.record.recorder import program_guard, recorder
from argosy.static.record.update_bucket import RecordedBucket
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
        return self.apply_gradients(pairs, startup_program=startup_program), pairs

    def backward(
        self,
        loss: Variable,
        startup_program: Program | None,
        parameters: Any,
        no_grad_set: Any,
        callbacks: Any,
    ) -> ParamsGrads:
        chosen = parameters or self._optimizer._parameters() or None
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
            rate = self._rate(program)
            if optimizer._has_groups:
                for group in optimizer._param_groups:
                    own = {p.name for p in group["params"]}
                    members = [x for x in pairs if x[0].name in own]
                    self._update_group(members, group, group["grad_clip"], rate, only_if)
            else:
                self._update_group(pairs, {}, optimizer._grad_clip, rate, only_if)
        recorded = program.current_block().ops[done:]
        made = frozenset(program.global_block().vars) - known - {rate.name}
        is_conditional = only_if is not None or bool(recorder.conditions)
        names = tuple(p.name for p, _ in pairs)
        program.updates.append(
            RecordedUpdate(
                optimizer, names, optimizer._grad_clip, is_conditional, tuple(recorded), made
            )
        )
        return recorded

    def _rate(self, program: Program) -> Number:
        """The variable that holds the learning rate, made at the first use in a program."""
        given: Any = self._optimizer._learning_rate
        if isinstance(given, Variable):  # the program computes the rate
            return Number(given.name)
        for source in program.rates:
            if source.optimizer is self._optimizer:
                return Number(source.name)
        value = self._optimizer._checked_lr()
        name = unique_name.generate("learning_rate")
        recorder.new_state(name, self._optimizer._rate_shape, torch.float32, value)
        program.rates.append(RateSource(name, self._optimizer, value))
        return Number(name)

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
        optimizer = self._optimizer
        if clip is not None:
            pairs = clip(pairs)
        rows = row_names(pairs[0][0].block.ops) if optimizer._takes_rows(options) else set()
        buckets: dict[Any, ParamsGrads] = {}
        for param, grad in pairs:
            multiplier = rate_of(param)
            if not isinstance(multiplier, (int, float)):
                raise NotSupported(
                    f"the learning rate of parameter {param.name!r} must be a number in a static "
                    "program"
                )
            regularizer = param.regularizer or optimizer.regularization
            dtype = param.raw.dtype
            has_rows = grad.name in rows and regularizer is None and dtype not in LOW_PRECISION
            setting = optimizer._setting(param, options)
            key = (dtype, float(multiplier), id(regularizer), setting, has_rows)
            buckets.setdefault(key, []).append((param, grad))
        for (_, multiplier, _, setting, has_rows), members in buckets.items():
            bucket = RecordedBucket(optimizer, [p for p, _ in members], setting, options)
            grads = [g for _, g in members]
            with recorder.only_if(only_if):
                self._update_bucket(bucket, grads, rate * multiplier, has_rows)

    def _update_bucket(self, bucket: Any, grads: list[Any], lr: Any, has_rows: bool) -> None:
        optimizer = self._optimizer
        params, work = bucket.params, bucket.work
        if has_rows:
            optimizer._update_rows(bucket, work, grads, lr)
            return
        if grads[0].raw.dtype is not work[0].raw.dtype:
            grads = [apply(manipulation_ops.cast, g, work[0].raw.dtype) for g in grads]
        regularizer = params[0].regularizer or optimizer.regularization
        decay = 0.0
        if type(regularizer) is L2Decay and optimizer._couples_decay:
            decay = regularizer.coeff
        elif type(regularizer) in (L1Decay, L2Decay):
            op = updates.l2_decay if type(regularizer) is L2Decay else updates.l1_decay
            grads = apply(op, grads, work, regularizer.coeff)
        elif regularizer is not None:
            grads = [g + regularizer(p, g, p.block) for p, g in zip(work, grads, strict=True)]
        optimizer._update(bucket, work, grads, lr, decay)
        bucket.give_back()
