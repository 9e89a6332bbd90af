"""ASGD: stochastic average gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from argosy.foundation.errors import UsageError
from argosy.ops.training import updates
from argosy.optimizer._settings import require_not_none
from argosy.optimizer.lr import LRScheduler
from argosy.optimizer.optimizer import Optimizer, Params
from argosy.optimizer.state import Power, Slot
from argosy.optimizer.update_group import Options, UpdateGroup, Values
from argosy.tensor.engine import Tensor


class ASGD(Optimizer):
    """Steps along the mean of the last ``batch_num`` gradients, which it keeps."""

    type = "asgd"

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        batch_num: int = 1,
        parameters: Params = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        require_not_none("ASGD", learning_rate=learning_rate, batch_num=batch_num)
        if batch_num <= 0:
            raise UsageError(f"ASGD: batch_num should be greater than 0, but received {batch_num}")
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._n = batch_num
        self._multi_precision = multi_precision

    def _slots(self, param: Tensor, options: Options) -> Sequence[Slot | Power]:
        return (
            Slot("d"),
            Slot("y", shape=(self._n, *param.raw.shape)),
            Slot("m", shape=(1,), dtype=torch.int64),
        )

    def _update(
        self, group: UpdateGroup, params: Values, grads: Values, lr: Any, decay: float
    ) -> None:
        group.run(updates.asgd_, params, grads, *group.slots.values(), lr)
