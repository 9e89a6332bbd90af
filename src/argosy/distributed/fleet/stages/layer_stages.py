"""The stages that take part in the steps of an optimizer, over the raw-tensor code of
``runtime/parallel``; for dygraph and for torch alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from argosy.foundation.errors import UsageError
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.dgc import DeepGradientCompression
from argosy.runtime.parallel.gradient_merge import GradientMerge
from argosy.runtime.parallel.local_sgd import AdaptiveLocalSGD, LocalSGD
from argosy.runtime.parallel.loss_scaling import LossScale

__all__ = ["STAGES", "OptimizerStage", "Subject"]


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What stages see of an optimizer, whoever made it.

    ``params`` are those it trains, ``lr`` its rate, ``momentum`` the settings of the Momentum that
    ``dgc`` stands for. ``group`` has the workers, None if there is one; ``replicas`` those that own
    the same shard.
    """

    optimizer: Any
    params: Callable[[], list[torch.Tensor]]
    lr: Callable[[], float]
    momentum: Callable[[], dict[str, Any]]
    group: Group | None = None
    replicas: Group | None = None

    def workers(self) -> Group:
        if self.group is None:
            raise UsageError("this stage of the plan needs several workers")
        return self.group


class OptimizerStage:
    """Takes part in the steps of an optimizer; a stage overrides what it needs."""

    def __init__(self, subject: Subject, settings: Mapping[str, Any]) -> None:
        self.subject = subject
        self.settings = settings

    def attach(self, model: Any) -> None:
        """Called with each model that ``fleet.distributed_model`` returns, whichever of model and
        optimizer is made first.
        """

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


class MergedGradients(OptimizerStage):
    """``gradient_merge``: the gradients of ``k_steps`` backwards in one update. Ranks exchange them
    at the last of these only.
    """

    def __init__(self, subject: Subject, settings: Mapping[str, Any]) -> None:
        super().__init__(subject, settings)
        self._merge = self._made(None)

    def _made(self, model: Any) -> GradientMerge:
        return GradientMerge(
            self.subject.params(), self.settings["k_steps"], self.settings["avg"], model
        )

    def attach(self, model: Any) -> None:
        done = self._merge.num_merged
        # whole gradients of split parameters do not wait: their parts add up where they are
        waits = getattr(model, "grad_need_sync", False) and not getattr(model, "is_split", False)
        self._merge = self._made(model if waits else None)
        self._merge.load_state_dict({"num_merged": done})

    def before_step(self, loss: Any) -> bool:
        return self._merge.advance()

    def keeps_gradients(self) -> bool:
        return self._merge.num_merged > 0

    def state_dict(self) -> dict[str, Any]:
        return dict(self._merge.state_dict())

    def set_state_dict(self, state: Mapping[str, Any]) -> None:
        self._merge.load_state_dict(dict(state))


class ScaledLoss(OptimizerStage):
    """``amp`` in float16: the model lets gradients grow, here they shrink again. It rests while a
    scaler of the script's does the same.
    """

    def __init__(self, subject: Subject, settings: Mapping[str, Any]) -> None:
        super().__init__(subject, settings)
        self.scale: LossScale | None = None
        if settings["dtype"] == "float16":
            self.scale = LossScale(
                settings["init_loss_scaling"],
                settings["incr_every_n_steps"],
                settings["decr_every_n_nan_or_inf"],
                settings["incr_ratio"],
                settings["decr_ratio"],
                settings["use_dynamic_loss_scaling"],
            )
        self._precisions: list[Any] = []

    def attach(self, model: Any) -> None:
        precision = getattr(model, "_precision", None)
        if precision is not None:
            precision.scale = self.scale
            self._precisions.append(precision)

    def rest(self) -> None:
        """Leave scaling to a scaler."""
        self.scale = None
        for precision in self._precisions:
            precision.scale = None

    def before_step(self, loss: Any) -> bool:
        # without a model of fleet's nothing has grown
        if self.scale is None or not self._precisions:
            return True
        group = self.subject.group
        return self.scale.shrink(self.subject.params(), group)

    def state_dict(self) -> dict[str, Any]:
        return {} if self.scale is None else dict(self.scale.state_dict())

    def set_state_dict(self, state: Mapping[str, Any]) -> None:
        if self.scale is not None:
            self.scale.load_state_dict(dict(state))


class SummedGradients(OptimizerStage):
    """``gradient_scale``: gradients are added over ranks (the script scales its loss itself, if it
    does); data parallelism has averaged them.
    """

    @torch.no_grad()
    def before_step(self, loss: Any) -> bool:
        for param in self.subject.params():
            if param.grad is not None:
                param.grad = param.grad.mul_(self.subject.workers().nranks)
        return True


class SplitState(OptimizerStage):
    """``sharding``: the optimizer is a sharded one already; in stage 2 the model's gradients follow
    its parameters to their owners, in stage 3 it splits both.
    """

    def attach(self, model: Any) -> None:
        shard = getattr(
            model,
            {2: "shard_gradients", 3: "split_parameters"}.get(self.settings["stage"], ""),
            None,
        )
        if shard is not None:
            replicas = self.subject.replicas
            shard(self.subject.optimizer, replicas)


class AveragedParameters(OptimizerStage):
    """``localsgd``: ranks update on their own, and take the mean of their parameters every
    ``k_steps``.
    """

    def __init__(self, subject: Subject, settings: Mapping[str, Any]) -> None:
        super().__init__(subject, settings)
        group = subject.workers()
        self._local = LocalSGD(subject.params(), group, settings["k_steps"], settings["begin_step"])

    def after_step(self, loss: Any) -> None:
        self._local.step()

    def state_dict(self) -> dict[str, Any]:
        return dict(self._local.state_dict())

    def set_state_dict(self, state: Mapping[str, Any]) -> None:
        self._local.load_state_dict(dict(state))


class AdaptivelyAveragedParameters(OptimizerStage):
    """``adaptive_localsgd``: the same, but loss and learning rate say when."""

    def __init__(self, subject: Subject, settings: Mapping[str, Any]) -> None:
        super().__init__(subject, settings)
        group = subject.workers()
        self._local = AdaptiveLocalSGD(
            subject.params(), group, settings["init_k_steps"], settings["begin_step"]
        )

    def before_step(self, loss: Any) -> bool:
        if loss is None:
            raise UsageError(
                "DistributedStrategy.adaptive_localsgd chooses from the loss how long ranks go "
                "alone: call minimize(loss) or step(loss=loss)"
            )
        return True

    def after_step(self, loss: Any) -> None:
        self._local.step(
            float(loss.detach() if hasattr(loss, "detach") else loss), self.subject.lr()
        )

    def state_dict(self) -> dict[str, Any]:
        return dict(self._local.state_dict())

    def set_state_dict(self, state: Mapping[str, Any]) -> None:
        self._local.load_state_dict(dict(state))


class CompressedGradients(OptimizerStage):
    """``dgc``: replaces gradients by the direction of a momentum step of which ranks exchange the
    largest entries only.
    """

    def __init__(self, subject: Subject, settings: Mapping[str, Any]) -> None:
        super().__init__(subject, settings)
        self._dgc = DeepGradientCompression(
            subject.params(),
            subject.workers(),
            rampup_begin_step=settings["rampup_begin_step"],
            rampup_step=settings["rampup_step"],
            sparsity=settings["sparsity"],
            **subject.momentum(),
        )

    def before_step(self, loss: Any) -> bool:
        self._dgc.exchange()
        return True

    def state_dict(self) -> dict[str, Any]:
        return dict(self._dgc.state_dict())

    def set_state_dict(self, state: Mapping[str, Any]) -> None:
        self._dgc.load_state_dict(dict(state))


# in the order of a step: gradients are complete, then of their true size, then where and what the
# update takes them to be
STAGES: dict[str, type[OptimizerStage]] = {
    "gradient_merge": MergedGradients,
    "amp": ScaledLoss,
    "dgc": CompressedGradients,
    "gradient_scale": SummedGradients,
    "sharding": SplitState,
    "localsgd": AveragedParameters,
    "adaptive_localsgd": AdaptivelyAveragedParameters,
}
