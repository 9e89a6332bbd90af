"""Loss scaling on several ranks: a step that overflowed on one of them is left out by all.

With gradients that are complete on every rank (DataParallel) all ranks see the same infinities;
where each holds a part (sharding, LocalSGD, row-sparse tables) they must ask each other, or they
take different steps and different scales.
"""

from __future__ import annotations

from typing import Any

import torch

from argosy.runtime.comm.backend import ReduceOp
from argosy.runtime.comm.group import Group


def found_anywhere(found: bool, group: Group) -> bool:
    """Whether any rank of ``group`` says True; every rank calls it."""
    value = torch.tensor([int(found)], dtype=torch.int32)
    group.run(group.transport.all_reduce, value, ReduceOp.MAX)
    return bool(value.item())


def agree_on_overflow(scaler: torch.amp.GradScaler, group: Group) -> torch.amp.GradScaler:
    """Make ``scaler`` of torch ask all ranks of ``group`` whenever it unscales; returns it.

    Every rank then calls ``unscale_`` and ``step`` equally often. A rank without gradients of its
    own takes part.
    """
    unscale: Any = scaler._unscale_grads_
    if getattr(unscale, "is_agreed", False):
        return scaler

    def unscale_together(
        optimizer: torch.optim.Optimizer, inv_scale: torch.Tensor, *rest: Any
    ) -> Any:
        found_by_device: dict[torch.device, torch.Tensor] = unscale(optimizer, inv_scale, *rest)
        if not found_by_device:
            found_by_device = {inv_scale.device: torch.zeros((), device=inv_scale.device)}
        mine = any(bool(found.item()) for found in found_by_device.values())
        everywhere = found_anywhere(mine, group)
        for found in found_by_device.values():
            found.fill_(float(everywhere))
        return found_by_device

    unscale_together.is_agreed = True  # type: ignore[attr-defined]
    scaler._unscale_grads_ = unscale_together  # type: ignore[method-assign, assignment]
    return scaler
