"""Momentum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.ops.training import updates
from argosy.optimizer._settings import require_not_none
from argosy.optimizer.facts import RowRule
from argosy.optimizer.lr import LRScheduler
from argosy.optimizer.optimizer import Optimizer, Params
from argosy.optimizer.state import Power, Slot
from argosy.optimizer.update_group import Options, UpdateGroup, Values
from argosy.regularizer import L2Decay
from argosy.tensor.engine import Tensor


class Momentum(Optimizer):
    """``velocity = momentum * velocity + grad; param -= lr * velocity``; Nesterov looks one step
    ahead.

    ``rescale_grad`` multiplies gradients before the decay is added. Differs from Paddle: it also
    does on CPU, where Paddle's kernel leaves it out. ``use_multi_tensor`` changes nothing: updates
    always take all tensors at once.
    """

    type = "momentum"
    _velocity_acc_str = "velocity"
    _couples_decay = True

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        momentum: float = 0.9,
        parameters: Params = None,
        use_nesterov: bool = False,
        weight_decay: Any = None,
        grad_clip: Any = None,
        multi_precision: bool = False,
        rescale_grad: float = 1.0,
        use_multi_tensor: bool = False,
        name: str | None = None,
    ) -> None:
        require_not_none("Momentum", learning_rate=learning_rate, momentum=momentum)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._momentum = momentum
        self._use_nesterov = bool(use_nesterov)
        self._rescale_grad = rescale_grad
        self._multi_precision = multi_precision

    def hyperparameters(self) -> dict[str, Any]:
        return {"momentum": self._momentum, "use_nesterov": self._use_nesterov}

    def row_rule(self, param: Any) -> RowRule | None:
        if self._rescale_grad != 1.0:
            return None
        settings = {"momentum": self._momentum, "use_nesterov": float(self._use_nesterov)}
        return RowRule("momentum", settings)

    def _note_group(self, param_group: dict[str, Any]) -> None:
        if param_group["weight_decay"] is None:
            # Here, unlike in the other rules, a group's None turns the optimizer's decay off.
            param_group["weight_decay"] = L2Decay(0.0)
        super()._note_group(param_group)

    def _slots(self, param: Tensor, options: Options) -> Sequence[Slot | Power]:
        return (Slot("velocity"),)

    def _update(
        self, group: UpdateGroup, params: Values, grads: Values, lr: Any, decay: float
    ) -> None:
        own = group.options
        group.run(
            updates.momentum_,
            params,
            grads,
            group.slots["velocity"],
            lr,
            own.get("momentum", self._momentum),
            own.get("use_nesterov", self._use_nesterov),
            decay,
            own.get("rescale_grad", self._rescale_grad),
        )
