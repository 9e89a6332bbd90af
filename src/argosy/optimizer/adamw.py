"""AdamW."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from argosy.foundation.errors import DtypeError, NotSupported
from argosy.ops.training import adam_updates
from argosy.optimizer._settings import number
from argosy.optimizer.adam import AdamBase
from argosy.optimizer.facts import RowRule
from argosy.optimizer.lr import LRScheduler
from argosy.optimizer.optimizer import Params
from argosy.optimizer.update_group import Options, UpdateGroup, Values
from argosy.tensor.engine import Tensor


class AdamW(AdamBase):
    """Adam with decoupled weight decay: parameters shrink by ``1 - lr * weight_decay`` each step.

    ``apply_decay_param_fun(name)`` says which parameters decay; ``lr_ratio(param)`` multiplies the
    learning rate. Both are asked once per parameter, not at every step. Differs from Paddle:
    ``lr_ratio`` also works on CPU.
    """

    type = "adamw"

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        parameters: Params = None,
        weight_decay: Any = 0.01,
        use_lowprecision_moment: bool = False,
        lr_ratio: Callable[[Tensor], float] | None = None,
        apply_decay_param_fun: Callable[[str], bool] | None = None,
        grad_clip: Any = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        amsgrad: bool = False,
        name: str | None = None,
    ) -> None:
        if not isinstance(weight_decay, (int, float, Tensor)):
            raise DtypeError(
                "AdamW: weight_decay should be int, float or Tensor, not "
                f"{type(weight_decay).__name__}."
            )
        if use_lowprecision_moment:
            raise NotSupported("AdamW: use_lowprecision_moment=True; moments are kept in float32")
        self._weight_decay = float(weight_decay)
        self._lr_ratio = lr_ratio
        self._apply_decay_param_fun = apply_decay_param_fun
        super().__init__(
            learning_rate,
            beta1,
            beta2,
            epsilon,
            parameters,
            None,
            grad_clip,
            lazy_mode,
            multi_precision,
            amsgrad,
            name,
        )

    def row_rule(self, param: Any) -> RowRule | None:
        rule = super().row_rule(param)
        if rule is None:
            return None
        if self._lr_ratio is not None:
            raise NotSupported(
                "AdamW: lr_ratio is not supported; rows on servers have the optimizer's rate"
            )
        decay = self._weight_decay if self._decays(param) else 0.0
        return RowRule(rule.name, {**rule.settings, "decoupled_decay": decay})

    def _note_group(self, param_group: dict[str, Any]) -> None:
        if param_group["weight_decay"] is None:
            param_group["weight_decay"] = self._weight_decay

    def _setting(self, param: Tensor, options: Options) -> Hashable:
        """Decay and ratio of the learning rate."""
        ratio = 1.0 if self._lr_ratio is None else float(self._lr_ratio(param))
        return self._decays(param), ratio

    def _decays(self, param: Tensor) -> bool:
        chosen = self._apply_decay_param_fun
        return chosen is None or bool(chosen(param.name))

    def _row_rates(self, group: UpdateGroup, lr: float) -> tuple[float, float]:
        decays, ratio = group.setting
        decay = number(group.options.get("weight_decay", self._weight_decay)) if decays else 0.0
        return lr * ratio, decay

    def _update_all(
        self, group: UpdateGroup, params: Values, grads: Values, lr: Any, decay: float, lead: float
    ) -> None:
        beta1, beta2, epsilon = self._hyper(group.options)
        lr, decay = self._row_rates(group, lr)
        slots = group.slots
        group.run(
            adam_updates.adamw_,
            params, grads, slots["moment1"], slots["moment2"],
            slots["moment2_max"] if self._amsgrad else [],
            slots["beta1_pow_acc"], slots["beta2_pow_acc"], lr, beta1, beta2, epsilon, decay,
            self._amsgrad, lead,
        )  # fmt: skip
