"""Which low-precision dtypes a device computes in."""

from __future__ import annotations

from typing import Any

import torch

from argosy.foundation.places import to_place
from argosy.tensor.engine import defaults


def _device(device: Any) -> torch.device:
    return defaults.device if device is None else to_place(device).device


def is_float16_supported(device: Any = None) -> bool:
    """Whether auto_cast computes in float16 there; not on CPU."""
    return _device(device).type != "cpu"


def is_bfloat16_supported(device: Any = None) -> bool:
    """Whether auto_cast computes in bfloat16 there. Differs from Paddle: also on CPU."""
    chosen = _device(device)
    return chosen.type != "cuda" or torch.cuda.is_bf16_supported()
