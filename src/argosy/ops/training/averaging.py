"""Averages of parameters over past updates, and slow weights that follow fast ones."""

from __future__ import annotations

import torch
from torch import Tensor

from argosy.foundation import torch_private as private
from argosy.ops.table import op

Tensors = list[Tensor]

# additions into one buffer before its sum moves to the next, so that small terms are not lost
_MOVE_EVERY = 16384


@op(
    "average_accumulates_",
    types=("average_accumulates",),
    mutates=("sum_1s", "sum_2s", "sum_3s", "num_accumulates", "old_num_accumulates", "num_updates"),
)
def average_accumulates_(
    params: Tensors,
    sum_1s: Tensors,
    sum_2s: Tensors,
    sum_3s: Tensors,
    num_accumulates: Tensors,
    old_num_accumulates: Tensors,
    num_updates: Tensors,
    average_window: float,
    max_average_window: int,
    min_average_window: int,
) -> Tensors:
    """Add parameters to their sums in place and return the sums.

    The average is (sum_1 + sum_2 + sum_3) / (num_accumulates + old_num_accumulates). When the
    window is full, sum_3 takes the sums so far and a new window begins.
    """
    for param, one, two, three, count, old_count, updates in zip(
        params,
        sum_1s,
        sum_2s,
        sum_3s,
        num_accumulates,
        old_num_accumulates,
        num_updates,
        strict=True,
    ):
        updates.add_(1)
        count.add_(1)
        one.add_(param)
        total, length = int(updates), int(count)
        if total % _MOVE_EVERY == 0:
            two.add_(one)
            one.zero_()
        if length >= min_average_window and length >= min(
            max_average_window, int(total * average_window)
        ):
            three.copy_(one + two)
            one.zero_()
            two.zero_()
            old_count.fill_(length)
            count.zero_()
    return sum_1s


@op("window_average")
def window_average(
    sum_1: Tensor,
    sum_2: Tensor,
    sum_3: Tensor,
    num_accumulates: Tensor,
    old_num_accumulates: Tensor,
) -> Tensor:
    """The average that the sums of ``average_accumulates_`` stand for."""
    return (sum_1 + sum_2 + sum_3).float() / (num_accumulates + old_num_accumulates).float()


@op("lookahead_", types=("lookahead",), mutates=("fast", "slow", "step"))
def lookahead_(fast: Tensors, slow: Tensors, step: Tensor, alpha: float, k: int) -> Tensors:
    """Count a step in ``step``; at the first, slow weights become the fast ones; every ``k``-th,
    both move in between.
    """
    count = int(step.add_(1.0))
    if count == 1:
        private.foreach_copy_(slow, fast)
    if count % k == 0:
        private.foreach_mul_(slow, 1.0 - alpha)
        private.foreach_add_(slow, fast, alpha=alpha)
        private.foreach_copy_(fast, slow)
    return fast


@op("moving_average_", mutates=("averages", "step"))
def moving_average_(averages: Tensors, values: Tensors, decay: Tensor, step: Tensor) -> Tensors:
    """averages = decay * averages + (1 - decay) * values; counts the step."""
    step.add_(1)
    for average, value in zip(averages, values, strict=True):
        average.copy_(average * decay + value * (1 - decay))
    return averages


@op("unbiased_average")
def unbiased_average(average: Tensor, decay: Tensor, step: Tensor) -> Tensor:
    """A moving average that started at zero, corrected for that; as it is before the first step."""
    rest = 1.0 - decay.pow(step.to(decay.dtype))
    return average / torch.where(step > 0, rest, torch.ones_like(rest))
