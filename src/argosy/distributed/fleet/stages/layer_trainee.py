"""A Layer's parameters with an optimizer of ``paddle.optimizer``, as stages see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from argosy.distributed.fleet.planning import settings as plans
from argosy.distributed.fleet.stages.rules import MomentumRule, refuse
from argosy.distributed.fleet.stages.trainee import OptimizerTrainee
from argosy.foundation.errors import NotSupported
from argosy.nn.clip import ClipGradByNorm
from argosy.optimizer import SGD, Lamb, Optimizer
from argosy.optimizer.lars import LarsMomentumOptimizer
from argosy.regularizer import L2Decay
from argosy.runtime.comm.group import Group

__all__ = ["BUILDERS", "LayerTrainee", "momentum_of"]


class LayerTrainee(OptimizerTrainee):
    def __init__(
        self,
        optimizer: Optimizer,
        group: Group | None = None,
        replicas: Group | None = None,
        momentum: MomentumRule = MomentumRule(),
    ) -> None:
        super().__init__(group, replicas, momentum)
        self.optimizer = optimizer

    def parameters(self) -> list[torch.Tensor]:
        return [p.raw for p in self.optimizer.parameters() if not p.stop_gradient]

    def learning_rate(self) -> float:
        return float(self.optimizer.get_lr())

    def split(self, model: Any) -> None:
        replicas = self.replicas
        model.split_parameters(self.optimizer, replicas)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.optimizer.set_state_dict(state)


def _lars(optimizer: Optimizer, settings: plans.Lars) -> LarsMomentumOptimizer:
    own = optimizer.hyperparameters()
    refuse("lars", optimizer, {"use_nesterov": own["use_nesterov"]})
    given = optimizer.given()
    return LarsMomentumOptimizer(
        momentum=own["momentum"],
        parameter_list=given.pop("parameters"),
        regularization=optimizer.regularization,
        lars_coeff=settings.lars_coeff,
        lars_weight_decay=settings.lars_weight_decay,
        epsilon=settings.epsilon,
        exclude_from_weight_decay=list(settings.exclude_from_weight_decay),
        **given,
    )


def _lamb(optimizer: Optimizer, settings: plans.Lamb) -> Lamb:
    return Lamb(
        lamb_weight_decay=settings.lamb_weight_decay,
        exclude_from_weight_decay_fn=(
            (lambda param: settings.excludes(param.name))
            if settings.exclude_from_weight_decay
            else None
        ),
        **optimizer.hyperparameters(),
        **optimizer.given(),
    )


def _without_momentum(optimizer: Optimizer, settings: plans.Dgc) -> SGD:
    if optimizer.has_groups:
        raise NotSupported("DistributedStrategy.dgc: parameter groups are not supported")
    given = optimizer.given()
    return SGD(given["learning_rate"], parameters=given["parameters"], name=given["name"])


def momentum_of(optimizer: Optimizer) -> MomentumRule:
    """What ``dgc`` takes over from a Momentum."""
    clip, decay = optimizer.clip, optimizer.regularization
    if clip is not None and not isinstance(clip, ClipGradByNorm):
        raise NotSupported(
            f"DistributedStrategy.dgc: clips by ClipGradByNorm, but grad_clip is a "
            f"{type(clip).__name__}"
        )
    if decay is not None and type(decay) is not L2Decay:
        raise NotSupported(
            f"DistributedStrategy.dgc: decays by L2Decay, but weight_decay is a "
            f"{type(decay).__name__}"
        )
    return MomentumRule(
        clip_norm=None if clip is None else float(clip.clip_norm),
        weight_decay=0.0 if decay is None else float(decay.coeff),
        **optimizer.hyperparameters(),
    )


# of the rules that take the place of the optimizer's own
BUILDERS: dict[str, Callable[..., Any]] = {"lars": _lars, "lamb": _lamb, "dgc": _without_momentum}
