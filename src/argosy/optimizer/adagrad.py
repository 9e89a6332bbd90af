"""Adagrad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.ops.training import row_updates, updates
from argosy.optimizer._settings import require_set
from argosy.optimizer.facts import RowRule
from argosy.optimizer.lr import LRScheduler
from argosy.optimizer.optimizer import Optimizer, Params
from argosy.optimizer.state import Power, Slot
from argosy.optimizer.update_group import Options, UpdateGroup, Values
from argosy.tensor.engine import Tensor


class Adagrad(Optimizer):
    """Divides the rate by the root of the sum of squared gradients, which starts at
    ``initial_accumulator_value``.
    """

    type = "adagrad"
    _moment_acc_str = "moment"
    _couples_decay = True

    def __init__(
        self,
        learning_rate: float | LRScheduler,
        epsilon: float = 1e-6,
        parameters: Params = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
        initial_accumulator_value: float = 0.0,
    ) -> None:
        require_set("Adagrad", learning_rate=learning_rate, epsilon=epsilon)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._epsilon = epsilon
        self.initial_accumulator_value = initial_accumulator_value

    def row_rule(self, param: Any) -> RowRule | None:
        first = float(self.initial_accumulator_value)
        return RowRule("adagrad", {"epsilon": self._epsilon}, first)

    def _slots(self, param: Tensor, options: Options) -> Sequence[Slot | Power]:
        return (
            Slot(
                "moment", options.get("initial_accumulator_value", self.initial_accumulator_value)
            ),
        )

    def _update(
        self, group: UpdateGroup, params: Values, grads: Values, lr: Any, decay: float
    ) -> None:
        epsilon = group.options.get("epsilon", self._epsilon)
        group.run(updates.adagrad_, params, grads, group.slots["moment"], lr, epsilon, decay)

    def _takes_rows(self, options: Options) -> bool:
        return True

    def _update_rows(self, group: UpdateGroup, params: Values, grads: Values, lr: Any) -> None:
        epsilon = group.options.get("epsilon", self._epsilon)
        group.run(row_updates.adagrad_sparse_, params, grads, group.slots["moment"], lr, epsilon)
