"""What ``fleet.distributed_optimizer`` returns for a ``torch.optim`` optimizer: a torch optimizer
with the stages of the plan around its steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from argosy.distributed.fleet.planning.settings import Sharding
from argosy.distributed.fleet.planning.strategy_plan import Plan
from argosy.distributed.fleet.stages.optimizer_stages import make_stages
from argosy.distributed.fleet.stages.rules import MomentumRule, replaced
from argosy.distributed.fleet.stages.torch_trainee import BUILDERS, TorchTrainee, momentum_of
from argosy.distributed.fleet.stages.trainee import StagedSteps
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.sharding.sharded_optimizer import ShardedOptimizer

__all__ = ["DistributedTorchOptimizer", "wrapped"]


def wrapped(
    given: torch.optim.Optimizer,
    plan: Plan,
    group: Group | None,
    sharding: tuple[Group, Group | None] | None,
) -> torch.optim.Optimizer:
    """The distributed optimizer that stands for ``given``; ``given`` itself where the plan has
    nothing for it.
    """
    momentum = momentum_of(given) if "dgc" in plan else MomentumRule()
    optimizer: torch.optim.Optimizer = replaced(plan, given, BUILDERS)
    over, replicas = (None, None) if sharding is None else sharding
    if over is not None and plan[Sharding].stage < 3:
        optimizer, over = ShardedOptimizer(optimizer, over), None
    trainee = TorchTrainee(optimizer, group, replicas, momentum, over)
    stages = make_stages(trainee, plan)
    if (
        optimizer is given
        and not stages
        and not any(note.switch == "adaptive_localsgd" for note in plan.notes)
    ):
        return given
    return DistributedTorchOptimizer(StagedSteps(trainee, stages), plan)


class DistributedTorchOptimizer(torch.optim.Optimizer):
    """Steps ``inner`` through the stages of ``plan``. Groups and state are those of ``inner``, the
    same objects.
    """

    def __init__(self, steps: StagedSteps, plan: Plan) -> None:
        self.inner: torch.optim.Optimizer = steps.trainee.optimizer
        self.steps = steps
        self.plan = plan
        self._is_made = False
        super().__init__(self.inner.param_groups, self.inner.defaults)
        self._is_made = True
        self._share()

    def _share(self) -> None:
        self.param_groups, self.state = self.inner.param_groups, self.inner.state

    def step(self, closure: Callable[[], Any] | None = None, loss: Any = None) -> Any:
        """Update, if the stages agree that it is time. ``adaptive_localsgd`` needs the ``loss``, or
        a closure that returns it.
        """
        result = None
        if closure is not None:
            with torch.enable_grad():
                result = closure()
        self.steps.step(result if loss is None else loss)
        return result

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients, unless a stage is still adding them up."""
        if not self.steps.keeps_gradients():
            super().zero_grad(set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        if self._is_made:
            self.inner.add_param_group(param_group)
            self._share()
        else:
            super().add_param_group(param_group)

    def clip_grad_norm_(self, max_norm: float) -> torch.Tensor:
        """Scale the gradients so that their joint norm is at most ``max_norm``, whoever holds them;
        returns the norm before.
        """
        if isinstance(self.inner, ShardedOptimizer):
            return self.inner.clip_grad_norm_(max_norm)
        return torch.nn.utils.clip_grad_norm_(
            [p for g in self.param_groups for p in g["params"]], max_norm
        )

    def state_dict(self) -> dict[str, Any]:
        """The optimizer's state, and that of stages which have some under ``fleet_stages``."""
        return self.steps.state_dict()

    def full_state_dict(self, dst: int | None = None) -> dict[str, Any]:
        """The same, with the state of all ranks joined if it is split; every rank calls it."""
        if isinstance(self.inner, ShardedOptimizer):
            return self.steps.state_dict(self.inner.full_state_dict(dst))
        return self.steps.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take back what ``state_dict``, this one's or the plain optimizer's, gave."""
        self.steps.load_state_dict(state_dict)
        self._share()

    def __repr__(self) -> str:
        return f"DistributedTorchOptimizer({self.inner!r}, stages: {[s.name for s in self.plan]})"
