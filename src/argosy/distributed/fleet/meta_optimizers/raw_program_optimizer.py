"""``fleet.meta_optimizers.raw_program_optimizer``: data parallelism alone."""

from __future__ import annotations

from typing import Any

from argosy.distributed.fleet.meta_optimizers.planned import PlannedOptimizer
from argosy.static import default_startup_program
from argosy.static.record.recorder import program_guard

__all__ = ["RawProgramOptimizer"]


class RawProgramOptimizer(PlannedOptimizer):
    """Averages gradients over the workers. Without ``_set_basic_info`` there is one."""

    switch = "without_graph_optimization"
    exchanges = True

    def __init__(self, optimizer: Any) -> None:
        super().__init__(optimizer)
        self.meta_optimizers_white_list = [
            "RecomputeOptimizer", "AMPOptimizer", "GradientMergeOptimizer", "LambOptimizer",
            "LarsOptimizer", "DGCOptimizer", "LocalSGDOptimizer",
        ]  # fmt: skip
        self.startup_program: Any = None

    def _can_apply(self) -> bool:
        strategy = self.user_defined_strategy
        return bool(
            self.role_maker.is_collective
            and strategy.without_graph_optimization
            and not strategy.tensor_parallel
            and not strategy.sharding
        )

    def minimize_impl(
        self,
        loss: Any,
        startup_program: Any = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
    ) -> tuple[Any, Any]:
        self.startup_program = startup_program
        found: tuple[Any, Any] = self.inner_opt.minimize(
            loss, startup_program, parameter_list, no_grad_set
        )
        self._transpile_main_program(loss)
        return found

    def _transpile_main_program(self, loss: Any) -> None:
        """Have workers average the gradients of the loss's program, which is recorded already."""
        startup = self.startup_program or default_startup_program()
        with program_guard(loss.block.program, startup):
            self._recorder()[0].exchange_gradients(loss.block.program)
