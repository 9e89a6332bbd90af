"""What ``fleet.distributed_optimizer`` returns for a ``torch.optim`` optimizer: a torch optimizer
with the stages of the plan around its steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from argosy.distributed.fleet.planning.strategy_plan import Plan
from argosy.distributed.fleet.stages.layer_optimizer import make_stages
from argosy.distributed.fleet.stages.layer_stages import OptimizerStage, Subject
from argosy.distributed.fleet.stages.torch_rules import adapted, momentum_of
from argosy.distributed.job import job
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.full_sharding import shard_fully, torch_group
from argosy.runtime.parallel.sharded_optimizer import ShardedOptimizer

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
    facts = momentum_of(given) if "dgc" in plan else {}
    optimizer = adapted(given, plan)
    is_split = sharding is not None and plan.settings("sharding")["stage"] < 3
    if is_split and sharding is not None:
        optimizer = ShardedOptimizer(optimizer, sharding[0])
    subject = Subject(
        optimizer=optimizer,
        params=lambda: [p for g in optimizer.param_groups for p in g["params"] if p.requires_grad],
        lr=lambda: float(optimizer.param_groups[0]["lr"]),
        momentum=lambda: facts,
        group=group,
        replicas=None if sharding is None else sharding[1],
    )
    stages = make_stages(subject, plan)
    whole = sharding[0] if sharding is not None and not is_split else None
    if (
        optimizer is given
        and not stages
        and not any(note.switch == "adaptive_localsgd" for note in plan.notes)
    ):
        return given
    return DistributedTorchOptimizer(optimizer, plan, stages, whole)


class DistributedTorchOptimizer(torch.optim.Optimizer):
    """Steps ``inner`` through the stages of ``plan``. Groups and state are those of ``inner``, the
    same objects.

    ``fully_sharded_over`` has the ranks that split the parameters too, when a model comes.
    """

    def __init__(
        self,
        inner: torch.optim.Optimizer,
        plan: Plan,
        stages: Sequence[OptimizerStage] = (),
        fully_sharded_over: Group | None = None,
    ) -> None:
        self.inner = inner
        self.plan = plan
        self._stages = list(stages)
        self._fully_sharded_over = fully_sharded_over
        self._is_made = False
        super().__init__(inner.param_groups, inner.defaults)
        self._is_made = True
        self._share()

    def _share(self) -> None:
        self.param_groups, self.state = self.inner.param_groups, self.inner.state

    def attach(self, model: Any) -> None:
        """Show a model that this optimizer may train to the stages."""
        if self._fully_sharded_over is not None:
            assert job.session is not None
            device_type = next(model.parameters()).device.type
            over = torch_group(job.session, self._fully_sharded_over, device_type)
            shard_fully(model.module, self.inner, over)
            self._fully_sharded_over = None
            self._share()
        for stage in self._stages:
            stage.attach(model)

    def step(self, closure: Callable[[], Any] | None = None, loss: Any = None) -> Any:
        """Update, if the stages agree that it is time. ``adaptive_localsgd`` needs the ``loss``, or
        a closure that returns it.
        """
        result = None
        if closure is not None:
            with torch.enable_grad():
                result = closure()
        loss = result if loss is None else loss
        for stage in self._stages:
            if not stage.before_step(loss):
                return result
        self.inner.step()
        for stage in self._stages:
            stage.after_step(loss)
        return result

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients, unless a stage is still adding them up."""
        if not any(stage.keeps_gradients() for stage in self._stages):
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
        return self._with_stages(self.inner.state_dict())

    def full_state_dict(self, dst: int | None = None) -> dict[str, Any]:
        """The same, with the state of all ranks joined if it is split; every rank calls it."""
        is_split = isinstance(self.inner, ShardedOptimizer)
        return self._with_stages(
            self.inner.full_state_dict(dst) if is_split else self.inner.state_dict()
        )

    def _with_stages(self, state: dict[str, Any]) -> dict[str, Any]:
        own = {type(stage).__name__: stage.state_dict() for stage in self._stages}
        own = {name: values for name, values in own.items() if values}
        return {**state, "fleet_stages": own} if own else state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take back what ``state_dict``, this one's or the plain optimizer's, gave."""
        values = dict(state_dict)
        own = values.pop("fleet_stages", {})
        self.inner.load_state_dict(values)
        self._share()
        for stage in self._stages:
            if type(stage).__name__ in own:
                stage.set_state_dict(own[type(stage).__name__])

    def __repr__(self) -> str:
        return f"DistributedTorchOptimizer({self.inner!r}, stages: {[s.name for s in self.plan]})"
