"""What a strategy trains, and the loop around its steps.

A ``Trainee`` is all that a stage sees. Gradients are where torch has them, in ``param.grad`` of its
parameters. Adapters: ``layer_trainee``, ``torch_trainee``, ``programs.trainee``.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import torch

from argosy.distributed.fleet.stages.rules import MomentumRule
from argosy.foundation.errors import UsageError
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.sharding.shards import Shards

__all__ = ["OptimizerStage", "OptimizerTrainee", "StagedSteps", "Trainee"]

_KEY = "fleet_stages"  # of the stages' part of a state dict


class Trainee(abc.ABC):
    """``group`` has the workers, None if there is one; ``replicas`` those that own the same shard;
    ``momentum`` is the rule that ``dgc`` takes over.
    """

    def __init__(
        self,
        group: Group | None,
        replicas: Group | None = None,
        momentum: MomentumRule = MomentumRule(),
    ) -> None:
        self.group = group
        self.replicas = replicas
        self.momentum = momentum

    @property
    def workers(self) -> Group:
        if self.group is None:
            raise UsageError("this stage of the plan needs several workers")
        return self.group

    @abc.abstractmethod
    def parameters(self) -> list[torch.Tensor]:
        """Those that are trained, in one order on every worker."""

    @abc.abstractmethod
    def learning_rate(self) -> float:
        """That of the next update."""


class OptimizerTrainee(Trainee):
    """A trainee that an optimizer updates."""

    optimizer: Any

    @property
    def shards(self) -> Shards:
        """Who updates which parameter, where the optimizer shards its state."""
        shards: Shards = self.optimizer.shards
        return shards

    @abc.abstractmethod
    def split(self, model: Any) -> None:
        """Sharding stage 3: split the parameters of ``model``, of which the optimizer then updates
        its part.
        """

    @abc.abstractmethod
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Give the optimizer its state."""

    def step(self) -> None:
        """Update the parameters from their gradients."""
        self.optimizer.step()

    def state_dict(self) -> dict[str, Any]:
        state: dict[str, Any] = self.optimizer.state_dict()
        return state


class OptimizerStage:
    """Takes part in the steps of a trainee; a stage overrides what it needs."""

    def bind(self, model: Any) -> None:
        """Called with each model of fleet's that the trainee may belong to."""

    def before_step(self, loss: Any) -> bool:
        """Called when gradients are complete; False leaves the update out (and the stages after
        this one). ``loss`` is None if the script gave none.
        """
        return True

    def after_step(self, loss: Any) -> None:
        """Called after an update."""

    def keeps_gradients(self) -> bool:
        """Whether ``clear_grad`` must leave the gradients alone now."""
        return False

    def state_dict(self) -> dict[str, Any]:
        """What the stage needs to go on after a restart."""
        return {}

    def set_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what ``state_dict`` gave."""


S = TypeVar("S", bound=OptimizerStage)


class StagedSteps:
    """The steps of ``trainee`` with ``stages``, in their order, around each."""

    def __init__(self, trainee: OptimizerTrainee, stages: Sequence[OptimizerStage]) -> None:
        self.trainee = trainee
        self.stages = list(stages)

    def bind(self, model: Any) -> None:
        """Show a model that the trainee may belong to to the stages."""
        # from the last: sharding may give the optimizer other parameters
        for stage in reversed(self.stages):
            stage.bind(model)

    def step(self, loss: Any = None) -> None:
        """Update, if the stages agree that it is time."""
        for stage in self.stages:
            if not stage.before_step(loss):
                return
        self.trainee.step()
        for stage in self.stages:
            stage.after_step(loss)

    def stage(self, kind: type[S]) -> S | None:
        """The stage of this class, if the plan has it."""
        return next((stage for stage in self.stages if isinstance(stage, kind)), None)

    def keeps_gradients(self) -> bool:
        """Whether a stage is still adding gradients up."""
        return any(stage.keeps_gradients() for stage in self.stages)

    def state_dict(self, state: dict[str, Any] | None = None) -> dict[str, Any]:
        """The optimizer's state, or ``state`` in its place, and that of stages which have some
        under ``fleet_stages``.
        """
        state = self.trainee.state_dict() if state is None else state
        own = {type(stage).__name__: stage.state_dict() for stage in self.stages}
        own = {name: values for name, values in own.items() if values}
        return {**state, _KEY: own} if own else state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what ``state_dict``, this one's or the plain optimizer's, gave."""
        values = dict(state)
        own = values.pop(_KEY, {})
        self.trainee.load_state_dict(values)
        for stage in self.stages:
            if type(stage).__name__ in own:
                stage.set_state_dict(own[type(stage).__name__])
