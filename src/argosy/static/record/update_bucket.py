"""What stands for a ``Bucket`` of an eager optimizer while its step is recorded: state as
variables, calls as operators.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch

from argosy.ops.array import manipulation as manipulation_ops
from argosy.ops.table import Op
from argosy.ops.training import updates
from argosy.optimizer.optimizer import Optimizer
from argosy.optimizer.plan import Options
from argosy.optimizer.state import LOW_PRECISION, Slot
from argosy.static.ir.variable import Parameter, Variable, samples
from argosy.static.record.recorder import recorder
from argosy.tensor.engine import apply, unique_name


class RecordedClock:
    """The step count of a bucket; an update that never asks for it leaves no variable in the
    program.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind

    @cached_property
    def tensor(self) -> Variable:
        return recorder.new_state(
            unique_name.generate(f"{self._kind}_step"), [], torch.float32, 0.0
        )


class RecordedBucket:
    """Parameters that one update op takes. ``run`` records the op.

    ``work`` is what it updates: the parameters, or, for low-precision ones, float32 masters that
    persist beside them or copies that each run makes anew.
    """

    def __init__(
        self, optimizer: Optimizer, params: list[Parameter], setting: Any, options: Options
    ) -> None:
        self.block = recorder.main.current_block()
        self.params = params
        self.setting = setting
        self.options = options
        self.clock = RecordedClock(optimizer.type)
        self.is_low = params[0].raw.dtype in LOW_PRECISION
        self.keeps_masters = self.is_low and optimizer._multi_precision
        self.work: list[Any] = list(params)
        if self.keeps_masters:
            self.work = [_master(p) for p in params]
        elif self.is_low:
            self.work = [apply(manipulation_ops.cast, p, torch.float32) for p in params]
        self.slots: dict[str, list[Variable]] = {}
        for param, work in zip(params, self.work, strict=True):
            owner = work.name if self.keeps_masters else param.name
            for slot in optimizer._slots(param, options):
                if isinstance(slot, Slot):
                    made = _accumulator(optimizer, owner, param, work.raw.dtype, slot)
                    self.slots.setdefault(slot.name, []).append(made)

    def run(self, op: Op, *args: Any) -> None:
        recorder.append(self.block, op.type, op, args, {}, list(self.work))

    def dense(self, grads: list[Any]) -> list[Any]:
        return grads  # the lowering gives dense ones to ops that do not know rows

    def shift_clock(self, steps: float) -> None:
        if steps:
            step = self.clock.tensor
            recorder.append(self.block, "shift_step_", updates.shift_step_, (step, steps), {}, step)

    def give_back(self) -> None:
        """Store what was updated in the parameters, if it is not them."""
        if self.is_low:
            params = list(self.params)
            recorder.append(
                self.block, "overwrite_", updates.overwrite_, (params, self.work), {}, params
            )


def _accumulator(
    optimizer: Optimizer, owner: str, param: Parameter, dtype: torch.dtype, slot: Slot
) -> Variable:
    label = f"{optimizer._name}_{slot.name}" if optimizer._name else slot.name
    shape = param.shape if slot.shape is None else slot.shape
    return recorder.new_state(
        unique_name.generate(f"{owner}_{label}"), list(shape), slot.dtype or dtype, slot.fill
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
