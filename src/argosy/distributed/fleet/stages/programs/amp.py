"""``amp``: the settings of the strategy as an optimizer that records mixed precision and loss
scaling.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from argosy.static.amp.decorator import OptimizerWithMixedPrecision
from argosy.static.amp.fp16_lists import AutoMixedPrecisionLists

__all__ = ["with_mixed_precision"]


def with_mixed_precision(
    optimizer: Any, settings: Mapping[str, Any]
) -> OptimizerWithMixedPrecision:
    """``optimizer`` with what ``amp_configs`` and the plan's level and dtype say.

    At level O2 it keeps float32 masters, unless ``use_optimizer_fp16``. bfloat16 has the range of
    float32, so its loss is not scaled. The guard belongs to ``use_pure_fp16``, also where the
    device makes bfloat16 of it.
    """
    if settings["level"] == "O2" and not settings["use_optimizer_fp16"]:
        optimizer._multi_precision = True
    dtype = settings["dtype"]
    is_bfloat16 = dtype == "bfloat16"
    lists = AutoMixedPrecisionLists(
        settings["custom_white_list"],
        settings["custom_black_list"],
        settings["custom_black_varnames"],
        dtype,
    )
    return OptimizerWithMixedPrecision(
        optimizer,
        lists,
        settings["level"],
        dtype,
        1.0 if is_bfloat16 else settings["init_loss_scaling"],
        settings["use_dynamic_loss_scaling"] and not is_bfloat16,
        settings["incr_every_n_steps"],
        settings["decr_every_n_nan_or_inf"],
        settings["incr_ratio"],
        settings["decr_ratio"],
        use_amp_guard=settings["use_fp16_guard"] and not settings["use_pure_bf16"],
    )
