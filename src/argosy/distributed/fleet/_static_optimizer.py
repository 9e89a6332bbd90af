"""``minimize`` of a distributed optimizer while a program is being recorded: the stages of the plan become part of the program.

The program itself stays as it is recorded. How its runs combine gradients over workers is a BuildStrategy that is attached to it, so
``Executor.run(program)`` finds it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy.distributed.fleet._plan import Plan
from argosy.distributed.fleet._rules import RULES
from argosy.foundation.errors import NotSupported
from argosy.static import BuildStrategy, CompiledProgram

__all__ = ["recorder"]

_RECORDED = ("data_parallel", "sync_batch_norm", "gradient_scale", *RULES)
_SCALES = {"sum": "One", "customized": "Customized"}


def recorder(plan: Plan, fleet: Any) -> Callable[..., Any]:
    """What records ``optimizer.minimize(loss)`` as ``plan`` says, for the workers of ``fleet``."""
    for stage in plan:
        if stage.name not in _RECORDED:
            raise NotSupported(f"DistributedStrategy.{stage.name} is not supported in static mode")

    def record(optimizer: Any, loss: Any, startup_program: Any, parameters: Any, no_grad_set: Any) -> Any:
        result = optimizer.minimize(loss, startup_program, parameters, no_grad_set)
        if "data_parallel" in plan:
            program = loss.block.program
            program._compiled = CompiledProgram(program, build_strategy(plan, fleet))
        return result

    return record


def build_strategy(plan: Plan, fleet: Any) -> BuildStrategy:
    """How a run of the program works together with the other workers."""
    build: BuildStrategy = fleet._user_defined_strategy.build_strategy
    build.num_trainers, build.trainer_id = fleet.worker_num(), fleet.worker_index()
    build.sync_batch_norm = "sync_batch_norm" in plan
    if "gradient_scale" in plan:
        name = _SCALES[plan.settings("gradient_scale")["scale_strategy"]]
        build.gradient_scale_strategy = getattr(BuildStrategy.GradientScaleStrategy, name)
    return build
