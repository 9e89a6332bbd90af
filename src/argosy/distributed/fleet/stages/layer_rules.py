"""Switches that replace the update rule: ``lars`` and ``dgc`` that of Momentum, ``lamb`` that of
Adam.
"""

from __future__ import annotations

from typing import Any

from argosy.distributed.fleet.planning.strategy_plan import Plan
from argosy.foundation.errors import NotSupported
from argosy.nn.clip import ClipGradByNorm
from argosy.optimizer import SGD, Lamb, Momentum, Optimizer
from argosy.optimizer.lars import LarsMomentumOptimizer
from argosy.regularizer import L2Decay
from argosy.tensor.engine import Tensor

__all__ = ["RULES", "adapted", "momentum_of"]

RULES = ("lars", "lamb")


def adapted(optimizer: Any, plan: Plan) -> Any:
    """The optimizer that does what ``plan`` says with the parameters, rate and clipping of
    ``optimizer``.
    """
    if "lars" in plan:
        return _lars(optimizer, plan)
    if "lamb" in plan:
        return _lamb(optimizer, plan)
    if "dgc" in plan:
        return _without_momentum(optimizer)
    return optimizer


def _shared(optimizer: Optimizer) -> dict[str, Any]:
    return {
        "learning_rate": optimizer._learning_rate,
        "grad_clip": optimizer._grad_clip,
        "name": optimizer._name,
    }


def _lars(optimizer: Momentum, plan: Plan) -> LarsMomentumOptimizer:
    if optimizer._use_nesterov:
        raise NotSupported(
            "DistributedStrategy.lars: LARS has no form with Nesterov momentum (use_nesterov=True)"
        )
    settings = plan.settings("lars")
    return LarsMomentumOptimizer(
        momentum=optimizer._momentum,
        parameter_list=optimizer._parameter_list or None,
        regularization=optimizer.regularization,
        multi_precision=optimizer._multi_precision,
        lars_coeff=settings["lars_coeff"],
        lars_weight_decay=settings["lars_weight_decay"],
        epsilon=settings["epsilon"],
        exclude_from_weight_decay=settings["exclude_from_weight_decay"],
        **_shared(optimizer),
    )


def _lamb(optimizer: Any, plan: Plan) -> Lamb:
    settings = plan.settings("lamb")
    excluded = settings["exclude_from_weight_decay"]

    def is_excluded(param: Tensor) -> bool:
        # where lars looks for its parts anywhere in a name
        return param.name.endswith(tuple(excluded))

    return Lamb(
        lamb_weight_decay=settings["lamb_weight_decay"],
        beta1=optimizer._beta1,
        beta2=optimizer._beta2,
        epsilon=optimizer._epsilon,
        parameters=optimizer._parameter_list or None,
        exclude_from_weight_decay_fn=is_excluded if excluded else None,
        multi_precision=optimizer._multi_precision,
        **_shared(optimizer),
    )


def _without_momentum(optimizer: Momentum) -> SGD:
    """DGC keeps momentum, decay and clipping to itself; what is left is a step along the direction
    it gives.
    """
    if optimizer._has_groups:
        raise NotSupported("DistributedStrategy.dgc: parameter groups are not supported")
    return SGD(optimizer._learning_rate, parameters=optimizer._parameter_list, name=optimizer._name)


def momentum_of(optimizer: Any) -> dict[str, Any]:
    """The settings of a Momentum that DGC takes over."""
    return {
        "momentum": optimizer._momentum,
        "use_nesterov": optimizer._use_nesterov,
        "clip_norm": _clip_norm(optimizer._grad_clip),
        "weight_decay": _decay(optimizer.regularization),
    }


def _clip_norm(clip: Any) -> float | None:
    if clip is None:
        return None
    if not isinstance(clip, ClipGradByNorm):
        raise NotSupported(
            "DistributedStrategy.dgc: clips by ClipGradByNorm, but grad_clip is a "
            f"{type(clip).__name__}"
        )
    return float(clip.clip_norm)


def _decay(regularization: Any) -> float:
    if regularization is None:
        return 0.0
    if type(regularization) is not L2Decay:
        raise NotSupported(
            "DistributedStrategy.dgc: decays by L2Decay, but weight_decay is a "
            f"{type(regularization).__name__}"
        )
    return float(regularization.coeff)
