"""Meta optimizers that record one switch of DistributedStrategy each, as ``distributed_optimizer``
does for all of them together.
"""

from __future__ import annotations

import copy
from typing import Any, ClassVar

from argosy.distributed.fleet.base.distributed_strategy import DistributedStrategy
from argosy.distributed.fleet.meta_optimizers.meta_optimizer_base import MetaOptimizerBase
from argosy.distributed.fleet.planning.strategy_plan import (
    STATIC,
    SWITCHES,
    Facts,
    Plan,
    make_plan,
)
from argosy.distributed.fleet.stages.layer_optimizer import optimizer_kinds
from argosy.distributed.fleet.stages.layer_trainee import BUILDERS
from argosy.distributed.fleet.stages.program_optimizer import ProgramRecorder
from argosy.distributed.fleet.stages.programs.workers import Workers
from argosy.distributed.fleet.stages.rules import replaced
from argosy.tensor.engine import defaults

__all__ = [
    "AMPOptimizer",
    "AdaptiveLocalSGDOptimizer",
    "DGCOptimizer",
    "FP16AllReduceOptimizer",
    "GradientMergeOptimizer",
    "LambOptimizer",
    "LarsOptimizer",
    "LocalSGDOptimizer",
    "PlannedOptimizer",
    "RecomputeOptimizer",
    "ShardingOptimizer",
]


class PlannedOptimizer(MetaOptimizerBase):
    """Records ``switch`` of the strategy and nothing else of it. ``exchanges``: workers talk to
    each other for it.
    """

    switch: ClassVar[str] = ""
    exchanges: ClassVar[bool] = False

    def __init__(self, optimizer: Any) -> None:
        super().__init__(optimizer)
        self._recording: tuple[ProgramRecorder, Any] | None = None

    def _recorded_for(self) -> Workers | None:
        role = self.role_maker
        if not self.exchanges or role is None or role.worker_num() < 2:
            return None
        return Workers(role.worker_index(), role.worker_num())

    def _plan(self) -> Plan:
        strategy = copy.deepcopy(self.user_defined_strategy) or DistributedStrategy()
        for other in SWITCHES - {self.switch}:
            setattr(strategy, other, False)
        workers = self._recorded_for()
        facts = Facts(
            num_workers=1 if workers is None else workers.nranks,
            mode=STATIC,
            optimizer=optimizer_kinds(self._rule()),
            device=defaults.device.type,
        )
        return make_plan(strategy, facts)

    def _rule(self) -> Any:
        """The optimizer that updates, inside all others."""
        rule = self.inner_opt
        while isinstance(rule, MetaOptimizerBase):
            rule = rule.inner_opt
        return rule

    def _recorder(self) -> tuple[ProgramRecorder, Any]:
        """What records, and the optimizer that it is to record, which the plan may replace."""
        if self._recording is None:
            plan = self._plan()
            recorder = ProgramRecorder(
                plan, self._rule(), self.user_defined_strategy, self._recorded_for()
            )
            self._recording = recorder, replaced(plan, self.inner_opt, BUILDERS)
        return self._recording

    def _can_apply(self) -> bool:
        role = self.role_maker
        is_collective = role is None or role.is_collective
        return bool(is_collective and self.switch in self._plan())

    def _disable_strategy(self, dist_strategy: Any) -> None:
        setattr(dist_strategy, self.switch, False)

    def _enable_strategy(self, dist_strategy: Any, context: Any = None) -> None:
        setattr(dist_strategy, self.switch, True)

    def backward(
        self,
        loss: Any,
        startup_program: Any = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
        callbacks: Any = None,
    ) -> Any:
        self.loss = loss
        recorder, optimizer = self._recorder()
        return recorder.backward(optimizer, loss, startup_program, parameter_list, no_grad_set)

    def apply_gradients(self, params_grads: Any) -> Any:
        return self.apply_optimize(self.loss, None, params_grads)

    def apply_optimize(self, loss: Any, startup_program: Any, params_grads: Any) -> Any:
        recorder, optimizer = self._recorder()
        return recorder.apply(optimizer, loss, startup_program, params_grads)

    def __getattr__(self, name: str) -> Any:
        if name in ("amp_init", "get_loss_scaling", "get_scaled_loss") and self.switch == "amp":
            return getattr(self._recorder()[0].mixed_precision, name)
        return super().__getattr__(name)


class AMPOptimizer(PlannedOptimizer):
    """Mixed precision."""

    switch = "amp"


class RecomputeOptimizer(PlannedOptimizer):
    """Computes what lies between checkpoints again in backward."""

    switch = "recompute"


class GradientMergeOptimizer(PlannedOptimizer):
    """Updates with the sum of the gradients of several runs."""

    switch = "gradient_merge"


class LarsOptimizer(PlannedOptimizer):
    """Momentum becomes LARS."""

    switch = "lars"


class LambOptimizer(PlannedOptimizer):
    """Adam becomes LAMB."""

    switch = "lamb"


class FP16AllReduceOptimizer(PlannedOptimizer):
    """Gradients travel in 16 bits."""

    switch = "fp16_allreduce"
    exchanges = True


class DGCOptimizer(PlannedOptimizer):
    """The largest entries of gradients travel."""

    switch = "dgc"
    exchanges = True


class LocalSGDOptimizer(PlannedOptimizer):
    """Parameters are averaged instead of gradients, every few steps."""

    switch = "localsgd"
    exchanges = True


class AdaptiveLocalSGDOptimizer(PlannedOptimizer):
    """As LocalSGDOptimizer, with intervals that follow the loss."""

    switch = "adaptive_localsgd"
    exchanges = True


class ShardingOptimizer(PlannedOptimizer):
    """Each worker keeps a part of the optimizer's state."""

    switch = "sharding"
    exchanges = True
