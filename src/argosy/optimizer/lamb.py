"""LAMB."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from argosy.ops.training import adam_updates
from argosy.optimizer._settings import number, require_set
from argosy.optimizer.lr import LRScheduler
from argosy.optimizer.optimizer import Optimizer, Params
from argosy.optimizer.state import Power, Slot
from argosy.optimizer.update_group import Options, UpdateGroup, Values
from argosy.tensor.engine import Tensor


class Lamb(Optimizer):
    """Adam with decay in the direction, and a rate per tensor of ‖param‖ / ‖direction‖.

    ``exclude_from_weight_decay_fn(param)`` names the parameters without decay; unless
    ``always_adapt``, these keep the plain rate. It is asked once per parameter.
    """

    type = "lamb"
    _moment1_acc_str = "moment1"
    _moment2_acc_str = "moment2"
    _beta1_pow_acc_str = "beta1_pow_acc"
    _beta2_pow_acc_str = "beta2_pow_acc"
    _corrects = True  # moments are corrected for their start from zero

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        lamb_weight_decay: float = 0.01,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-6,
        parameters: Params = None,
        grad_clip: Any = None,
        exclude_from_weight_decay_fn: Callable[[Tensor], bool] | None = None,
        multi_precision: bool = False,
        always_adapt: bool = False,
        name: str | None = None,
    ) -> None:
        require_set("Lamb", learning_rate=learning_rate, beta1=beta1, beta2=beta2, epsilon=epsilon)
        super().__init__(learning_rate, parameters, None, grad_clip, name)
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon
        self._lamb_weight_decay = lamb_weight_decay
        self._exclude_from_weight_decay_fn = exclude_from_weight_decay_fn
        self._multi_precision = multi_precision
        self.always_adapt = always_adapt

    def _slots(self, param: Tensor, options: Options) -> Sequence[Slot | Power]:
        return (
            Slot("moment1"),
            Slot("moment2"),
            Power("beta1_pow_acc", number(options.get("beta1", self._beta1))),
            Power("beta2_pow_acc", number(options.get("beta2", self._beta2))),
        )

    def _setting(self, param: Tensor, options: Options) -> Hashable:
        excludes = options.get("exclude_from_weight_decay_fn", self._exclude_from_weight_decay_fn)
        if excludes is not None and excludes(param):
            return 0.0
        return float(options.get("lamb_weight_decay", self._lamb_weight_decay))

    def _update(
        self, group: UpdateGroup, params: Values, grads: Values, lr: Any, decay: float
    ) -> None:
        own = group.options
        group.run(
            adam_updates.lamb_,
            params,
            grads,
            group.slots["moment1"],
            group.slots["moment2"],
            group.slots["beta1_pow_acc"],
            group.slots["beta2_pow_acc"],
            lr,
            number(own.get("beta1", self._beta1)),
            number(own.get("beta2", self._beta2)),
            number(own.get("epsilon", self._epsilon)),
            group.setting,
            self.always_adapt,
            self._corrects,
        )
