"""LookAhead: slow weights that follow another optimizer's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from argosy.foundation.errors import BadArgument
from argosy.ops.training.averaging import lookahead_
from argosy.optimizer.optimizer import Optimizer
from argosy.optimizer.state import Power, Slot
from argosy.optimizer.update_group import Options, UpdateGroup, Values
from argosy.tensor.engine import Tensor


class LookAhead(Optimizer):
    """Let ``inner_optimizer`` step; every ``k`` steps move ``alpha`` of the way from the slow
    weights to the fast ones.

    The slow weights start as the parameters after the first step, as in Paddle.

    Example:
        >>> import paddle
        >>> from paddle.incubate import LookAhead
        >>> model = paddle.nn.Linear(4, 2)
        >>> sgd = paddle.optimizer.SGD(learning_rate=0.1, parameters=model.parameters())
        >>> lookahead = LookAhead(sgd, alpha=0.2, k=5)
        >>> model(paddle.ones([3, 4])).sum().backward()
        >>> lookahead.step()
        >>> lookahead.clear_grad()
    """

    type = "lookahead"

    def __init__(
        self, inner_optimizer: Optimizer, alpha: float = 0.5, k: int = 5, name: str | None = None
    ) -> None:
        if inner_optimizer is None:
            raise BadArgument("LookAhead: inner optimizer can not be None")
        if not 0.0 <= alpha <= 1.0:
            raise BadArgument(f"LookAhead: alpha must be in [0, 1], but received {alpha}")
        if not (isinstance(k, int) and k > 0):
            raise BadArgument(f"LookAhead: k should be a positive integer, but received {k}")
        super().__init__(float(alpha), inner_optimizer.parameters(), None, None, name)
        self.inner_optimizer = inner_optimizer
        self.alpha = alpha
        self.k = k
        self._count = torch.zeros(())

    def _slots(self, param: Tensor, options: Options) -> Sequence[Slot | Power]:
        return (Slot("slow"),)

    def step(self) -> None:
        """Step the inner optimizer and, every ``k``-th time, the slow weights."""
        self.inner_optimizer.step()
        self._follow([p for p in self._param_groups if self._has_grad(p)])

    def minimize(
        self,
        loss: Tensor,
        startup_program: Any = None,
        parameters: Any = None,
        no_grad_set: Any = None,
    ) -> tuple[list[Any], list[tuple[Tensor, Tensor]]]:
        operators, pairs = self.inner_optimizer.minimize(
            loss, startup_program, parameters, no_grad_set
        )
        record = getattr(loss, "record_optimizer", None)
        if record is not None:
            record(self).apply_gradients(pairs, startup_program=startup_program)
        else:
            self._follow([param for param, _ in pairs])
        return operators, pairs

    def _update(
        self, group: UpdateGroup, params: Values, grads: Values, lr: Any, decay: float
    ) -> None:
        """What a program records after the update of the inner optimizer."""
        group.run(lookahead_, params, group.slots["slow"], group.clock.tensor, self.alpha, self.k)

    def _has_grad(self, param: Tensor) -> bool:
        return not param.stop_gradient and (param.raw.grad is not None or param.is_grad_cleared)

    def _follow(self, params: list[Tensor]) -> None:
        if not params:
            self._count += 1
            return
        fast = [p.raw for p in params]
        slow = [self._store.get(p, self._slots(p, {}), False).tensors["slow"].raw for p in params]
        with torch.no_grad():
            lookahead_.fn(fast, slow, self._count, self.alpha, self.k)
