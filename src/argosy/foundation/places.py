"""Places: where a tensor lives, in Paddle's words, and the torch device behind each.

A GPU named on a machine without one falls back to the CPU with one warning, so that GPU scripts run
unchanged.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch

from argosy.foundation.errors import UsageError
from argosy.foundation.process_state import register


class Place:
    """A device. ``Place('gpu:0')`` and ``Place('cpu')`` parse Paddle's device strings."""

    __slots__ = ("index", "kind")

    kind: str
    index: int

    def __init__(self, device: Any = "cpu") -> None:
        if isinstance(device, Place):
            self.kind, self.index = device.kind, device.index
        else:
            self.kind, self.index = _parse(str(device))

    def set_place(self, place: Place) -> None:
        """Become ``place``."""
        self.kind, self.index = place.kind, place.index

    def is_cpu_place(self) -> bool:
        return self.kind == "cpu"

    def is_gpu_place(self) -> bool:
        return self.kind == "gpu"

    def is_cuda_pinned_place(self) -> bool:
        return self.kind == "gpu_pinned"

    def is_xpu_place(self) -> bool:
        return self.kind == "xpu"

    def is_custom_place(self) -> bool:
        return False

    def get_device_id(self) -> int:
        return self.index

    gpu_device_id = get_device_id

    def _type(self) -> int:
        """The number of its kind; it only serves to be compared."""
        return sorted(set(_KINDS.values())).index(self.kind)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and (self.kind, self.index) == (other.kind, other.index)

    def _equals(self, other: Place) -> bool:
        """Whether both are one device."""
        return self == other

    def __hash__(self) -> int:
        return hash((self.kind, self.index))

    def __repr__(self) -> str:
        return (
            f"Place({self.kind}:{self.index})"
            if self.kind in ("gpu", "xpu")
            else f"Place({self.kind})"
        )

    @property
    def device(self) -> torch.device:
        """The torch device, after the fallback to CPU where there is no GPU."""
        if self.kind in ("cpu", "gpu_pinned"):
            return _CPU
        if self.kind == "gpu" and torch.cuda.is_available():
            return torch.device("cuda", self.index)
        if self.kind == "xpu" and hasattr(torch, "xpu") and torch.xpu.is_available():
            return torch.device("xpu", self.index)
        warn_fallback(self.kind)
        return _CPU


class CPUPlace(Place):
    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("cpu")


class CUDAPlace(Place):
    __slots__ = ()

    def __init__(self, id: int = 0) -> None:
        super().__init__(f"gpu:{int(id)}")


class XPUPlace(Place):
    __slots__ = ()

    def __init__(self, id: int = 0) -> None:
        super().__init__(f"xpu:{int(id)}")


class CUDAPinnedPlace(Place):
    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("gpu_pinned")


_CPU = torch.device("cpu")
_KINDS = {
    "cpu": "cpu",
    "gpu": "gpu",
    "cuda": "gpu",
    "xpu": "xpu",
    "gpu_pinned": "gpu_pinned",
    "pinned": "gpu_pinned",
}
_warned: set[str] = register("fallbacks that were announced", set())


def warn_fallback(kind: str) -> None:
    """Say once per kind of device that CPU is used in its stead."""
    if kind not in _warned:
        _warned.add(kind)
        warnings.warn(
            f"no {kind.upper()} is available to PyTorch here; running on the CPU instead",
            stacklevel=3,
        )


def _parse(device: str) -> tuple[str, int]:
    text = device.strip().lower().removeprefix("place(").removesuffix(")")
    name, _, index = text.partition(":")
    if name not in _KINDS or (index and not index.isdigit()):
        raise UsageError(
            f"the device must be 'cpu', 'gpu', 'gpu:N', 'xpu' or 'xpu:N', but received {device!r}"
        )
    return _KINDS[name], int(index or 0)


def to_place(device: Any) -> Place:
    """Turn a Place, a device string or a torch device into a Place."""
    if isinstance(device, Place):
        return device
    if isinstance(device, torch.device):
        if device.type == "cpu":
            return CPUPlace()
        return Place(f"{'gpu' if device.type == 'cuda' else device.type}:{device.index or 0}")
    return Place(device)
