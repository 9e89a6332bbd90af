"""SGD."""

from __future__ import annotations

from typing import Any

from argosy.ops.training import row_updates, updates
from argosy.optimizer._settings import require_not_none
from argosy.optimizer.facts import RowRule
from argosy.optimizer.lr import LRScheduler
from argosy.optimizer.optimizer import Optimizer, Params
from argosy.optimizer.update_group import Options, UpdateGroup, Values


class SGD(Optimizer):
    """``param -= lr * grad``. A row-sparse gradient touches its rows only.

    Example:
        >>> import paddle
        >>> w = paddle.create_parameter([2], "float32",
        ...     default_initializer=paddle.nn.initializer.Constant(1.0))
        >>> sgd = paddle.optimizer.SGD(learning_rate=0.5, parameters=[w])
        >>> (w * w).sum().backward()
        >>> sgd.step()
        >>> sgd.clear_grad()
        >>> w.tolist()
        [0.0, 0.0]
    """

    type = "sgd"
    _couples_decay = True

    def __init__(
        self,
        learning_rate: float | LRScheduler = 0.001,
        parameters: Params = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        require_not_none("SGD", learning_rate=learning_rate)
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._multi_precision = multi_precision

    def _update(
        self, group: UpdateGroup, params: Values, grads: Values, lr: Any, decay: float
    ) -> None:
        group.run(updates.sgd_, params, grads, lr, decay)

    def row_rule(self, param: Any) -> RowRule | None:
        return RowRule("sgd")

    def _takes_rows(self, options: Options) -> bool:
        return True

    def _update_rows(self, group: UpdateGroup, params: Values, grads: Values, lr: Any) -> None:
        group.run(row_updates.sgd_sparse_, params, grads, lr)
