"""LARS: momentum with a rate per layer."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from argosy.ops.training import updates
from argosy.optimizer._settings import require_set
from argosy.optimizer.lr import LRScheduler
from argosy.optimizer.optimizer import Optimizer, Params
from argosy.optimizer.state import Power, Slot
from argosy.optimizer.update_group import Options, UpdateGroup, Values
from argosy.tensor.engine import Tensor


class LarsMomentumOptimizer(Optimizer):
    """Momentum whose rate for each tensor is scaled by ``lars_coeff·‖param‖ / (‖grad‖ +
    lars_weight_decay·‖param‖)``.

    Parameters whose name contains one of ``exclude_from_weight_decay`` get plain momentum.
    """

    type = "lars_momentum"
    _velocity_acc_str = "velocity"

    def __init__(
        self,
        learning_rate: float | LRScheduler,
        momentum: float,
        lars_coeff: float = 0.001,
        lars_weight_decay: float = 0.0005,
        parameter_list: Params = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
        exclude_from_weight_decay: list[str] | None = None,
        epsilon: float = 0,
        multi_precision: bool = False,
        rescale_grad: float = 1.0,
    ) -> None:
        require_set("LarsMomentumOptimizer", learning_rate=learning_rate, momentum=momentum)
        super().__init__(learning_rate, parameter_list, regularization, grad_clip, name)
        self._momentum = momentum
        self._lars_coeff = float(lars_coeff)
        self._lars_weight_decay = float(lars_weight_decay)
        self._exclude_from_weight_decay = exclude_from_weight_decay or []
        self._epsilon = float(epsilon)
        self._multi_precision = multi_precision
        self._rescale_grad = float(rescale_grad)

    def _slots(self, param: Tensor, options: Options) -> Sequence[Slot | Power]:
        return (Slot("velocity"),)

    def _setting(self, param: Tensor, options: Options) -> Hashable:
        is_excluded = any(part in param.name for part in self._exclude_from_weight_decay)
        return 0.0 if is_excluded else self._lars_weight_decay

    def _update(
        self, group: UpdateGroup, params: Values, grads: Values, lr: Any, decay: float
    ) -> None:
        group.run(
            updates.lars_momentum_,
            params,
            grads,
            group.slots["velocity"],
            lr,
            self._momentum,
            self._lars_coeff,
            group.setting,
            self._epsilon,
            self._rescale_grad,
        )
