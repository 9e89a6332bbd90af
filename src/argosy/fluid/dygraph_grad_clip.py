"""``fluid.dygraph_grad_clip`` of 1.6 and 1.7: limits on gradients that are passed to ``minimize``
as ``grad_clip``.
"""

from __future__ import annotations

from argosy.nn.clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue

GradClipByNorm = ClipGradByNorm


def GradClipByValue(min_value: float, max_value: float | None = None) -> ClipGradByValue:
    """Hold gradients between the two values; one alone means between its negative and itself."""
    return (
        ClipGradByValue(abs(min_value))
        if max_value is None
        else ClipGradByValue(max_value, min_value)
    )


def GradClipByGlobalNorm(max_global_norm: float) -> ClipGradByGlobalNorm:
    """Scale all gradients by one factor when their joint 2-norm is above the limit."""
    return ClipGradByGlobalNorm(max_global_norm)
