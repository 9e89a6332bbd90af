"""``minimize`` in bfloat16."""

from __future__ import annotations

from typing import Any

from argosy.static.amp.bf16.amp_lists import AutoMixedPrecisionListsBF16
from argosy.static.amp.decorator import OptimizerWithMixedPrecision
from argosy.static.amp.fp16_lists import AutoMixedPrecisionLists

__all__ = ["decorate_bf16"]


def decorate_bf16(
    optimizer: Any,
    amp_lists: AutoMixedPrecisionLists | None = None,
    use_pure_bf16: bool = False,
    use_bf16_guard: bool | None = None,
) -> OptimizerWithMixedPrecision:
    """Make ``minimize`` of an optimizer train in bfloat16, which needs no loss scaling."""
    lists = AutoMixedPrecisionListsBF16() if amp_lists is None else amp_lists
    guard = use_pure_bf16 if use_bf16_guard is None else use_bf16_guard
    level = "O2" if use_pure_bf16 else "O1"
    return OptimizerWithMixedPrecision(
        optimizer, lists, level, "bfloat16", 1.0, False, 0, 0, 1.0, 1.0, use_amp_guard=guard
    )
