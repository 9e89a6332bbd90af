"""The stages that take part in the steps of an optimizer in dygraph, over the raw-tensor code of ``runtime/parallel``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from argosy.distributed._group import Group
from argosy.foundation.errors import NotSupported, UsageError
from argosy.nn.clip import ClipGradByNorm
from argosy.optimizer import Momentum, Optimizer
from argosy.regularizer import L2Decay
from argosy.runtime.parallel.dgc import DeepGradientCompression
from argosy.runtime.parallel.gradient_merge import GradientMerge
from argosy.runtime.parallel.local_sgd import LocalSGD

__all__ = ["STAGES", "OptimizerStage"]


class OptimizerStage:
    """Takes part in the steps of an optimizer; a stage overrides what it needs.

    ``given`` is the script's optimizer, ``optimizer`` the one that updates (another, if the plan replaces the rule). ``group`` has the ranks that train
    together, None if there is one.
    """

    def __init__(
        self, optimizer: Optimizer, settings: Mapping[str, Any], group: Group | None, given: Optimizer | None = None
    ) -> None:
        self.optimizer = optimizer
        self.settings = settings
        self.group = group
        self.given = optimizer if given is None else given

    def attach(self, model: Any) -> None:
        """Called with each model that ``fleet.distributed_model`` returns, whichever of model and optimizer is made first."""

    def before_step(self) -> bool:
        """Called when gradients are complete; False leaves the update out (and the stages after this one)."""
        return True

    def after_step(self) -> None:
        """Called after an update."""

    def keeps_gradients(self) -> bool:
        """Whether ``clear_grad`` must leave the gradients alone now."""
        return False

    def state_dict(self) -> dict[str, Any]:
        """What the stage needs to go on after a restart."""
        return {}

    def set_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what ``state_dict`` gave."""

    def raw_parameters(self) -> list[torch.Tensor]:
        return [p._t for p in self.optimizer._parameters() if not p.stop_gradient]

    def workers(self) -> Group:
        if self.group is None:
            raise UsageError(f"{type(self).__name__}: there is one worker")
        return self.group


class SummedGradients(OptimizerStage):
    """``gradient_scale``: gradients are added over ranks (the script scales its loss itself, if it does); data parallelism has averaged them."""

    @torch.no_grad()
    def before_step(self) -> bool:
        for param in self.raw_parameters():
            if param.grad is not None:
                param.grad = param.grad.mul_(self.workers().nranks)
        return True


class MergedGradients(OptimizerStage):
    """``gradient_merge``: the gradients of ``k_steps`` backwards in one update. Ranks exchange them at the last of these only."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._merge = self._made(None)

    def _made(self, model: Any) -> GradientMerge:
        return GradientMerge(self.raw_parameters(), self.settings["k_steps"], self.settings["avg"], model)

    def attach(self, model: Any) -> None:
        if getattr(model, "grad_need_sync", False):
            done = self._merge.num_merged
            self._merge = self._made(model)
            self._merge.load_state_dict({"num_merged": done})

    def before_step(self) -> bool:
        return self._merge.advance()

    def keeps_gradients(self) -> bool:
        return self._merge.num_merged > 0

    def state_dict(self) -> dict[str, Any]:
        return dict(self._merge.state_dict())

    def set_state_dict(self, state: Mapping[str, Any]) -> None:
        self._merge.load_state_dict(dict(state))


class AveragedParameters(OptimizerStage):
    """``localsgd``: ranks update on their own, and take the mean of their parameters every ``k_steps``."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        settings = self.settings
        inner = self.workers()._inner
        self._local = LocalSGD(self.raw_parameters(), inner, settings["k_steps"], settings["begin_step"])

    def after_step(self) -> None:
        self._local.step()

    def state_dict(self) -> dict[str, Any]:
        return dict(self._local.state_dict())

    def set_state_dict(self, state: Mapping[str, Any]) -> None:
        self._local.load_state_dict(dict(state))


class CompressedGradients(OptimizerStage):
    """``dgc``: replaces gradients by the direction of a momentum step of which ranks exchange the largest entries only."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        momentum = self.given
        assert isinstance(momentum, Momentum)
        self._dgc = DeepGradientCompression(
            self.raw_parameters(),
            self.workers()._inner,
            momentum=momentum._momentum,
            use_nesterov=momentum._use_nesterov,
            rampup_begin_step=self.settings["rampup_begin_step"],
            rampup_step=self.settings["rampup_step"],
            sparsity=self.settings["sparsity"],
            clip_norm=_clip_norm(momentum._grad_clip),
            weight_decay=_decay(momentum.regularization),
        )

    def before_step(self) -> bool:
        self._dgc.exchange()
        return True

    def state_dict(self) -> dict[str, Any]:
        return dict(self._dgc.state_dict())

    def set_state_dict(self, state: Mapping[str, Any]) -> None:
        self._dgc.load_state_dict(dict(state))


def _clip_norm(clip: Any) -> float | None:
    if clip is None:
        return None
    if not isinstance(clip, ClipGradByNorm):
        raise NotSupported(
            f"DistributedStrategy.dgc: clips by ClipGradByNorm, but grad_clip is a {type(clip).__name__}"
        )
    return float(clip.clip_norm)


def _decay(regularization: Any) -> float:
    if regularization is None:
        return 0.0
    if type(regularization) is not L2Decay:
        raise NotSupported(
            f"DistributedStrategy.dgc: decays by L2Decay, but weight_decay is a {type(regularization).__name__}"
        )
    return float(regularization._coeff)


STAGES: dict[str, type[OptimizerStage]] = {
    "gradient_scale": SummedGradients,
    "gradient_merge": MergedGradients,
    "localsgd": AveragedParameters,
    "dgc": CompressedGradients,
}
