"""RMSProp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.ops.training import updates
from argosy.optimizer._settings import require_not_negative, require_not_none
from argosy.optimizer.lr import LRScheduler
from argosy.optimizer.optimizer import Optimizer, Params
from argosy.optimizer.state import Power, Slot
from argosy.optimizer.update_group import Options, UpdateGroup, Values
from argosy.tensor.engine import Tensor


class RMSProp(Optimizer):
    """Divides gradients by the root of their mean square plus ``epsilon``; ``centered`` subtracts
    their mean first.
    """

    type = "rmsprop"
    _momentum_acc_str = "momentum"
    _mean_square_acc_str = "mean_square"
    _mean_grad_acc_str = "mean_grad"

    def __init__(
        self,
        learning_rate: float | LRScheduler,
        rho: float = 0.95,
        epsilon: float = 1e-6,
        momentum: float = 0.0,
        centered: bool = False,
        parameters: Params = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        require_not_none(
            "RMSProp", learning_rate=learning_rate, rho=rho, epsilon=epsilon, momentum=momentum
        )
        require_not_negative("RMSProp", epsilon=epsilon, momentum=momentum, rho=rho)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._rho = rho
        self._epsilon = epsilon
        self._momentum = momentum
        self._centered = centered

    def _slots(self, param: Tensor, options: Options) -> Sequence[Slot | Power]:
        return Slot("momentum"), Slot("mean_square"), Slot("mean_grad")

    def _update(
        self, group: UpdateGroup, params: Values, grads: Values, lr: Any, decay: float
    ) -> None:
        own, slots = group.options, group.slots
        group.run(
            updates.rmsprop_,
            params,
            grads,
            slots["momentum"],
            slots["mean_square"],
            slots["mean_grad"],
            lr,
            own.get("rho", self._rho),
            own.get("epsilon", self._epsilon),
            own.get("momentum", self._momentum),
            own.get("centered", self._centered),
        )
