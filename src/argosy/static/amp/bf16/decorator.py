"""``minimize`` in bfloat16."""

from __future__ import annotations

from typing import Any

from argosy.static.amp import decorator
from argosy.static.amp.bf16.amp_lists import AutoMixedPrecisionListsBF16
from argosy.static.amp.bf16.amp_utils import cast_model_to_bf16
from argosy.static.amp.fp16_lists import AutoMixedPrecisionLists
from argosy.static.ir.program import Program

__all__ = ["decorate_bf16"]


class OptimizerWithMixedPrecision(decorator.OptimizerWithMixedPrecision):
    """Wraps an optimizer; made by ``decorate_bf16``."""

    def _cast_model(self, program: Program, startup_program: Program | None) -> set[str]:
        if self._amp_level != "O2":
            return super()._cast_model(program, startup_program)
        return cast_model_to_bf16(program, startup_program, self._amp_lists, self._use_amp_guard)


def decorate_bf16(
    optimizer: Any,
    amp_lists: AutoMixedPrecisionLists | None = None,
    use_pure_bf16: bool = False,
    use_bf16_guard: bool | None = None,
) -> OptimizerWithMixedPrecision:
    """Make ``minimize`` of an optimizer train in bfloat16, which needs no loss scaling.

    With ``use_pure_bf16`` parameters are bfloat16 too: from the start where ``minimize`` is given
    the startup program that fills them, else after ``amp_init``.
    """
    lists = AutoMixedPrecisionListsBF16() if amp_lists is None else amp_lists
    guard = use_pure_bf16 if use_bf16_guard is None else use_bf16_guard
    level = "O2" if use_pure_bf16 else "O1"
    return OptimizerWithMixedPrecision(
        optimizer, lists, level, "bfloat16", 1.0, False, 0, 0, 1.0, 1.0, use_amp_guard=guard
    )
