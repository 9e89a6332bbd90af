"""Update groups of a recorded step: state as variables that the startup program fills, calls as
operators.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch

from argosy.ops.array import manipulation as manipulation_ops
from argosy.ops.math import elementwise as elementwise_ops
from argosy.ops.table import Op
from argosy.ops.training import updates
from argosy.optimizer.optimizer import Rule
from argosy.optimizer.state import LOW_PRECISION, Power, Slot
from argosy.optimizer.update_group import Shared, UpdateGroup, Values
from argosy.static.ir.operator import Number
from argosy.static.ir.variable import Parameter, Variable, samples
from argosy.static.record.recorder import recorder
from argosy.tensor.engine import apply, unique_name


class RecordedClock:
    """The step count of a group; an update that never asks for it leaves no variable in the
    program.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind

    @cached_property
    def tensor(self) -> Variable:
        return recorder.new_state(
            unique_name.generate(f"{self._kind}_step"), [], torch.float32, 0.0
        )


class RecordedGroup(UpdateGroup):
    """A group whose update is recorded.

    For low-precision parameters it updates float32 masters that persist beside them, or copies that
    each run makes anew.
    """

    def __init__(self, shared: Shared, params: list[Parameter], rule: Rule, kind: str) -> None:
        super().__init__(shared, params)
        self._block = recorder.main.current_block()
        self.clock = RecordedClock(kind)
        self._is_low = params[0].raw.dtype in LOW_PRECISION
        keeps_masters = self._is_low and rule.keeps_masters
        self._work: Values = list(params)
        if keeps_masters:
            self._work = [_master(p) for p in params]
        elif self._is_low:
            self._work = list(apply(updates.widened, list(params)))
        self.slots = {}
        for param, work in zip(params, self._work, strict=True):
            owner = work.name if keeps_masters else param.name
            for slot in rule.slots(param, shared.options):
                if isinstance(slot, Power):
                    slot = Slot(slot.name, slot.beta, (1,))
                label = f"{rule.label}_{slot.name}" if rule.label else slot.name
                made = new_accumulator(f"{owner}_{label}", param, work.raw.dtype, slot)
                self.slots.setdefault(slot.name, []).append(made)
                rule.recorded.setdefault(label, {})[owner] = made

    def run(self, op: Op, *args: Any) -> None:
        recorder.append(self._block, op.type, op, args, {}, list(self._work))

    def compute(self, op: Op, *args: Any) -> Any:
        return apply(op, *args)

    def lr(self, base: Number) -> Number:
        if self.rate == 1.0:
            return base
        rate = self._block.find_var_recursive(base.name)
        return Number(apply(elementwise_ops.scale, rate, float(self.rate), 0.0).name)

    def borrow(self) -> Values:
        return self._work

    def give_back(self, work: Values) -> None:
        if self._is_low:
            self._change(updates.overwrite_, list(self.params), work)

    def fitted(self, grads: Values, work: Values) -> Values:
        dtype = work[0].raw.dtype
        if grads[0].raw.dtype is dtype:
            return grads
        if dtype is torch.float32:
            return list(apply(updates.widened, list(grads)))
        return [apply(manipulation_ops.cast, g, dtype) for g in grads]

    def dense(self, grads: Values) -> Values:
        return grads  # the lowering gives dense ones to ops that do not know rows

    def penalized(self, regularizer: Any, params: Values, grads: Values) -> Values:
        return [g + regularizer(p, g, p.block) for p, g in zip(params, grads, strict=True)]

    def _change(self, op: Op, target: Any, *args: Any) -> None:
        recorder.append(self._block, op.name, op, (target, *args), {}, target)


def new_accumulator(name: str, param: Variable, dtype: torch.dtype, slot: Slot) -> Variable:
    """The variable of the program that stands for one slot of a parameter."""
    shape = param.shape if slot.shape is None else slot.shape
    return recorder.new_state(
        unique_name.generate(name), list(shape), slot.dtype or dtype, slot.fill
    )


def _master(param: Parameter) -> Variable:
    """A float32 copy of a parameter, which the startup program makes after it has filled the
    parameter.
    """
    block = recorder.main.global_block()
    name = unique_name.generate(f"{param.name}_fp32_master")
    master = block.add_variable(
        Variable(block, name, samples(param.shape, torch.float32)[0], persistable=True)
    )
    recorder.initialize_from(master, manipulation_ops.cast, param, (torch.float32,))
    return master
