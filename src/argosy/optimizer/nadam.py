"""NAdam."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.ops.training import adam_updates
from argosy.optimizer._settings import require_betas, require_not_negative
from argosy.optimizer.lr import LRScheduler
from argosy.optimizer.optimizer import Optimizer, Params
from argosy.optimizer.state import Power, Slot
from argosy.optimizer.update_group import Options, UpdateGroup, Values
from argosy.tensor.engine import Tensor


class NAdam(Optimizer):
    """Adam with Nesterov momentum, whose momentum grows with the steps at a pace set by
    ``momentum_decay``.
    """

    type = "nadam"

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.002,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        momentum_decay: float = 0.004,
        parameters: Params = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        if isinstance(learning_rate, (float, int)):
            require_not_negative("NAdam", learning_rate=learning_rate)
        require_betas("NAdam", beta1, beta2, epsilon)
        require_not_negative("NAdam", momentum_decay=momentum_decay)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon
        self._momentum_decay = momentum_decay

    def _slots(self, param: Tensor, options: Options) -> Sequence[Slot | Power]:
        return (
            Slot("momentum_decay_pow", 1.0),
            Slot("beta2_pow", 1.0),
            Slot("mu_product", 1.0),
            Slot("moment1"),
            Slot("moment2"),
        )

    def _update(
        self, group: UpdateGroup, params: Values, grads: Values, lr: Any, decay: float
    ) -> None:
        own = group.options
        group.run(
            adam_updates.nadam_,
            params,
            grads,
            *group.slots.values(),
            lr,
            own.get("beta1", self._beta1),
            own.get("beta2", self._beta2),
            own.get("epsilon", self._epsilon),
            own.get("momentum_decay", self._momentum_decay),
        )
