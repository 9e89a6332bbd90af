"""Intel GPUs, which torch calls xpu as well."""

from __future__ import annotations

from typing import Any

import torch

from argosy.foundation.places import XPUPlace, to_place

__all__ = ["device_count", "synchronize", "empty_cache"]


def _is_available() -> bool:
    return hasattr(torch, "xpu") and torch.xpu.is_available()


def device_count() -> int:
    return torch.xpu.device_count() if _is_available() else 0


def synchronize(device: Any = None) -> None:
    """Wait for everything that was started on the device; returns at once where there is none."""
    if _is_available():
        place = (
            None
            if device is None
            else XPUPlace(device)
            if isinstance(device, int)
            else to_place(device)
        )
        torch.xpu.synchronize(None if place is None else place.device)


def empty_cache() -> None:
    """Give cached memory back to the system."""
    if _is_available():
        torch.xpu.empty_cache()
