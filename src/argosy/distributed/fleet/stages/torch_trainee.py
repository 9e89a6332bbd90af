"""A torch module's parameters with a ``torch.optim`` optimizer, as stages see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from argosy.distributed.fleet.planning import settings as plans
from argosy.distributed.fleet.stages.rules import MomentumRule, refuse
from argosy.distributed.fleet.stages.trainee import OptimizerTrainee
from argosy.distributed.fleet.torch_optim import Lamb, Lars
from argosy.distributed.job import job
from argosy.foundation.errors import NotSupported
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.sharding.full_sharding import shard_fully, torch_group

__all__ = ["BUILDERS", "TorchTrainee", "momentum_of"]


class TorchTrainee(OptimizerTrainee):
    """``fully_sharded_over`` has the ranks that split the parameters of the first model that
    comes.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        group: Group | None,
        replicas: Group | None,
        momentum: MomentumRule,
        fully_sharded_over: Group | None,
    ) -> None:
        super().__init__(group, replicas, momentum)
        self.optimizer = optimizer
        self._fully_sharded_over = fully_sharded_over

    def parameters(self) -> list[torch.Tensor]:
        return [p for g in self.optimizer.param_groups for p in g["params"] if p.requires_grad]

    def learning_rate(self) -> float:
        return float(self.optimizer.param_groups[0]["lr"])

    def split(self, model: Any) -> None:
        over, self._fully_sharded_over = self._fully_sharded_over, None
        if over is None:
            return
        assert job.session is not None
        device_type = next(model.parameters()).device.type
        shard_fully(model.module, self.optimizer, torch_group(job.session, over, device_type))

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.optimizer.load_state_dict(dict(state))


def momentum_of(optimizer: torch.optim.Optimizer) -> MomentumRule:
    """What ``dgc`` takes over from an SGD with momentum."""
    found = [
        MomentumRule(
            momentum=g["momentum"], use_nesterov=g["nesterov"], weight_decay=g["weight_decay"]
        )
        for g in optimizer.param_groups
    ]
    if any(other != found[0] for other in found):
        raise NotSupported(
            "DistributedStrategy.dgc: parameter groups with different momentum or weight_decay"
        )
    return found[0]


def _lars(optimizer: torch.optim.Optimizer, settings: plans.Lars) -> Lars:
    _refuse("lars", optimizer, "nesterov", "weight_decay", "dampening", "maximize")
    groups = optimizer.param_groups
    changed = Lars(
        groups,
        groups[0]["lr"],
        groups[0]["momentum"],
        settings.lars_coeff,
        settings.lars_weight_decay,
        settings.epsilon,
    )
    _exclude(changed, settings)
    return changed


def _lamb(optimizer: torch.optim.Optimizer, settings: plans.Lamb) -> Lamb:
    _refuse("lamb", optimizer, "weight_decay", "amsgrad", "maximize")
    groups = optimizer.param_groups
    changed = Lamb(
        groups, groups[0]["lr"], groups[0]["betas"], groups[0]["eps"], settings.lamb_weight_decay
    )
    _exclude(changed, settings)
    return changed


def _without_momentum(optimizer: torch.optim.Optimizer, settings: plans.Dgc) -> torch.optim.SGD:
    _refuse("dgc", optimizer, "dampening", "maximize")
    groups = [{"params": g["params"], "lr": g["lr"]} for g in optimizer.param_groups]
    return torch.optim.SGD(groups, lr=groups[0]["lr"])


def _refuse(switch: str, optimizer: torch.optim.Optimizer, *options: str) -> None:
    for group in optimizer.param_groups:
        refuse(switch, optimizer, {option: group.get(option) for option in options})


def _exclude(optimizer: torch.optim.Optimizer, settings: plans.Lars | plans.Lamb) -> None:
    """Split each group into parameters with decay and those whose names are excluded from it, if
    any are.
    """
    if not settings.exclude_from_weight_decay:
        return
    for group in list(optimizer.param_groups):
        if "param_names" not in group:
            raise NotSupported(
                f"{settings.name}_configs: exclude_from_weight_decay goes by names: make the "
                "optimizer from model.named_parameters()"
            )
        named = list(zip(group["param_names"], group["params"], strict=True))
        excluded = [(n, p) for n, p in named if settings.excludes(n)]
        if not excluded:
            continue
        kept = [(n, p) for n, p in named if not settings.excludes(n)]
        group["params"], group["param_names"] = [p for _, p in kept], [n for n, _ in kept]
        shared = {k: v for k, v in group.items() if k not in ("params", "param_names")}
        decay = {f"{settings.name}_weight_decay": 0.0}
        optimizer.add_param_group({**shared, "params": excluded, **decay})


# of the rules that take the place of the optimizer's own; they have its very groups, so that
# schedulers of that one reach them
BUILDERS: dict[str, Callable[..., Any]] = {"lars": _lars, "lamb": _lamb, "dgc": _without_momentum}
