"""Adadelta."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.ops.training import updates
from argosy.optimizer._settings import require_not_none
from argosy.optimizer.lr import LRScheduler
from argosy.optimizer.optimizer import Optimizer, Params
from argosy.optimizer.state import Power, Slot
from argosy.optimizer.update_group import Options, UpdateGroup, Values
from argosy.tensor.engine import Tensor


class Adadelta(Optimizer):
    """Scales gradients by the ratio of the root mean squares of past updates and past gradients."""

    type = "adadelta"
    _avg_squared_grad_acc_str = "_avg_squared_grad"
    _avg_squared_update_acc_str = "_avg_squared_update"

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        epsilon: float = 1e-6,
        rho: float = 0.95,
        parameters: Params = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        require_not_none("Adadelta", learning_rate=learning_rate, epsilon=epsilon, rho=rho)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._epsilon = epsilon
        self._rho = rho

    def _slots(self, param: Tensor, options: Options) -> Sequence[Slot | Power]:
        return Slot("_avg_squared_grad"), Slot("_avg_squared_update")

    def _update(
        self, group: UpdateGroup, params: Values, grads: Values, lr: Any, decay: float
    ) -> None:
        own, slots = group.options, group.slots
        group.run(
            updates.adadelta_,
            params,
            grads,
            slots["_avg_squared_grad"],
            slots["_avg_squared_update"],
            lr,
            own.get("rho", self._rho),
            own.get("epsilon", self._epsilon),
        )
