"""The stages that take part in the steps of a trainee, over the raw-tensor code of
``runtime/parallel``: one class each, for Layers, torch and programs alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import torch

from argosy.distributed.fleet.planning.settings import (
    AdaptiveLocalSgd,
    Amp,
    Dgc,
    DiLoCo,
    GradientMerge,
    GradientScale,
    LocalSgd,
    PowerSgd,
    Sharding,
)
from argosy.distributed.fleet.planning.strategy_plan import Plan
from argosy.distributed.fleet.stages.rules import RULES
from argosy.distributed.fleet.stages.trainee import OptimizerStage, OptimizerTrainee, Trainee
from argosy.foundation.errors import NotSupported, UsageError
from argosy.runtime.parallel import dgc, diloco, gradient_merge, local_sgd, power_sgd
from argosy.runtime.parallel.compression import plain_bucket
from argosy.runtime.parallel.loss_scaling import LossScale
from argosy.runtime.parallel.quantised import quantised_buckets

__all__ = [
    "STAGES", "AdaptivelyAveragedParameters", "AveragedParameters", "CommonSteps",
    "CompressedGradients", "FactoredGradients", "MergedGradients", "ScaledLoss", "SplitState",
    "SummedGradients", "make_stages",
]  # fmt: skip

_IN_MODEL = (
    *("data_parallel", "sync_batch_norm", "recompute"),
    *("fp16_allreduce", "int8_allreduce", "factored_allreduce"),
)


class _KeptStage(OptimizerStage):
    """A stage whose state is that of the runtime's object."""

    _kept: Any

    def state_dict(self) -> dict[str, Any]:
        return dict(self._kept.state_dict())

    def set_state_dict(self, state: Mapping[str, Any]) -> None:
        self._kept.load_state_dict(dict(state))


class MergedGradients(_KeptStage):
    """``gradient_merge``: the gradients of ``k_steps`` backwards in one update. Ranks exchange them
    at the last of these only.
    """

    def __init__(self, trainee: Trainee, settings: GradientMerge) -> None:
        self._trainee = trainee
        self._settings = settings
        self._kept = self._made(None)

    def _made(self, model: Any) -> gradient_merge.GradientMerge:
        k_steps, avg = self._settings.k_steps, self._settings.avg
        return gradient_merge.GradientMerge(self._trainee.parameters(), k_steps, avg, model)

    def bind(self, model: Any) -> None:
        state = self._kept.state_dict()
        # whole gradients of split parameters do not wait: their parts add up where they are
        waits = model.grad_need_sync and not model.is_split
        self._kept = self._made(model if waits else None)
        self._kept.load_state_dict(state)

    def before_step(self, loss: Any) -> bool:
        is_complete: bool = self._kept.advance()
        return is_complete

    def keeps_gradients(self) -> bool:
        return bool(self._kept.num_merged)


class ScaledLoss(OptimizerStage):
    """``amp`` in float16: the model lets gradients grow, here they shrink again. It rests while a
    scaler of the script's does the same.
    """

    def __init__(self, trainee: Trainee, settings: Amp) -> None:
        self._trainee = trainee
        self.scale: LossScale | None = None
        if settings.scales_losses:
            self.scale = LossScale(
                settings.init_loss_scaling,
                settings.incr_every_n_steps,
                settings.decr_every_n_nan_or_inf,
                settings.incr_ratio,
                settings.decr_ratio,
                settings.use_dynamic_loss_scaling,
            )
        self._precisions: list[Any] = []

    def bind(self, model: Any) -> None:
        if model.precision is not None:
            model.precision.scale = self.scale
            self._precisions.append(model.precision)

    def rest(self) -> None:
        """Leave scaling to a scaler."""
        self.scale = None
        for precision in self._precisions:
            precision.scale = None

    def before_step(self, loss: Any) -> bool:
        # without a model of fleet's nothing has grown
        if self.scale is None or not self._precisions:
            return True
        group = self._trainee.group
        return self.scale.shrink(self._trainee.parameters(), group)

    def state_dict(self) -> dict[str, Any]:
        return {} if self.scale is None else dict(self.scale.state_dict())

    def set_state_dict(self, state: Mapping[str, Any]) -> None:
        if self.scale is not None:
            self.scale.load_state_dict(dict(state))


class SummedGradients(OptimizerStage):
    """``gradient_scale``: gradients are added over ranks (the script scales its loss itself, if it
    does); data parallelism has averaged them.
    """

    def __init__(self, trainee: Trainee, settings: GradientScale) -> None:
        self._trainee = trainee

    @torch.no_grad()
    def before_step(self, loss: Any) -> bool:
        for param in self._trainee.parameters():
            if param.grad is not None:
                param.grad = param.grad.mul_(self._trainee.workers.nranks)
        return True


class SplitState(OptimizerStage):
    """``sharding``: the optimizer is a sharded one already; in stage 2 the model's gradients follow
    its parameters to their owners, in stage 3 it splits both.
    """

    def __init__(self, trainee: OptimizerTrainee, settings: Sharding) -> None:
        self._trainee = trainee
        self._stage = settings.stage

    def bind(self, model: Any) -> None:
        if self._stage == 2:
            replicas = self._trainee.replicas
            model.shard_gradients(self._trainee.shards, replicas)
        elif self._stage == 3:
            self._trainee.split(model)


class AveragedParameters(_KeptStage):
    """``localsgd``: ranks update on their own, and take the mean of their parameters every
    ``k_steps``.
    """

    def __init__(self, trainee: Trainee, settings: LocalSgd) -> None:
        self._kept = local_sgd.LocalSGD(
            trainee.parameters(), trainee.workers, settings.k_steps, settings.begin_step
        )

    def after_step(self, loss: Any) -> None:
        self._kept.step()


class AdaptivelyAveragedParameters(_KeptStage):
    """``adaptive_localsgd``: the same, but loss and learning rate say when."""

    def __init__(self, trainee: Trainee, settings: AdaptiveLocalSgd) -> None:
        self._trainee = trainee
        self._kept = local_sgd.AdaptiveLocalSGD(
            trainee.parameters(), trainee.workers, settings.init_k_steps, settings.begin_step
        )

    def before_step(self, loss: Any) -> bool:
        if loss is None:
            raise UsageError(
                "DistributedStrategy.adaptive_localsgd chooses from the loss how long ranks go "
                "alone: call minimize(loss) or step(loss=loss)"
            )
        return True

    def after_step(self, loss: Any) -> None:
        value = float(loss.detach() if hasattr(loss, "detach") else loss)
        self._kept.step(value, self._trainee.learning_rate())


class CompressedGradients(_KeptStage):
    """``dgc``: replaces gradients by the direction of a momentum step of which ranks exchange the
    largest entries only.
    """

    def __init__(self, trainee: Trainee, settings: Dgc) -> None:
        options = {**asdict(trainee.momentum), **asdict(settings)}
        self._kept = dgc.DeepGradientCompression(trainee.parameters(), trainee.workers, **options)

    def use_state(self, num_steps: int, u: list[torch.Tensor], v: list[torch.Tensor]) -> None:
        """Continue with velocities and residuals that someone else keeps."""
        self._kept.use_state(num_steps, u, v)

    def before_step(self, loss: Any) -> bool:
        self._kept.exchange()
        return True


class FactoredGradients(_KeptStage):
    """``powersgd``: ranks exchange approximations of their gradients."""

    def __init__(self, trainee: Trainee, settings: PowerSgd) -> None:
        self._kept = power_sgd.PowerSGD(
            trainee.parameters(), trainee.workers, settings.rank, settings.begin_step
        )

    def before_step(self, loss: Any) -> bool:
        self._kept.exchange()
        return True


class CommonSteps(_KeptStage):
    """``diloco``: ranks update on their own; parts of the model take common steps in turn."""

    def __init__(self, trainee: Trainee, settings: DiLoCo) -> None:
        schedule = diloco.Schedule(
            k_steps=settings.k_steps,
            num_fragments=settings.num_fragments,
            overlap_steps=settings.overlap_steps,
        )
        self._kept = diloco.DiLoCo(
            trainee.parameters(),
            trainee.workers,
            schedule,
            outer_lr=settings.outer_lr,
            outer_momentum=settings.outer_momentum,
            mixing=settings.mixing,
            make_bucket=quantised_buckets(keeps_residual=False) if settings.int8 else plain_bucket,
        )

    def before_step(self, loss: Any) -> bool:
        self._kept.begin()
        return True

    def after_step(self, loss: Any) -> None:
        self._kept.step()


# in the order of a step: gradients are complete, then of their true size, then where and what the
# update takes them to be
STAGES: dict[str, Any] = {
    "gradient_merge": MergedGradients,
    "amp": ScaledLoss,
    "dgc": CompressedGradients,
    "powersgd": FactoredGradients,
    "gradient_scale": SummedGradients,
    "sharding": SplitState,
    "localsgd": AveragedParameters,
    "adaptive_localsgd": AdaptivelyAveragedParameters,
    "diloco": CommonSteps,
}


def make_stages(trainee: OptimizerTrainee, plan: Plan) -> list[OptimizerStage]:
    """The stages of ``plan`` that take part in steps, in their order; NotSupported for one that
    nobody makes.
    """
    settings = {stage.name: stage for stage in plan}
    for name in settings:
        if name not in (*_IN_MODEL, *RULES, *STAGES):
            raise NotSupported(
                f"DistributedStrategy.{name} is not supported in {plan.facts.mode} mode"
            )
    return [kind(trainee, settings[name]) for name, kind in STAGES.items() if name in settings]
