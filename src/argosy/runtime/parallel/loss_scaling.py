"""Loss scaling that the script does not see: gradients grow where they enter the model, and shrink
again before the update.

::

    scale = LossScale(initial=32768.0)
    outputs = grown(outputs, scale)     # in forward, behind the last layer
    loss_of(outputs).backward()         # gradients of the parameters are times scale.value
    if scale.shrink(params, group):     # they are divided again; False: one overflowed, on some
    rank
        optimizer.step()

Two things are as with a scaler: float16 gradients inside the model do not vanish, and steps that
overflow are left out, by all ranks or by none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from argosy.foundation import torch_private as private
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.overflow import found_anywhere


class LossScale:
    """The factor and its rule: after ``incr_every`` finite steps in a row it grows, after
    ``decr_every`` others in a row it shrinks, not below 1.
    """

    def __init__(
        self,
        initial: float = 32768.0,
        incr_every: int = 1000,
        decr_every: int = 2,
        incr_ratio: float = 2.0,
        decr_ratio: float = 0.8,
        is_dynamic: bool = True,
    ) -> None:
        self.value = float(initial)
        self._rule = (incr_every, decr_every, incr_ratio, decr_ratio)
        self._is_dynamic = is_dynamic
        self._num_good = 0
        self._num_bad = 0

    @torch.no_grad()
    def shrink(self, params: Sequence[torch.Tensor], group: Group | None) -> bool:
        """Divide the gradients by the factor and adapt it; whether all of them are finite on all
        ranks.
        """
        values = [private.stored(p.grad) for p in params if p.grad is not None]
        if values:
            private.foreach_mul_(values, 1.0 / self.value)
        is_bad = not all(bool(torch.isfinite(v).all()) for v in values)
        if group is not None:
            is_bad = found_anywhere(is_bad, group)
        self._adapt(is_bad)
        return not is_bad

    def _adapt(self, is_bad: bool) -> None:
        incr_every, decr_every, incr_ratio, decr_ratio = self._rule
        self._num_good, self._num_bad = (
            (0, self._num_bad + 1) if is_bad else (self._num_good + 1, 0)
        )
        if not self._is_dynamic:
            return
        if self._num_good == incr_every:
            self.value, self._num_good = self.value * incr_ratio, 0
        elif self._num_bad == decr_every:
            self.value, self._num_bad = max(self.value * decr_ratio, 1.0), 0

    def state_dict(self) -> dict[str, float]:
        return {"value": self.value, "num_good": self._num_good, "num_bad": self._num_bad}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.value = float(state["value"])
        self._num_good, self._num_bad = int(state["num_good"]), int(state["num_bad"])


class _Grown(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: torch.Tensor, factor: float) -> torch.Tensor:
        ctx.factor = factor
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        return grad * ctx.factor, None


def grown(value: torch.Tensor, scale: LossScale) -> torch.Tensor:
    """``value``, whose gradient is multiplied by the factor."""
    if not value.requires_grad:
        return value
    return _Grown.apply(value, scale.value)  # type: ignore[no-untyped-call]
