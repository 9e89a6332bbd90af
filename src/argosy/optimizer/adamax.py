"""Adamax."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.ops.training import adam_updates
from argosy.optimizer._settings import number, require_betas, require_set
from argosy.optimizer.lr import LRScheduler
from argosy.optimizer.optimizer import Optimizer, Params
from argosy.optimizer.state import Power, Slot
from argosy.optimizer.update_group import Options, UpdateGroup, Values
from argosy.tensor.engine import Tensor


class Adamax(Optimizer):
    """Adam with the infinity norm of past gradients in place of the second moment."""

    type = "adamax"
    _moment_acc_str = "moment"
    _inf_norm_acc_str = "inf_norm"
    _beta1_pow_acc_str = "beta1_pow_acc"

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        parameters: Params = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        require_set("Adamax", learning_rate=learning_rate)
        require_betas("Adamax", beta1, beta2, epsilon)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon

    def _slots(self, param: Tensor, options: Options) -> Sequence[Slot | Power]:
        beta1 = number(options.get("beta1", self._beta1))
        return Slot("moment"), Slot("inf_norm"), Power("beta1_pow_acc", beta1)

    def _update(
        self, group: UpdateGroup, params: Values, grads: Values, lr: Any, decay: float
    ) -> None:
        own = group.options
        group.run(
            adam_updates.adamax_,
            params,
            grads,
            group.slots["moment"],
            group.slots["inf_norm"],
            group.slots["beta1_pow_acc"],
            lr,
            number(own.get("beta1", self._beta1)),
            number(own.get("beta2", self._beta2)),
            number(own.get("epsilon", self._epsilon)),
        )
