"""Switches that replace the update rule of a ``torch.optim`` optimizer; ``stages.layer_rules`` for
torch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from argosy.distributed.fleet.planning.strategy_plan import Plan
from argosy.distributed.fleet.torch_optim import Lamb, Lars
from argosy.foundation.errors import NotSupported

__all__ = ["adapted", "momentum_of"]


def adapted(optimizer: torch.optim.Optimizer, plan: Plan) -> torch.optim.Optimizer:
    """The optimizer that does what ``plan`` says. It has the very groups of ``optimizer``, so
    schedulers of that one reach it.
    """
    if "lars" in plan:
        return _lars(optimizer, plan)
    if "lamb" in plan:
        return _lamb(optimizer, plan)
    if "dgc" in plan:
        return _without_momentum(optimizer)
    return optimizer


def momentum_of(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """The settings of an SGD with momentum that DGC takes over."""
    found = [(g["momentum"], g["nesterov"], g["weight_decay"]) for g in optimizer.param_groups]
    if any(other != found[0] for other in found):
        raise NotSupported(
            "DistributedStrategy.dgc: parameter groups with different momentum or weight_decay"
        )
    momentum, is_nesterov, decay = found[0]
    return {"momentum": momentum, "use_nesterov": is_nesterov, "weight_decay": decay}


def _lars(optimizer: torch.optim.Optimizer, plan: Plan) -> Lars:
    settings = plan.settings("lars")
    _refuse(optimizer, "lars", ("nesterov", "weight_decay", "dampening", "maximize"))
    groups = optimizer.param_groups
    changed = Lars(
        groups,
        groups[0]["lr"],
        groups[0]["momentum"],
        settings["lars_coeff"],
        settings["lars_weight_decay"],
        settings["epsilon"],
    )
    parts = tuple(settings["exclude_from_weight_decay"])
    _exclude(changed, parts, "lars", lambda name: any(part in name for part in parts))
    return changed


def _lamb(optimizer: torch.optim.Optimizer, plan: Plan) -> Lamb:
    settings = plan.settings("lamb")
    _refuse(optimizer, "lamb", ("weight_decay", "amsgrad", "maximize"))
    groups = optimizer.param_groups
    changed = Lamb(
        groups, groups[0]["lr"], groups[0]["betas"], groups[0]["eps"], settings["lamb_weight_decay"]
    )
    ends = tuple(settings["exclude_from_weight_decay"])
    _exclude(changed, ends, "lamb", lambda name: name.endswith(ends))
    return changed


def _without_momentum(optimizer: torch.optim.Optimizer) -> torch.optim.SGD:
    """DGC keeps momentum and decay to itself; what is left is a step along the direction it
    gives.
    """
    _refuse(optimizer, "dgc", ("dampening", "maximize"))
    groups = [{"params": g["params"], "lr": g["lr"]} for g in optimizer.param_groups]
    return torch.optim.SGD(groups, lr=groups[0]["lr"])


def _refuse(optimizer: torch.optim.Optimizer, switch: str, options: tuple[str, ...]) -> None:
    for group in optimizer.param_groups:
        for option in options:
            if group.get(option):
                raise NotSupported(
                    f"DistributedStrategy.{switch}: "
                    f"{type(optimizer).__name__}({option}={group[option]!r}) has no counterpart "
                    "in its rule"
                )


def _exclude(
    optimizer: torch.optim.Optimizer,
    wanted: tuple[str, ...],
    switch: str,
    is_excluded: Callable[[str], bool],
) -> None:
    """Split each group into parameters with decay and those whose names are excluded from it, if
    any are ``wanted`` so.
    """
    if not wanted:
        return
    for group in list(optimizer.param_groups):
        if "param_names" not in group:
            raise NotSupported(
                f"{switch}_configs: exclude_from_weight_decay goes by names: make the optimizer "
                "from model.named_parameters()"
            )
        named = list(zip(group["param_names"], group["params"], strict=True))
        excluded = [(n, p) for n, p in named if is_excluded(n)]
        if not excluded:
            continue
        kept = [(n, p) for n, p in named if not is_excluded(n)]
        group["params"], group["param_names"] = [p for _, p in kept], [n for n, _ in kept]
        settings = {k: v for k, v in group.items() if k not in ("params", "param_names")}
        optimizer.add_param_group({**settings, "params": excluded, f"{switch}_weight_decay": 0.0})
