"""Optimizers that train with mixed precision."""

from __future__ import annotations

from typing import Any

from argosy.static import amp

__all__ = ["decorate"]


def decorate(
    optimizer: Any,
    amp_lists: Any = None,
    init_loss_scaling: float = 2.0**15,
    incr_every_n_steps: int = 1000,
    decr_every_n_nan_or_inf: int = 2,
    incr_ratio: float = 2.0,
    decr_ratio: float = 0.8,
    use_dynamic_loss_scaling: bool = True,
) -> Any:
    """Make ``minimize`` of an optimizer compute in float16 where ``amp_lists`` allow it, with a
    scaled loss.
    """
    return amp.decorate(
        optimizer,
        amp_lists=amp_lists,
        init_loss_scaling=init_loss_scaling,
        incr_every_n_steps=incr_every_n_steps,
        decr_every_n_nan_or_inf=decr_every_n_nan_or_inf,
        incr_ratio=incr_ratio,
        decr_ratio=decr_ratio,
        use_dynamic_loss_scaling=use_dynamic_loss_scaling,
        use_pure_fp16=False,
    )
