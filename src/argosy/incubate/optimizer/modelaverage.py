"""ModelAverage: evaluate with the average of past parameters."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from argosy.foundation.errors import UsageError
from argosy.framework.mode import switch
from argosy.ops.training.averaging import average_accumulates_, window_average
from argosy.optimizer.optimizer import Optimizer, Params
from argosy.optimizer.state import Power, Slot
from argosy.optimizer.update_group import Options
from argosy.tensor.engine import Tensor

_SUMS = ("sum_1", "sum_2", "sum_3")
_COUNTS = ("num_accumulates", "old_num_accumulates", "num_updates")


class ModelAverage(Optimizer):
    """Sums the parameters at each ``step()``; inside ``apply()`` the parameters are their averages.

    The window holds about ``average_window_rate`` of all updates, at least ``min_average_window``
    and at most ``max_average_window``.

    Example:
        >>> import paddle
        >>> from paddle.incubate import ModelAverage
        >>> w = paddle.create_parameter([1], "float32",
        ...     default_initializer=paddle.nn.initializer.Constant(1.0))
        >>> sgd = paddle.optimizer.SGD(learning_rate=0.25, parameters=[w])
        >>> average = ModelAverage(0.5, parameters=[w], min_average_window=2, max_average_window=10)
        >>> for _ in range(2):
        ...     (w * w).sum().backward()
        ...     sgd.step()
        ...     average.step()
        ...     sgd.clear_grad()
        >>> with average.apply():
        ...     print(w.tolist())
        [0.375]
        >>> w.tolist()
        [0.25]
    """

    type = "average_accumulates"

    def __init__(
        self,
        average_window_rate: float,
        parameters: Params = None,
        min_average_window: int = 10000,
        max_average_window: int = 10000,
        name: str | None = None,
    ) -> None:
        super().__init__(0.0, parameters, None, None, name)
        if min_average_window > max_average_window:
            raise UsageError(
                f"ModelAverage: min_average_window {min_average_window} must not be greater than "
                f"max_average_window {max_average_window}"
            )
        self.average_window = average_window_rate
        self.min_average_window = min_average_window
        self.max_average_window = max_average_window
        self._recorded: Any = None
        if switch.is_static:
            # not needed, nor loaded, in dynamic mode
            from argosy.static.record.average import RecordedModelAverage

            self._recorded = RecordedModelAverage(self, self._parameters())

    def _slots(self, param: Tensor, options: Options) -> Sequence[Slot | Power]:
        sums = [Slot(name) for name in (*_SUMS, "restore")]
        return [*sums, *(Slot(name, shape=(1,), dtype=torch.int64) for name in _COUNTS)]

    def _tensors(self, params: list[Tensor], name: str) -> list[torch.Tensor]:
        return [self._store.get(p, self._slots(p, {}), False).tensors[name].raw for p in params]

    def step(self) -> None:
        """Add the parameters that have gradients to their sums."""
        params = self._parameters()
        for param in params:
            self._store.get(param, self._slots(param, {}), False)
        chosen = [
            p
            for p in params
            if not p.stop_gradient and (p.raw.grad is not None or p.is_grad_cleared)
        ]
        names = (*_SUMS, *_COUNTS)
        with torch.no_grad():
            average_accumulates_.fn(
                [p.raw for p in chosen],
                *(self._tensors(chosen, name) for name in names),
                self.average_window,
                self.max_average_window,
                self.min_average_window,
            )

    def minimize(
        self,
        loss: Tensor,
        startup_program: Any = None,
        parameters: Any = None,
        no_grad_set: Any = None,
    ) -> Any:
        """Step; in a program the constructor has recorded everything."""
        if self._recorded is None:
            self.step()

    def apply(self, executor: Any = None, need_restore: bool = True) -> Any:
        """A context in which the parameters are their averages; at its end they are put back unless
        told not to.

        ``executor`` runs the replacement in static mode.
        """
        if self._recorded is not None:
            return self._recorded.swap.applied(executor, need_restore, "ModelAverage.apply")
        return self._applied(need_restore)

    @contextlib.contextmanager
    def _applied(self, need_restore: bool) -> Iterator[None]:
        with torch.no_grad():
            for param in self._parameters():
                state = self._store.by_param.get(param.name)
                if state is None:
                    raise UsageError(
                        "ModelAverage.apply: there is nothing to average before the first step()"
                    )
                held = {name: tensor.raw for name, tensor in state.tensors.items()}
                held["restore"].copy_(param.raw)
                param.raw.copy_(
                    window_average.fn(
                        *(held[name] for name in _SUMS), *(held[name] for name in _COUNTS[:2])
                    )
                )
        try:
            yield
        finally:
            if need_restore:
                self.restore()

    def restore(self, executor: Any = None) -> None:
        """Put back the parameters that ``apply`` replaced."""
        if self._recorded is not None:
            self._recorded.swap.restore(executor, "ModelAverage.restore")
            return
        with torch.no_grad():
            for param in self._parameters():
                param.raw.copy_(self._store.by_param[param.name].tensors["restore"].raw)
