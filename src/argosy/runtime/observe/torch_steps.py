"""Hearing of updates by torch's optimizers. One that wraps others ends one step, not several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)


def on_update(hear: Callable[[torch.optim.Optimizer], None]) -> None:
    """Have ``hear`` called after each ``step()`` of an optimizer that no other one has called."""
    under_way: list[torch.optim.Optimizer] = []

    def begin(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        _cut(under_way, optimizer)  # a step that failed has not told its end
        under_way.append(optimizer)

    def end(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        _cut(under_way, optimizer)
        if not under_way:
            hear(optimizer)

    register_optimizer_step_pre_hook(begin)
    register_optimizer_step_post_hook(end)


def _cut(under_way: list[torch.optim.Optimizer], optimizer: torch.optim.Optimizer) -> None:
    """Forget ``optimizer`` and those that it has called."""
    for place, each in enumerate(under_way):
        if each is optimizer:
            del under_way[place:]
            return
