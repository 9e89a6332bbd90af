"""Rprop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.foundation.errors import NotSupported, UsageError
from argosy.ops.training import updates
from argosy.optimizer._settings import require_not_none
from argosy.optimizer.lr import LRScheduler
from argosy.optimizer.optimizer import Optimizer, Params
from argosy.optimizer.state import Power, Slot
from argosy.optimizer.update_group import Options, UpdateGroup, Values
from argosy.tensor.engine import Tensor


class Rprop(Optimizer):
    """Resilient propagation: a rate per element that grows while its gradient keeps its sign. For
    full batches.

    ``learning_rate`` is where the rates start; they stay within ``learning_rate_range`` and change
    by the factors ``etas``.
    """

    type = "rprop"

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        learning_rate_range: tuple[float, float] = (1e-5, 50),
        parameters: Params = None,
        etas: tuple[float, float] = (0.5, 1.2),
        grad_clip: Any = None,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        require_not_none("Rprop", learning_rate=learning_rate)
        if isinstance(learning_rate, LRScheduler):
            raise NotSupported(
                "Rprop: learning_rate as a scheduler; each element has its own rate after the "
                "first step"
            )
        if not 0.0 < learning_rate_range[0] <= learning_rate <= learning_rate_range[1]:
            raise UsageError(
                f"Rprop: learning_rate {learning_rate} must lie in learning_rate_range "
                f"{learning_rate_range}, above 0"
            )
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise UsageError(
                f"Rprop: etas must satisfy 0 < etas[0] < 1 < etas[1], but received {etas}"
            )
        super().__init__(learning_rate, parameters, None, grad_clip, name)
        self._initial_learning_rate = learning_rate
        self._learning_rate_range = tuple(learning_rate_range)
        self._etas = tuple(etas)
        self._multi_precision = multi_precision

    def _slots(self, param: Tensor, options: Options) -> Sequence[Slot | Power]:
        return Slot("prevs"), Slot("learning_rates", self._initial_learning_rate)

    def _update(
        self, group: UpdateGroup, params: Values, grads: Values, lr: Any, decay: float
    ) -> None:
        group.run(
            updates.rprop_,
            params,
            grads,
            *group.slots.values(),
            *self._learning_rate_range,
            *self._etas,
        )
