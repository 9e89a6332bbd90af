"""Update rules that later versions have no optimizers for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.ops.training import older_updates
from argosy.optimizer.optimizer import Optimizer
from argosy.optimizer.state import Slot
from argosy.optimizer.update_group import UpdateGroup, Values
from argosy.tensor.engine import Tensor


class DecayedAdagrad(Optimizer):
    type = "decayed_adagrad"
    _moment_acc_str = "moment"

    def __init__(self, learning_rate: Any, decay: float, epsilon: float, **settings: Any) -> None:
        super().__init__(learning_rate, **settings)
        self._decay, self._epsilon = decay, epsilon

    def _slots(self, param: Tensor, options: Any) -> Sequence[Slot]:
        return (Slot("moment"),)

    def _update(
        self, group: UpdateGroup, params: Values, grads: Values, lr: Any, decay: float
    ) -> None:
        moments = group.slots["moment"]
        group.run(
            older_updates.decayed_adagrad_, params, grads, moments, lr, self._decay, self._epsilon
        )


class Ftrl(Optimizer):
    type = "ftrl"
    _squared_acc_str = "squared"
    _linear_acc_str = "linear"

    def __init__(
        self, learning_rate: Any, l1: float, l2: float, lr_power: float, **settings: Any
    ) -> None:
        super().__init__(learning_rate, **settings)
        self._l1, self._l2, self._lr_power = l1, l2, lr_power

    def _slots(self, param: Tensor, options: Any) -> Sequence[Slot]:
        return Slot("squared"), Slot("linear")

    def _update(
        self, group: UpdateGroup, params: Values, grads: Values, lr: Any, decay: float
    ) -> None:
        slots = group.slots["squared"], group.slots["linear"]
        settings = self._l1, self._l2, self._lr_power
        group.run(older_updates.ftrl_, params, grads, *slots, lr, *settings)


class Dpsgd(Optimizer):
    type = "dpsgd"

    def __init__(
        self, learning_rate: Any, clip: float, batch_size: float, sigma: float, **settings: Any
    ) -> None:
        super().__init__(learning_rate, **settings)
        self._clip, self._batch_size, self._sigma = clip, batch_size, sigma
        self._seed = 0  # other than 0: the noise of every step is the same

    def _update(
        self, group: UpdateGroup, params: Values, grads: Values, lr: Any, decay: float
    ) -> None:
        settings = self._clip, self._batch_size, self._sigma, self._seed
        group.run(older_updates.dpsgd_, params, grads, lr, *settings)
