"""GradientMergeOptimizer: larger batches than memory allows, in programs."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import BadArgument, NotSupported
from argosy.framework.mode import switch

__all__: list[str] = []


class GradientMergeOptimizer:
    """Let ``inner_optimizer`` update at every ``k_steps``-th run, from the sum (``avg``: the mean)
    of the gradients since.

    For programs only; in dynamic mode, call ``backward`` several times before ``step``.
    """

    type = "gradient_merge"

    def __init__(self, inner_optimizer: Any, k_steps: int = 1, avg: bool = True) -> None:
        if not switch.is_static:
            raise NotSupported(
                "GradientMergeOptimizer: in dynamic mode, call backward() k_steps times and then "
                "optimizer.step()"
            )
        if inner_optimizer is None:
            raise BadArgument("GradientMergeOptimizer: inner optimizer can not be None")
        self.inner_optimizer = inner_optimizer
        self.avg = avg
        self._set_k_steps(k_steps)

    def _set_k_steps(self, k_steps: int) -> None:
        if not isinstance(k_steps, int) or k_steps < 1:
            raise BadArgument(
                "GradientMergeOptimizer: k_steps should be a positive integer, but received "
                f"{k_steps}"
            )
        self.k_steps = k_steps

    def _set_avg(self, avg: bool) -> None:
        self.avg = avg

    def backward(
        self,
        loss: Any,
        startup_program: Any = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
        callbacks: Any = None,
    ) -> Any:
        """Record the backward pass of ``loss``."""
        if parameter_list is not None or no_grad_set is not None:
            raise BadArgument(
                "GradientMergeOptimizer: parameter_list and no_grad_set should be None"
            )
        return self.inner_optimizer.backward(loss, startup_program, callbacks=callbacks)

    def apply_gradients(self, params_grads: Any, startup_program: Any = None) -> list[Any]:
        """Record the sums and, for every ``k_steps``-th run, the update."""
        from argosy.static.record.gradient_merge import record_gradient_merge

        apply = self.inner_optimizer.apply_gradients
        return record_gradient_merge(params_grads, self.k_steps, self.avg, apply, startup_program)

    def apply_optimize(self, loss: Any, startup_program: Any, params_grads: Any) -> list[Any]:
        return self.apply_gradients(params_grads, startup_program)

    def minimize(
        self,
        loss: Any,
        startup_program: Any = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
    ) -> tuple[list[Any], Any]:
        """Record backward, sums and update; returns the operators of the update and the (parameter,
        gradient) pairs.
        """
        pairs = self.backward(loss, startup_program, parameter_list, no_grad_set)
        return self.apply_gradients(pairs, startup_program), pairs
