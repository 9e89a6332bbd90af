"""Which devices there are, which one new tensors go to, waiting for their work."""

from __future__ import annotations

from typing import Any

import torch

from argosy.device import cuda, xpu
from argosy.foundation.errors import DtypeError
from argosy.foundation.places import CUDAPlace, Place, to_place
from argosy.tensor.engine import Tensor, defaults

__all__ = [
    "set_device",
    "get_device",
    "device_guard",
    "is_compiled_with_cuda",
    "is_compiled_with_rocm",
    "is_compiled_with_xpu",
    "is_compiled_with_ipu",
    "is_compiled_with_cinn",
    "is_compiled_with_distribute",
    "is_compiled_with_custom_device",
    "is_available",
    "device_count",
    "get_all_device_type",
    "get_available_device",
    "get_all_custom_device_type",
    "get_available_custom_device",
    "get_cudnn_version",
    "synchronize",
    "empty_cache",
    "manual_seed",
]


def _as_place(device: Any) -> Place:
    """Read 'gpu:0', a Place, or a number, which is the number of a GPU."""
    return CUDAPlace(device) if isinstance(device, int) else to_place(device)


def set_device(device: Any) -> Place:
    """Put new tensors on ``device``: 'cpu', 'gpu', 'gpu:1', a Place. Returns the place that is
    really used.
    """
    return defaults.set_place(_as_place(device))


def get_device(input: Tensor | None = None) -> Any:
    """The name of the default device, 'cpu' or 'gpu:0'; for a Tensor, the number of its GPU, -1 on
    the CPU.
    """
    if input is not None:
        if not isinstance(input, Tensor):
            raise DtypeError(f"get_device: expected a Tensor, but received {type(input).__name__}")
        return -1 if input.place.is_cpu_place() else input.place.get_device_id()
    place = defaults.place
    return "cpu" if place.is_cpu_place() else f"{place.kind}:{place.index}"


class device_guard:
    """Another default device inside a ``with`` block.

    Example:
        >>> with paddle.device.device_guard("cpu"):
        ...     x = paddle.to_tensor([1.0])
        >>> x.place
        Place(cpu)
    """

    def __init__(self, device: Any = None) -> None:
        self._wanted = device

    def __enter__(self) -> None:
        self._before = (defaults.place, defaults.device, defaults.is_place_chosen)
        if self._wanted is not None:
            set_device(self._wanted)

    def __exit__(self, *exc: Any) -> None:
        defaults.place, defaults.device, defaults.is_place_chosen = self._before


def is_compiled_with_cuda() -> bool:
    """Whether PyTorch here can use an NVIDIA or AMD GPU (Paddle answers for its own build, scripts
    ask for the machine).
    """
    return torch.cuda.is_available()


def is_compiled_with_rocm() -> bool:
    return torch.version.hip is not None and torch.cuda.is_available()


def is_compiled_with_xpu() -> bool:
    return hasattr(torch, "xpu") and torch.xpu.is_available()


def is_compiled_with_ipu() -> bool:
    return False


def is_compiled_with_cinn() -> bool:
    return False


def is_compiled_with_distribute() -> bool:
    return True


def is_compiled_with_custom_device(device_type: str) -> bool:
    """False: there are no plug-in devices."""
    return False


def is_available() -> bool:
    """Whether there is a device beside the CPU."""
    return device_count() > 0


def device_count() -> int:
    """Number of GPUs (or XPUs)."""
    if torch.cuda.is_available():
        return torch.cuda.device_count()
    return xpu.device_count()


def get_all_device_type() -> list[str]:
    return sorted({name.partition(":")[0] for name in get_available_device()})


def get_available_device() -> list[str]:
    """Names of the devices that ``set_device`` can use beside the CPU."""
    kind = "gpu" if torch.cuda.is_available() else "xpu"
    return [f"{kind}:{i}" for i in range(device_count())]


def get_all_custom_device_type() -> list[str]:
    return []


def get_available_custom_device() -> list[str]:
    return []


def get_cudnn_version() -> int | None:
    """The version of cuDNN as a number, None where it is not used."""
    if not torch.cuda.is_available():
        return None
    version: int | None = torch.backends.cudnn.version()  # type: ignore[no-untyped-call]
    return version


def synchronize(device: Any = None) -> None:
    """Wait for everything that was started on the device; nothing to wait for on the CPU."""
    engine = defaults.device if device is None else _as_place(device).device
    if engine.type == "cuda":
        torch.cuda.synchronize(engine)
    elif engine.type == "xpu":
        torch.xpu.synchronize(engine)


def empty_cache() -> None:
    """Give cached GPU memory back to the system."""
    cuda.empty_cache()


def manual_seed(seed: int) -> None:
    """Seed the generator of every device."""
    torch.manual_seed(int(seed))
