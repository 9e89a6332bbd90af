"""RecomputeOptimizer: less memory for more time, in programs."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import BadArgument, NotSupported, UsageError
from argosy.framework.mode import switch

__all__: list[str] = []


class RecomputeOptimizer:
    """Let the backward pass of ``optimizer`` compute what lies between checkpoints again instead of
    keeping it.

    For programs only. Name the checkpoints with ``_set_checkpoints`` before ``minimize``.
    """

    def __init__(self, optimizer: Any) -> None:
        if not switch.is_static:
            raise UsageError("RecomputeOptimizer: In dygraph, we don't support RecomputeOptimizer.")
        self._optimizer = optimizer
        self._checkpoints: list[Any] | None = None

    def _set_checkpoints(self, checkpoints: Any) -> None:
        if not isinstance(checkpoints, list):
            raise BadArgument(
                "RecomputeOptimizer: checkpoints should be a list of variables or of their names"
            )
        self._checkpoints = checkpoints

    def backward(
        self,
        loss: Any,
        startup_program: Any = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
        callbacks: Any = None,
    ) -> Any:
        """Record the backward pass of ``loss``."""
        if self._checkpoints is None:
            raise BadArgument("RecomputeOptimizer: You should call _set_checkpoints first")
        from argosy.static.record.recompute import recompute_program

        pairs = self._optimizer.backward(
            loss, startup_program, parameter_list, no_grad_set, callbacks
        )
        recompute_program(loss.block.program, self._checkpoints)
        return pairs

    def load(self, state_dict: Any) -> None:
        """Refuse, as Paddle does: a program loads its state with ``paddle.static.load``."""
        raise NotSupported("load function is not supported by Recompute Optimizer for now")

    def apply_gradients(self, params_grads: Any) -> Any:
        return self._optimizer.apply_gradients(params_grads)

    def apply_optimize(self, loss: Any, startup_program: Any, params_grads: Any) -> Any:
        """Record the update."""
        from argosy.static.record.recorder import program_guard

        with program_guard(loss.block.program, startup_program):
            return self._optimizer.apply_gradients(params_grads)

    def minimize(
        self,
        loss: Any,
        startup_program: Any = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
    ) -> tuple[Any, Any]:
        """Record backward and update; returns the operators of the update and the (parameter,
        gradient) pairs.
        """
        pairs = self.backward(loss, startup_program, parameter_list, no_grad_set)
        return self.apply_optimize(loss, startup_program, pairs), pairs
