"""``amp``: the settings of the strategy as an optimizer that records mixed precision and loss
scaling.
"""

from __future__ import annotations

from typing import Any

from argosy.distributed.fleet.planning.settings import Amp
from argosy.static.amp.decorator import OptimizerWithMixedPrecision
from argosy.static.amp.fp16_lists import AutoMixedPrecisionLists

__all__ = ["with_mixed_precision"]


def with_mixed_precision(optimizer: Any, settings: Amp) -> OptimizerWithMixedPrecision:
    """``optimizer`` with what ``amp_configs`` and the plan's level and dtype say.

    The guard belongs to ``use_pure_fp16``, also where the device makes bfloat16 of it.
    """
    if settings.keeps_masters:
        optimizer.keep_masters()
    lists = AutoMixedPrecisionLists(
        settings.custom_white_list,
        settings.custom_black_list,
        settings.custom_black_varnames,
        settings.dtype,
    )
    return OptimizerWithMixedPrecision(
        optimizer,
        lists,
        settings.level,
        settings.dtype,
        settings.init_loss_scaling if settings.scales_losses else 1.0,
        settings.use_dynamic_loss_scaling and settings.scales_losses,
        settings.incr_every_n_steps,
        settings.decr_every_n_nan_or_inf,
        settings.incr_ratio,
        settings.decr_ratio,
        use_amp_guard=settings.use_fp16_guard and not settings.use_pure_bf16,
    )
