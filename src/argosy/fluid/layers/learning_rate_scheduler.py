"""The schedules as functions: a variable that each run of a program computes from
``@LR_DECAY_COUNTER@``, or in dygraph a schedule.

The operators of a rate are left out of test programs, like those of optimizers. Rates are computed
in float64 and rounded once, so that they are those of the formula; Paddle computes them in float32,
which may differ in the last digit.
"""

from __future__ import annotations

import contextlib
import math
from typing import Any

import torch

from argosy import tensor as T
from argosy.fluid.dygraph import learning_rate_scheduler as _schedules
from argosy.fluid.dygraph.tracer import records
from argosy.fluid.layers.nn import autoincreased_step_counter
from argosy.foundation.errors import DtypeError, UsageError
from argosy.static.ir.operator import OPTIMIZE
from argosy.static.record.recorder import recorder
from argosy.tensor.engine import Tensor


def _recording() -> contextlib.AbstractContextManager[None]:
    return recorder.in_role(OPTIMIZE)


def _decay_step_counter(begin: int = 0) -> Any:
    """How many runs there were before this one, plus ``begin``, as float32."""
    return T.cast(autoincreased_step_counter("@LR_DECAY_COUNTER@", begin, 1), "float32")


def _step(begin: int = 0) -> Any:
    """The counter as a number to compute with."""
    return T.cast(autoincreased_step_counter("@LR_DECAY_COUNTER@", begin, 1), "float64")


def _rounded(rate: Any) -> Any:
    return T.cast(rate, "float32")


def _wide(value: Any) -> Any:
    """A rate, a number or a variable, as a factor of what ``_step`` gives."""
    return T.cast(value, "float64") if isinstance(value, Tensor) else float(value)


def _kept(name: str, value: Any) -> Any:
    """A variable of this name that takes over ``value`` in each run and keeps it."""
    variable = recorder.new_state(name, [1], value.raw.dtype, 0.0)
    recorder.write(variable, value)
    return variable


def _number(value: float) -> Any:
    return T.full([1], float(value), "float64")


def noam_decay(d_model: int, warmup_steps: int, learning_rate: Any = 1.0) -> Any:
    """``learning_rate / sqrt(d_model)`` times the smaller of ``step ** -0.5`` and ``step *
    warmup_steps ** -1.5``, from step 1.
    """
    if not records():
        return _schedules.NoamDecay(d_model, warmup_steps, learning_rate=learning_rate)
    with _recording():
        step = _step(1)
        rate = d_model**-0.5 * T.minimum(step**-0.5, warmup_steps**-1.5 * step)
        return _rounded(_wide(learning_rate) * rate)


def _periods(decay_steps: int, staircase: bool) -> Any:
    done = _step() / decay_steps
    return T.floor(done) if staircase else done


def exponential_decay(
    learning_rate: Any, decay_steps: int, decay_rate: float, staircase: bool = False
) -> Any:
    """``learning_rate * decay_rate ** (step / decay_steps)``; ``staircase`` rounds the exponent
    down.

    Example:
        >>> import paddle.fluid as fluid
        >>> main, startup = fluid.Program(), fluid.Program()
        >>> with fluid.program_guard(main, startup):
        ...     rate = fluid.layers.exponential_decay(1.0, decay_steps=1, decay_rate=0.5)
        >>> exe = fluid.Executor(fluid.CPUPlace())
        >>> _ = exe.run(startup)
        >>> [exe.run(main, fetch_list=[rate])[0].item() for _ in range(3)]
        [1.0, 0.5, 0.25]
        >>> paddle.disable_static()
    """
    if not records():
        return _schedules.ExponentialDecay(learning_rate, decay_steps, decay_rate, staircase)
    with _recording():
        rate = decay_rate ** _periods(decay_steps, staircase)
        return _rounded(_wide(learning_rate) * rate)


def natural_exp_decay(
    learning_rate: Any, decay_steps: int, decay_rate: float, staircase: bool = False
) -> Any:
    """``learning_rate * exp(-decay_rate * step / decay_steps)``; ``staircase`` rounds the quotient
    down.
    """
    if not records():
        return _schedules.NaturalExpDecay(learning_rate, decay_steps, decay_rate, staircase)
    with _recording():
        rate = T.exp(-decay_rate * _periods(decay_steps, staircase))
        return _rounded(_wide(learning_rate) * rate)


def inverse_time_decay(
    learning_rate: Any, decay_steps: int, decay_rate: float, staircase: bool = False
) -> Any:
    """``learning_rate / (1 + decay_rate * step / decay_steps)``; ``staircase`` rounds the quotient
    down.
    """
    if not records():
        return _schedules.InverseTimeDecay(learning_rate, decay_steps, decay_rate, staircase)
    with _recording():
        divisor = 1 + decay_rate * _periods(decay_steps, staircase)
        return _rounded(_wide(learning_rate) / divisor)


def polynomial_decay(
    learning_rate: Any,
    decay_steps: int,
    end_learning_rate: float = 0.0001,
    power: float = 1.0,
    cycle: bool = False,
) -> Any:
    """From ``learning_rate`` down to ``end_learning_rate`` as ``(1 - step / decay_steps) **
    power``, in cycles if asked to.
    """
    if not records():
        return _schedules.PolynomialDecay(
            learning_rate, decay_steps, end_learning_rate, power, cycle
        )
    with _recording():
        step = _step()
        if cycle:
            length = decay_steps * T.maximum(T.ceil(step / decay_steps), _number(1.0))
        else:
            length = decay_steps
            step = T.minimum(step, _number(decay_steps))
        left = (1 - step / length) ** power
        return _rounded((_wide(learning_rate) - end_learning_rate) * left + end_learning_rate)


def piecewise_decay(boundaries: Any, values: Any) -> Any:
    """``values[i]`` before step ``boundaries[i]``, the last value after all; kept in the variable
    ``learning_rate``.
    """
    if len(values) - len(boundaries) != 1:
        raise UsageError(
            "fluid.layers.piecewise_decay: len(values) - len(boundaries) should be 1, "
            f"but received {len(values)} values and {len(boundaries)} boundaries"
        )
    if not records():
        return _schedules.PiecewiseDecay(boundaries, values, 0)
    with _recording():
        step = _step()
        rate = _number(values[-1])
        for boundary, value in reversed(list(zip(boundaries, values[:-1], strict=True))):
            rate = T.where(step < float(boundary), _number(value), rate)
        return _kept("learning_rate", _rounded(rate))


def cosine_decay(learning_rate: Any, step_each_epoch: int, epochs: int) -> Any:
    """Half a cosine from ``learning_rate`` to zero, one value per epoch."""
    if not isinstance(learning_rate, (float, Tensor)):
        raise DtypeError(
            "fluid.layers.cosine_decay: learning_rate must be a float or a variable, but "
            f"received {learning_rate!r}"
        )
    if not records():
        start: Any = learning_rate
        return _schedules.CosineDecay(start, step_each_epoch, epochs)
    with _recording():
        epoch = T.floor(_step() / step_each_epoch)
        rate = 0.5 * (T.cos(epoch * math.pi / epochs) + 1)
        return _rounded(_wide(learning_rate) * rate)


def linear_lr_warmup(learning_rate: Any, warmup_steps: int, start_lr: float, end_lr: float) -> Any:
    """From ``start_lr`` towards ``end_lr`` in ``warmup_steps`` steps, then ``learning_rate``, a
    number or a variable.
    """
    if not records():
        return _schedules.LinearLrWarmup(learning_rate, warmup_steps, start_lr, end_lr)
    with _recording(), torch.no_grad():
        step = _step()
        rising = float(start_lr) + (float(end_lr) - float(start_lr)) * (step / float(warmup_steps))
        after = (
            _wide(learning_rate) if isinstance(learning_rate, Tensor) else _number(learning_rate)
        )
        rate = T.where(step < float(warmup_steps), rising, after)
        return _kept("learning_rate_warmup", _rounded(rate))
