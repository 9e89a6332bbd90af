"""Averages of a program's parameters, and evaluation with them.

The main program keeps the averages; two small programs, run by the caller's Executor, put them in
the place of the parameters and back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from argosy.foundation.errors import BadArgument, UsageError
from argosy.framework.mode import switch
from argosy.ops.array import creation as creation_ops
from argosy.ops.training import averaging as ops
from argosy.optimizer.optimizer import rule_of
from argosy.optimizer.state import Slot
from argosy.static.ir.operator import OPTIMIZE
from argosy.static.ir.program import Program
from argosy.static.ir.variable import Parameter, Variable
from argosy.static.record.recorder import default_main_program, program_guard, recorder
from argosy.static.record.update_group import new_accumulator
from argosy.tensor.engine import apply, unique_name


class ParameterSwap:
    """Programs that replace parameters by other values and restore them; ``backups`` hold the
    values meanwhile.
    """

    def __init__(self, params: Sequence[Parameter], backups: Sequence[Variable]) -> None:
        self._pairs = list(zip(params, backups, strict=True))
        self.restore_program = Program()
        with program_guard(self.restore_program):
            for param, backup in self._pairs:
                _assign(self.own(backup), self.own(param))
        self.apply_program = Program()

    def own(self, variable: Variable) -> Variable:
        """The same variable in the program that is recorded now."""
        block = recorder.main.global_block()
        known = block.vars.get(variable.name)
        return block.add_variable(variable.copy_to(block)) if known is None else known

    def record(self, value_of: Callable[[Parameter], Variable]) -> None:
        """Record what replaces each parameter."""
        with program_guard(self.apply_program), torch.no_grad():
            for param, backup in self._pairs:
                _assign(self.own(param), self.own(backup))
                _assign(value_of(param), self.own(param))

    @contextlib.contextmanager
    def applied(self, executor: Any, need_restore: bool, call: str) -> Iterator[None]:
        """Replace the parameters inside the block."""
        _require_executor(executor, call)
        executor.run(self.apply_program)
        try:
            yield
        finally:
            if need_restore:
                executor.run(self.restore_program)

    def restore(self, executor: Any, call: str) -> None:
        _require_executor(executor, call)
        executor.run(self.restore_program)


class ExponentialMovingAverage:
    """Averages in which each ``update`` weighs the parameters by ``1 - decay``, corrected for their
    start at zero.

    ``update()`` records the step at the end of the main program. ``thres_steps``, a variable,
    limits the decay to ``(1 + thres_steps) / (10 + thres_steps)``.

    Example:
        >>> import numpy, paddle
        >>> paddle.enable_static()
        >>> main, startup = paddle.static.Program(), paddle.static.Program()
        >>> with paddle.static.program_guard(main, startup):
        ...     w = paddle.static.create_parameter([1], "float32",
        ...         default_initializer=paddle.nn.initializer.Constant(1.0))
        ...     paddle.optimizer.SGD(0.25).minimize((w * w).sum())
        ...     average = paddle.static.ExponentialMovingAverage(0.5)
        ...     average.update()
        ([...
        >>> exe, scope = paddle.static.Executor(), paddle.static.global_scope()
        >>> _ = exe.run(startup), exe.run(main), exe.run(main)
        >>> with average.apply(exe):
        ...     round(float(numpy.array(w.get_value())[0]), 4)
        0.3333
        >>> float(numpy.array(w.get_value())[0])
        0.25
        >>> paddle.disable_static()
    """

    def __init__(
        self, decay: float = 0.999, thres_steps: Any = None, name: str | None = None
    ) -> None:
        if not switch.is_static:
            raise UsageError("ExponentialMovingAverage: call paddle.enable_static() first")
        self._params = [
            p
            for p in default_main_program().all_parameters()
            if getattr(p, "do_model_average", True)
        ]
        prefix = name or ""
        block = default_main_program().global_block()
        self._decay = recorder.new_state(
            block.free_name("scheduled_ema_decay_rate"), [1], torch.float32, decay
        )
        self._step = recorder.new_state(block.free_name("@EMA_STEP_COUNTER@"), [1], torch.int64, 0)
        if thres_steps is not None:
            with recorder.in_role(OPTIMIZE), torch.no_grad():
                limited = ((thres_steps + 1.0) / (thres_steps + 10.0)).clip(max=decay)
                _assign(limited.reshape([1]).astype("float32"), self._decay)
        self._averages = {
            p.name: recorder.new_state(
                unique_name.generate(f"{prefix}{p.name}_ema"), p.shape, p.raw.dtype, 0.0
            )
            for p in self._params
        }
        swap = ParameterSwap(
            self._params, [_backup(p, f"{prefix}{p.name}.ema_tmp") for p in self._params]
        )

        def value_of(param: Parameter) -> Variable:
            average = swap.own(self._averages[param.name])
            value: Variable = apply(
                ops.unbiased_average, average, swap.own(self._decay), swap.own(self._step)
            )
            return value

        swap.record(value_of)
        self._swap = swap
        self.apply_program, self.restore_program = swap.apply_program, swap.restore_program

    def update(self) -> None:
        """Record that a run takes the parameters, as they are at this place of the program, into
        the averages.
        """
        averages = list(self._averages.values())
        args = (averages, list(self._params), self._decay, self._step)
        with recorder.in_role(OPTIMIZE):
            recorder.append(
                self._step.block,
                "moving_average_",
                ops.moving_average_,
                args,
                {},
                [*averages, self._step],
            )

    def apply(self, executor: Any, need_restore: bool = True) -> Any:
        """A context in which the parameters are their averages; they stay so without
        ``need_restore``.
        """
        return self._swap.applied(executor, need_restore, "ExponentialMovingAverage.apply")

    def restore(self, executor: Any) -> None:
        """Put back the parameters that ``apply`` replaced."""
        self._swap.restore(executor, "ExponentialMovingAverage.restore")


class RecordedModelAverage:
    """What ``ModelAverage`` does in a program: accumulate at the end of each run, and swap."""

    def __init__(self, optimizer: Any, parameters: Any) -> None:
        params = list(parameters) or default_main_program().all_parameters()
        held: dict[str, list[Variable]] = {}
        for param in params:
            for slot in rule_of(optimizer).slots(param, {}):  # it has no powers
                assert isinstance(slot, Slot)
                made = new_accumulator(f"{param.name}_{slot.name}", param, param.raw.dtype, slot)
                held.setdefault(slot.name, []).append(made)
        backups = held.pop("restore")
        windows = (
            optimizer.average_window,
            optimizer.max_average_window,
            optimizer.min_average_window,
        )
        args = (params, *held.values(), *windows)
        changed = [v for variables in held.values() for v in variables]
        with recorder.in_role(OPTIMIZE):
            recorder.append(
                params[0].block, "average_accumulates", ops.average_accumulates_, args, {}, changed
            )
        sums = ("sum_1", "sum_2", "sum_3", "num_accumulates", "old_num_accumulates")
        by_param = {p.name: [held[key][i] for key in sums] for i, p in enumerate(params)}
        self.swap = ParameterSwap(params, backups)
        self.swap.record(
            lambda p: apply(ops.window_average, *[self.swap.own(v) for v in by_param[p.name]])
        )


def _assign(value: Variable, target: Variable) -> None:
    recorder.append(target.block, "assign", creation_ops.assign, (value,), {}, target)


def _backup(param: Parameter, name: str) -> Variable:
    block = recorder.main.global_block()
    return block.create_var(
        unique_name.generate(name), param.shape, param.dtype, persistable=True, stop_gradient=True
    )


def _require_executor(executor: Any, call: str) -> None:
    if executor is None:
        raise BadArgument(f"{call}: Executor should not be None in static graph mode.")
