"""The schedules as functions: in dygraph each returns the schedule of ``fluid.dygraph``."""

from __future__ import annotations

from typing import Any

from argosy.fluid._missing import missing_names
from argosy.fluid.dygraph import learning_rate_scheduler as _schedules

__all__ = [
    "cosine_decay",
    "exponential_decay",
    "inverse_time_decay",
    "linear_lr_warmup",
    "natural_exp_decay",
    "noam_decay",
    "piecewise_decay",
    "polynomial_decay",
]


def noam_decay(d_model: int, warmup_steps: int, learning_rate: float = 1.0) -> _schedules.NoamDecay:
    """As ``fluid.dygraph.NoamDecay``."""
    return _schedules.NoamDecay(d_model, warmup_steps, learning_rate=learning_rate)


def exponential_decay(
    learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool = False
) -> _schedules.ExponentialDecay:
    """As ``fluid.dygraph.ExponentialDecay``."""
    return _schedules.ExponentialDecay(learning_rate, decay_steps, decay_rate, staircase)


def natural_exp_decay(
    learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool = False
) -> _schedules.NaturalExpDecay:
    """As ``fluid.dygraph.NaturalExpDecay``."""
    return _schedules.NaturalExpDecay(learning_rate, decay_steps, decay_rate, staircase)


def inverse_time_decay(
    learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool = False
) -> _schedules.InverseTimeDecay:
    """As ``fluid.dygraph.InverseTimeDecay``."""
    return _schedules.InverseTimeDecay(learning_rate, decay_steps, decay_rate, staircase)


def polynomial_decay(
    learning_rate: float, decay_steps: int, end_learning_rate: float = 0.0001, power: float = 1.0, cycle: bool = False
) -> _schedules.PolynomialDecay:
    """As ``fluid.dygraph.PolynomialDecay``."""
    return _schedules.PolynomialDecay(learning_rate, decay_steps, end_learning_rate, power, cycle)


def piecewise_decay(boundaries: Any, values: Any) -> _schedules.PiecewiseDecay:
    """As ``fluid.dygraph.PiecewiseDecay`` from step 0."""
    return _schedules.PiecewiseDecay(boundaries, values, 0)


def cosine_decay(learning_rate: float, step_each_epoch: int, epochs: int) -> _schedules.CosineDecay:
    """As ``fluid.dygraph.CosineDecay``."""
    return _schedules.CosineDecay(learning_rate, step_each_epoch, epochs)


def linear_lr_warmup(
    learning_rate: Any, warmup_steps: int, start_lr: float, end_lr: float
) -> _schedules.LinearLrWarmup:
    """As ``fluid.dygraph.LinearLrWarmup``."""
    return _schedules.LinearLrWarmup(learning_rate, warmup_steps, start_lr, end_lr)


__getattr__ = missing_names(__name__, globals())
