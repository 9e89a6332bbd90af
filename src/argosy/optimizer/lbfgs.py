"""L-BFGS, on torch's implementation, from which Paddle's does not differ."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

import torch

from argosy.foundation.errors import NotSupported, UsageError
from argosy.optimizer.optimizer import Optimizer, Params
from argosy.tensor.engine import Tensor, rewrap, unwrap

# Paddle's name of each entry of the state, and torch's.
_ENTRIES = {
    "func_evals": "func_evals",
    "n_iter": "n_iter",
    "d": "d",
    "alpha": "t",
    "old_yk": "old_dirs",
    "old_sk": "old_stps",
    "ro": "ro",
    "H_diag": "H_diag",
    "prev_flat_grad": "prev_flat_grad",
    "prev_loss": "prev_loss",
    "al": "al",
}


class UnknownLineSearch(UsageError, RuntimeError):
    """The line search asked for does not exist."""


class LBFGS(Optimizer):
    """Limited-memory BFGS. ``step(closure)`` calls the closure, which clears gradients, computes
    the loss and goes backward.

    ``weight_decay`` and ``grad_clip`` have no effect, as in Paddle; giving one warns.

    Example:
        >>> import paddle
        >>> w = paddle.create_parameter([2], "float32",
        ...     default_initializer=paddle.nn.initializer.Constant(3.0))
        >>> lbfgs = paddle.optimizer.LBFGS(parameters=[w])
        >>> def closure():
        ...     lbfgs.clear_grad()
        ...     loss = ((w - 1.0) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> first_loss = lbfgs.step(closure)
        >>> [round(v, 4) for v in w.tolist()]
        [1.0, 1.0]
    """

    type = "lbfgs"

    def __init__(
        self,
        learning_rate: float = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        parameters: Params = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(1.0, parameters, weight_decay, grad_clip, name)
        if line_search_fn not in (None, "strong_wolfe"):
            raise UnknownLineSearch(
                f"LBFGS: only 'strong_wolfe' is supported, but received {line_search_fn!r}"
            )
        if weight_decay is not None or grad_clip is not None:
            warnings.warn(
                "LBFGS: weight_decay and grad_clip have no effect, as in Paddle", stacklevel=2
            )
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        self.tolerance_grad = tolerance_grad
        self.tolerance_change = tolerance_change
        self.history_size = history_size
        self.line_search_fn = line_search_fn
        self._engine = torch.optim.LBFGS(
            [p.raw for p in self._parameters()], learning_rate, max_iter, self.max_eval,
            tolerance_grad,
            tolerance_change, history_size, line_search_fn,
        )  # fmt: skip

    @property
    def _engine_state(self) -> dict[str, Any]:
        state: dict[str, Any] = self._engine.state[self._engine.param_groups[0]["params"][0]]
        return state

    def step(self, closure: Callable[[], Tensor]) -> Tensor:  # type: ignore[override]
        """Take up to ``max_iter`` iterations; returns the loss of the first evaluation."""
        first: list[Tensor] = []

        def evaluate() -> torch.Tensor:
            loss = closure()
            if not first:
                first.append(loss)
            return loss.raw

        self._engine.step(evaluate)  # type: ignore[no-untyped-call]
        return first[0]

    def minimize(
        self,
        loss: Any,
        startup_program: Any = None,
        parameters: Any = None,
        no_grad_set: Any = None,
    ) -> NoReturn:
        raise NotSupported(
            "LBFGS.minimize: the loss has to be evaluated again and again; call step(closure)"
        )

    def state_dict(self) -> dict[str, Any]:
        """Directions, gradients and counts so far, under ``state``; empty before the first step."""
        own = self._engine_state
        return {
            "state": {
                name: rewrap(own[theirs]) for name, theirs in _ENTRIES.items() if theirs in own
            }
        }

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        # the engine overwrites its state in place
        saved = copy.deepcopy(unwrap(state_dict["state"]))
        own = self._engine_state
        own.clear()
        own.update({theirs: saved[name] for name, theirs in _ENTRIES.items() if name in saved})

    load_state_dict = set_dict = set_state_dict
