"""Functions of ``core.eager``, Paddle's C++ module of that name."""

from __future__ import annotations

from typing import Any

import torch

from argosy import tensor as T


def scale(x: Any, scale: float, bias: float, bias_after_scale: bool, trace_backward: bool) -> Any:
    """``scale * x + bias``, or ``scale * (x + bias)``; ``trace_backward`` says whether gradients
    flow through it.
    """
    with torch.set_grad_enabled(trace_backward and torch.is_grad_enabled()):
        return T.scale(x, scale, bias, bias_after_scale)
