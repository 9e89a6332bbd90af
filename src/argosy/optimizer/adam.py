"""Adam."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.ops.training import adam_updates, row_updates
from argosy.optimizer._settings import number, require_betas, require_set
from argosy.optimizer.facts import RowRule
from argosy.optimizer.lr import LRScheduler
from argosy.optimizer.optimizer import Optimizer, Params
from argosy.optimizer.state import Power, Slot
from argosy.optimizer.update_group import Options, UpdateGroup, Values
from argosy.tensor.engine import Tensor


class SparseDecay(RuntimeError):
    """Weight decay was asked for on a parameter with row-sparse gradients."""


class AdamBase(Optimizer):
    """What Adam and AdamW have in common: their state, and the lazy update of row-sparse
    gradients.
    """

    _moment1_acc_str = "moment1"
    _moment2_acc_str = "moment2"
    _moment2_max_acc_str = "moment2_max"
    _beta1_pow_acc_str = "beta1_pow_acc"
    _beta2_pow_acc_str = "beta2_pow_acc"
    _row_lead = 0.0  # how many steps ahead the bias correction of row-sparse updates is
    # epsilon is added to the root of the second moment before its bias is corrected
    _plain_epsilon = False

    def __init__(
        self,
        learning_rate: float | LRScheduler,
        beta1: Any,
        beta2: Any,
        epsilon: Any,
        parameters: Params,
        weight_decay: Any,
        grad_clip: Any,
        lazy_mode: bool,
        multi_precision: bool,
        amsgrad: bool,
        name: str | None,
    ) -> None:
        owner = type(self).__name__
        require_set(owner, learning_rate=learning_rate)
        require_betas(owner, beta1, beta2, epsilon)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon
        self._lazy_mode = lazy_mode
        self._multi_precision = multi_precision
        self._amsgrad = amsgrad

    def hyperparameters(self) -> dict[str, Any]:
        return {"beta1": self._beta1, "beta2": self._beta2, "epsilon": self._epsilon}

    def row_rule(self, param: Any) -> RowRule | None:
        if self._amsgrad:
            return None
        return RowRule("adam", {k: float(v) for k, v in self.hyperparameters().items()})

    def _slots(self, param: Tensor, options: Options) -> Sequence[Slot | Power]:
        return (
            Slot("moment1"),
            Slot("moment2"),
            *([Slot("moment2_max")] if self._amsgrad else []),
            Power("beta1_pow_acc", number(options.get("beta1", self._beta1))),
            Power("beta2_pow_acc", number(options.get("beta2", self._beta2))),
        )

    def _hyper(self, options: Options) -> tuple[float, float, float]:
        if options:
            return (
                number(options.get("beta1", self._beta1)),
                number(options.get("beta2", self._beta2)),
                number(options.get("epsilon", self._epsilon)),
            )
        return number(self._beta1), number(self._beta2), number(self._epsilon)

    def _keeps_rows(self, param: Tensor, options: Options) -> bool:
        if self.regularization is not None:
            raise SparseDecay(
                f"{type(self).__name__} don't support weight_decay with sparse parameters, "
                "please set it to None. "
                f"Parameter {param.name!r} has a row-sparse gradient."
            )
        return super()._keeps_rows(param, options)

    def _takes_rows(self, options: Options) -> bool:
        return True

    def _update_rows(self, group: UpdateGroup, params: Values, grads: Values, lr: Any) -> None:
        if not group.options.get("lazy_mode", self._lazy_mode):
            self._update_all(group, params, group.dense(grads), lr, 0.0, self._row_lead)
            return
        lr, decay = self._row_rates(group, lr)
        slots = group.slots
        group.run(
            row_updates.adam_sparse_,
            params, grads, slots["moment1"], slots["moment2"], slots.get("moment2_max", []),
            slots["beta1_pow_acc"], slots["beta2_pow_acc"], lr,
            *self._hyper(group.options), decay, self._row_lead, self._plain_epsilon,
        )  # fmt: skip

    def _update(
        self, group: UpdateGroup, params: Values, grads: Values, lr: Any, decay: float
    ) -> None:
        self._update_all(group, params, grads, lr, decay, 0.0)

    def _update_all(
        self, group: UpdateGroup, params: Values, grads: Values, lr: Any, decay: float, lead: float
    ) -> None:
        """Update every element; the bias correction is ``lead`` steps ahead."""
        raise NotImplementedError

    def _row_rates(self, group: UpdateGroup, lr: float) -> tuple[float, float]:
        """Learning rate and decoupled decay of a row-sparse update."""
        return lr, 0.0


class Adam(AdamBase):
    """Adam. ``amsgrad`` divides by the largest second moment so far.

    With row-sparse gradients, ``lazy_mode`` updates only the rows present; otherwise the others
    count as zero gradients. ``use_multi_tensor`` changes nothing: updates always take all tensors
    at once.

    Example:
        >>> import paddle
        >>> model = paddle.nn.Linear(4, 2)
        >>> adam = paddle.optimizer.Adam(learning_rate=0.01, parameters=model.parameters())
        >>> model(paddle.ones([3, 4])).sum().backward()
        >>> adam.step()
        >>> adam.clear_grad()
        >>> len(adam.state_dict())
        8
    """

    type = "adam"
    _couples_decay = True
    # Paddle's kernel for row-sparse gradients advances the powers of beta before it uses them
    _row_lead = 1.0

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        parameters: Params = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        use_multi_tensor: bool = False,
        amsgrad: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(
            learning_rate, beta1, beta2, epsilon, parameters, weight_decay, grad_clip, lazy_mode,
            multi_precision,
            amsgrad, name,
        )  # fmt: skip

    def _update_all(
        self, group: UpdateGroup, params: Values, grads: Values, lr: Any, decay: float, lead: float
    ) -> None:
        beta1, beta2, epsilon = self._hyper(group.options)
        slots = group.slots
        group.run(
            adam_updates.adam_,
            params, grads, slots["moment1"], slots["moment2"],
            slots["moment2_max"] if self._amsgrad else [],
            slots["beta1_pow_acc"], slots["beta2_pow_acc"], lr, beta1, beta2, epsilon, decay,
            self._amsgrad, self._plain_epsilon, lead,
        )  # fmt: skip
