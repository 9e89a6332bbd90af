"""The rule of ``DistributedStrategy.adam_d2sum``, by which servers update dense parameters in place
of Adam: squares of gradients are averaged over a decaying count of pushes.
"""

from __future__ import annotations

from typing import Any

import torch

from argosy.foundation.errors import NotSupported
from argosy.optimizer import Adam, AdamW
from argosy.runtime.ps.tables.dense_table import DenseSpec, MakeState, MakeUpdate, Update

__all__ = ["d2sum_update", "replaces"]

_MOMENT_DECAY, _SQUARES_DECAY, _EPSILON = 0.99, 0.9999, 1e-8


def replaces(optimizer: Any) -> bool:
    """Whether the rule takes the place of an optimizer: of Adam alone, others stay."""
    if not isinstance(optimizer, Adam) or isinstance(optimizer, AdamW):
        return False
    if optimizer.clip is not None or optimizer.regularization is not None:
        raise NotSupported(
            "DistributedStrategy.adam_d2sum: an Adam with grad_clip or weight_decay; set "
            "adam_d2sum = False"
        )
    return True


def d2sum_update(optimizer: Any) -> MakeUpdate:
    """What makes the rule of a server's dense parameters; only the rate is the optimizer's."""

    def make(spec: DenseSpec, values: list[torch.Tensor], make_state: MakeState) -> Update:
        states = [
            tuple(
                make_state(piece, name, tuple(value.shape), 0.0)
                for name in ("moment", "g2sum", "d2sum")
            )
            for piece, value in zip(spec.pieces, values, strict=True)
        ]

        def update(grads: list[torch.Tensor], learning_rate: float | None) -> None:
            rate = float(optimizer.get_lr()) if learning_rate is None else learning_rate
            for value, (moment, g2sum, d2sum), grad in zip(values, states, grads, strict=True):
                _step(value, moment, g2sum, d2sum, grad, rate)

        return update

    return make


def _step(
    value: torch.Tensor,
    moment: torch.Tensor,
    squares: torch.Tensor,
    count: torch.Tensor,
    grad: torch.Tensor,
    rate: float,
) -> None:
    with torch.no_grad():
        count.mul_(_SQUARES_DECAY).add_(1.0)
        squares.mul_(_SQUARES_DECAY).addcmul_(grad, grad)
        floor = count * _EPSILON
        scale = ((count + floor) / (squares + floor)).sqrt_()
        moment.add_(grad).mul_(_MOMENT_DECAY).sub_(grad)
        value.addcmul_(moment, scale, value=rate)
