"""LocalSGD: ranks train on their own and meet now and then, when parameters become their mean over
the ranks.

Use it around any optimizer, with gradients that are *not* averaged (no reducer, or everything under
``no_sync()``)::

    local = LocalSGD(params, group, k_steps=4, begin_step=1)
    ...
    optimizer.step()
    local.step()                # after every step of the optimizer, on every rank

    adaptive = AdaptiveLocalSGD(params, group, init_k_steps=1, begin_step=1)
    ...
    adaptive.step(loss, lr)     # the rank's loss and the learning rate of this step

Ranks start from equal parameters. Up to and including step ``begin_step`` they meet after every
step, then after every ``k_steps``. The optimizer's state stays local. ``state_dict`` holds the
counters only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from argosy.foundation.errors import UsageError
from argosy.runtime.comm.backend import ReduceOp
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.averages import combine_gradients

_MOST_STEPS = 16


class LocalSGD:
    """Averages ``params`` (the same list on every rank) every ``k_steps`` calls of ``step``."""

    def __init__(
        self, params: Sequence[torch.Tensor], group: Group, k_steps: int = 1, begin_step: int = 1
    ) -> None:
        if k_steps < 1:
            raise UsageError(f"LocalSGD: k_steps must be at least 1, but is {k_steps}")
        self._params = [p.detach() for p in params]
        self._group = group
        self.k_steps = k_steps
        self.begin_step = begin_step
        self.num_steps = 0
        self.last_meeting = 0  # the step after which parameters were last averaged

    def step(self) -> bool:
        """Count a step of the optimizer, and average if it is time to; says whether it was."""
        self.num_steps += 1
        if self.num_steps > self.begin_step and self.num_steps - self.last_meeting != self.k_steps:
            return False
        self.average()
        return True

    def average(self) -> None:
        """Average now, as at the end of training; every rank calls it."""
        self._group.run(
            combine_gradients, self._params, 1.0 / self._group.nranks, self._group.transport
        )
        self.last_meeting = self.num_steps

    def state_dict(self) -> dict[str, float]:
        return {
            "num_steps": self.num_steps,
            "last_meeting": self.last_meeting,
            "k_steps": self.k_steps,
        }

    def load_state_dict(self, state: dict[str, float]) -> None:
        self.num_steps, self.last_meeting = int(state["num_steps"]), int(state["last_meeting"])
        self.k_steps = int(state["k_steps"])


class AdaptiveLocalSGD:
    """LocalSGD whose ``k_steps`` follows the training: ``ceil(sqrt(lr_0·loss /
    (lr·loss_0)·init_k_steps))``, from 1 to 16.

    ``loss`` is the mean over the ranks at the averaging, ``loss_0`` and ``lr_0`` are those of the
    first step.
    """

    def __init__(
        self,
        params: Sequence[torch.Tensor],
        group: Group,
        init_k_steps: int = 1,
        begin_step: int = 1,
    ) -> None:
        self._local = LocalSGD(params, group, init_k_steps, begin_step)
        self._group = group
        self._init_k_steps = init_k_steps
        self._first_loss = 0.0
        self._first_lr = 0.0

    @property
    def k_steps(self) -> int:
        """Steps until parameters are averaged next, counted from the last time."""
        return self._local.k_steps

    def step(self, loss: torch.Tensor | float, lr: float) -> bool:
        """Count a step of the optimizer, and average and choose the next ``k_steps`` if it is time
        to; says whether it was.
        """
        if self._local.num_steps == 0:
            self._first_loss, self._first_lr = self._mean(loss), lr
        if not self._local.step():
            return False
        if self._local.num_steps > self._local.begin_step:
            self._local.k_steps = next_k_steps(
                self._init_k_steps, self._first_loss, self._mean(loss), self._first_lr, lr
            )
        return True

    def average(self) -> None:
        """Average now, as at the end of training; every rank calls it."""
        self._local.average()

    def _mean(self, loss: torch.Tensor | float) -> float:
        value = torch.tensor(float(loss), dtype=torch.float64)
        self._group.run(self._group.transport.all_reduce, value, ReduceOp.AVG)
        return value.item()

    def state_dict(self) -> dict[str, float]:
        return {
            **self._local.state_dict(),
            "first_loss": self._first_loss,
            "first_lr": self._first_lr,
        }

    def load_state_dict(self, state: dict[str, float]) -> None:
        self._local.load_state_dict(state)
        self._first_loss, self._first_lr = state["first_loss"], state["first_lr"]


def next_k_steps(
    init_k_steps: int, first_loss: float, loss: float, first_lr: float, lr: float
) -> int:
    """How many steps to go alone: fewer as the loss falls, more as the learning rate does.

    A ratio that is no number, or negative, gives 1: without a sign of progress ranks stay together.
    """
    below = lr * first_loss
    ratio = first_lr * loss / below * init_k_steps if below else math.nan
    if not ratio >= 0.0:
        return 1
    return (
        _MOST_STEPS
        if ratio > _MOST_STEPS**2
        else min(max(math.ceil(math.sqrt(ratio)), 1), _MOST_STEPS)
    )
