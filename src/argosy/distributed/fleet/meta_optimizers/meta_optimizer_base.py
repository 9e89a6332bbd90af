"""``fleet.meta_optimizers.meta_optimizer_base``: an optimizer around another one."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import NotSupported
from argosy.static.record.recorder import program_guard

__all__ = ["MetaOptimizerBase"]


class MetaOptimizerBase:
    """Records what ``inner_opt`` records; subclasses add to it. What it does not define is
    ``inner_opt``'s.
    """

    def __init__(self, optimizer: Any) -> None:
        self.inner_opt = optimizer
        self.meta_optimizers_white_list: list[str] = []
        self.meta_optimizers_black_list: list[str] = []
        self.loss: Any = None
        self.role_maker: Any = None
        self.user_defined_optimizer: Any = None
        self.user_defined_strategy: Any = None

    def __getattr__(self, name: str) -> Any:
        if name == "inner_opt":
            raise AttributeError(name)
        return getattr(self.inner_opt, name)

    def _set_basic_info(
        self,
        loss: Any,
        role_maker: Any,
        user_defined_optimizer: Any,
        user_defined_strategy: Any,
    ) -> None:
        self.loss = loss
        self.role_maker = role_maker
        self.user_defined_optimizer = user_defined_optimizer
        self.user_defined_strategy = user_defined_strategy

    def _update_inner_optimizer(self, optimizer: Any) -> None:
        self.inner_opt = optimizer

    def _can_apply(self) -> bool:
        """Whether the strategy asks for this optimizer."""
        return False

    def _is_graph_out(self) -> bool:
        return False

    def _can_update(self, optimizer: Any) -> bool:
        """Whether ``optimizer`` may stand inside this one."""
        return type(optimizer).__name__ in self.meta_optimizers_white_list

    def _disable_strategy(self, dist_strategy: Any) -> None:
        raise NotSupported(f"you should implement disable strategy in {type(self).__name__}")

    def _enable_strategy(self, dist_strategy: Any, context: Any = None) -> None:
        raise NotSupported(f"you should implement enable strategy in {type(self).__name__}")

    def backward(
        self,
        loss: Any,
        startup_program: Any = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
        callbacks: Any = None,
    ) -> Any:
        """Record the backward pass; returns the (parameter, gradient) pairs."""
        return self.inner_opt.backward(
            loss, startup_program, parameter_list, no_grad_set, callbacks
        )

    def apply_gradients(self, params_grads: Any) -> Any:
        """Record the update of the pairs in the default program."""
        return self.inner_opt.apply_gradients(params_grads)

    def apply_optimize(self, loss: Any, startup_program: Any, params_grads: Any) -> Any:
        """Record the update of the pairs in the loss's program."""
        with program_guard(loss.block.program, startup_program):
            return self.apply_gradients(params_grads)

    def minimize_impl(
        self,
        loss: Any,
        startup_program: Any = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
    ) -> tuple[Any, Any]:
        pairs = self.backward(loss, startup_program, parameter_list, no_grad_set)
        return self.apply_optimize(loss, startup_program, pairs), pairs

    def minimize(
        self,
        loss: Any,
        startup_program: Any = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
    ) -> tuple[Any, Any]:
        """Record backward and update; returns the operators of the update and the pairs."""
        return self.minimize_impl(loss, startup_program, parameter_list, no_grad_set)
