"""Running sums of parameters over a window of updates, for averaged models."""

from __future__ import annotations

from torch import Tensor

from argosy.ops.table import op

Tensors = list[Tensor]

_MOVE_EVERY = 16384  # additions into one buffer before its sum moves to the next, so that small terms are not lost


@op("average_accumulates_", aliases=("average_accumulates",))
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

    The average is (sum_1 + sum_2 + sum_3) / (num_accumulates + old_num_accumulates). When the window is full, sum_3 takes
    the sums so far and a new window begins.
    """
    for param, one, two, three, count, old_count, updates in zip(
        params, sum_1s, sum_2s, sum_3s, num_accumulates, old_num_accumulates, num_updates, strict=True
    ):
        updates.add_(1)
        count.add_(1)
        one.add_(param)
        total, length = int(updates), int(count)
        if total % _MOVE_EVERY == 0:
            two.add_(one)
            one.zero_()
        if length >= min_average_window and length >= min(max_average_window, int(total * average_window)):
            three.copy_(one + two)
            one.zero_()
            two.zero_()
            old_count.fill_(length)
            count.zero_()
    return sum_1s
