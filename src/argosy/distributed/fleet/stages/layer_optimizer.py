"""What ``fleet.distributed_optimizer`` returns in dygraph, and what records in static mode: the
script's optimizer with the stages of the plan around its steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from argosy.distributed.fleet.planning.settings import Amp, Sharding
from argosy.distributed.fleet.planning.strategy_plan import Plan
from argosy.distributed.fleet.stages.layer_trainee import BUILDERS, LayerTrainee, momentum_of
from argosy.distributed.fleet.stages.optimizer_stages import make_stages
from argosy.distributed.fleet.stages.rules import MomentumRule, replaced
from argosy.distributed.fleet.stages.trainee import StagedSteps
from argosy.distributed.sharding.sharded_optimizer import ShardedOptimizer
from argosy.distributed.sharding.split_optimizer import SplitOptimizer
from argosy.foundation.errors import DtypeError, NotSupported, UsageError
from argosy.optimizer import LBFGS, Optimizer
from argosy.runtime.comm.group import Group

__all__ = [
    "DistributedOptimizer",
    "optimized_parameters",
    "optimizer_kinds",
    "recording",
    "wrapped",
]

# methods of what records mixed precision
_MIXED_PRECISION = ("amp_init", "get_loss_scaling", "get_scaled_loss")


def wrapped(
    given: Optimizer, plan: Plan, group: Group | None, sharding: tuple[Group, Group | None] | None
) -> DistributedOptimizer:
    """The distributed optimizer that stands for ``given``. ``sharding``: the ranks that split its
    state, and those that own the same shard.
    """
    momentum = momentum_of(given) if "dgc" in plan else MomentumRule()
    optimizer = replaced(plan, given, BUILDERS)
    amp = plan.get(Amp)
    if amp is not None and amp.keeps_masters:
        optimizer.keep_masters()
    replicas = None
    if sharding is not None:
        if isinstance(optimizer, LBFGS):
            raise NotSupported(
                "DistributedStrategy.sharding: LBFGS, whose update mixes all parameters"
            )
        kind = SplitOptimizer if plan[Sharding].stage == 3 else ShardedOptimizer
        optimizer, replicas = kind(optimizer, sharding[0]), sharding[1]
    trainee = LayerTrainee(optimizer, group, replicas, momentum)
    return DistributedOptimizer(StagedSteps(trainee, make_stages(trainee, plan)), plan)


def recording(given: Optimizer, plan: Plan, record: Any) -> DistributedOptimizer:
    """The distributed optimizer that stands for ``given`` while programs are recorded; ``record``
    does what ``minimize`` means then.
    """
    trainee = LayerTrainee(replaced(plan, given, BUILDERS))
    return DistributedOptimizer(StagedSteps(trainee, ()), plan, record)


def optimizer_kinds(optimizer: Any) -> tuple[str, ...]:
    """The names, as Paddle calls them, of the optimizer's class and its bases."""
    if isinstance(optimizer, torch.optim.SGD):
        return ("Momentum" if any(g["momentum"] for g in optimizer.param_groups) else "SGD",)
    if isinstance(optimizer, torch.optim.AdamW):
        return ("AdamW",)  # torch derives it from Adam, Paddle does not
    base = torch.optim.Optimizer if isinstance(optimizer, torch.optim.Optimizer) else Optimizer
    return tuple(
        c.__name__ for c in type(optimizer).__mro__ if issubclass(c, base) and c is not base
    )


def optimized_parameters(optimizer: Any) -> list[torch.Tensor]:
    """What an optimizer of a model updates."""
    if isinstance(optimizer, torch.optim.Optimizer):
        return [p for g in optimizer.param_groups for p in g["params"] if p.requires_grad]
    return [p.raw for p in optimizer.parameters() if not p.stop_gradient]


class DistributedOptimizer:
    """Steps the script's optimizer through the stages of ``plan``; everything else is the
    optimizer's own.
    """

    steps: StagedSteps

    def __init__(self, steps: StagedSteps, plan: Plan, record: Any = None) -> None:
        optimizer = steps.trainee.optimizer
        own = self.__dict__
        own["_inner_opt"] = optimizer
        own["steps"] = steps
        own["plan"] = plan
        own["record"] = record
        if not steps.stages and not any(note.switch == "adaptive_localsgd" for note in plan.notes):
            # nothing around them, so nothing is paid for; but step(loss=...) of a script must also
            # work where that has no use
            own["step"], own["clear_grad"] = optimizer.step, optimizer.clear_grad

    def __getattr__(self, name: str) -> Any:
        if name == "_inner_opt":
            raise AttributeError(name)
        if name in _MIXED_PRECISION and self.record is not None:
            return getattr(self.record.mixed_precision, name)
        return getattr(self._inner_opt, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__:
            self.__dict__[name] = value
        else:
            setattr(self._inner_opt, name, value)

    def step(self, loss: Any = None) -> None:
        """Update the parameters from their gradients, if the stages agree that it is time.
        ``adaptive_localsgd`` needs the ``loss``.
        """
        self.steps.step(loss)

    def minimize(
        self,
        loss: Any,
        startup_program: Any = None,
        parameter_list: Any = None,
        no_grad_set: Any = None,
        parameters: Any = None,
    ) -> Any:
        """In dygraph: update from the gradients that ``loss.backward()`` left. While recording: add
        backward and update to the loss's program.
        """
        chosen = parameters if parameters is not None else parameter_list
        if getattr(loss, "record_optimizer", None) is not None:
            if self.record is None:
                raise UsageError(
                    "minimize: this distributed optimizer was made in dygraph mode, but the loss "
                    "belongs to a program"
                )
            return self.record(self._inner_opt, loss, startup_program, chosen, no_grad_set)
        if not self.steps.stages:
            return self._inner_opt.minimize(loss, startup_program, chosen, no_grad_set)
        if chosen or no_grad_set:
            raise NotSupported(
                "minimize: parameter_list and no_grad_set cannot be combined with the strategy's "
                "stages; "
                "give the optimizer the parameters it is to update"
            )
        pairs = self._inner_opt.backward(loss, startup_program)
        self.step(loss)
        return [], pairs

    def backward(self, *args: Any, **kwargs: Any) -> Any:
        """As the optimizer's own, where the strategy adds nothing to it."""
        return self._part_of_minimize("backward")(*args, **kwargs)

    def apply_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """As the optimizer's own, where the strategy adds nothing to it."""
        return self._part_of_minimize("apply_gradients")(*args, **kwargs)

    def apply_optimize(self, *args: Any, **kwargs: Any) -> Any:
        """As the optimizer's own, where the strategy adds nothing to it."""
        return self._part_of_minimize("apply_optimize")(*args, **kwargs)

    def _part_of_minimize(self, name: str) -> Any:
        if self.record is not None or self.steps.stages:
            raise NotSupported(
                f"{name} of a distributed optimizer would leave out what the strategy asks for; "
                "use minimize(loss), or step() in dygraph"
            )
        return getattr(self._inner_opt, name)

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Forget the gradients, unless a stage is still adding them up."""
        if not self.steps.keeps_gradients():
            self._inner_opt.clear_grad(set_to_zero)

    clear_gradients = clear_grad

    def state_dict(self) -> dict[str, Any]:
        """The optimizer's state, and that of stages which have some under ``fleet_stages``."""
        return self.steps.state_dict()

    def set_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take back what ``state_dict``, this one's or the plain optimizer's, gave."""
        if not isinstance(state_dict, Mapping):
            raise DtypeError(f"set_state_dict: expected a state dict, but received {state_dict!r}")
        self.steps.load_state_dict(state_dict)

    set_dict = load_state_dict = set_state_dict

    def __repr__(self) -> str:
        return (
            f"DistributedOptimizer({type(self._inner_opt).__name__}, stages: "
            f"{[s.name for s in self.plan]})"
        )
