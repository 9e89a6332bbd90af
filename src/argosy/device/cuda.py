"""NVIDIA and AMD GPUs. Without one, counts are 0, waits return at once, and what asks about a GPU
says that there is none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from argosy.foundation.errors import UsageError
from argosy.foundation.places import CUDAPlace, Place, to_place

__all__ = [
    "Stream",
    "Event",
    "current_stream",
    "stream_guard",
    "synchronize",
    "device_count",
    "empty_cache",
    "memory_allocated",
    "memory_reserved",
    "max_memory_allocated",
    "max_memory_reserved",
    "reset_max_memory_allocated",
    "reset_max_memory_reserved",
    "get_device_properties",
    "get_device_name",
    "get_device_capability",
]

Stream = torch.cuda.Stream
Event = torch.cuda.Event


def _index(call: str, device: Any) -> int:
    """The number of the GPU that ``device`` names, by default the current one."""
    if not torch.cuda.is_available():
        raise UsageError(f"paddle.device.cuda.{call}: no GPU is available to PyTorch here")
    if device is None:
        return int(torch.cuda.current_device())
    place: Place = CUDAPlace(device) if isinstance(device, int) else to_place(device)
    if not place.is_gpu_place() or place.index >= torch.cuda.device_count():
        raise UsageError(
            f"paddle.device.cuda.{call}: {device!r} is not one of the "
            f"{torch.cuda.device_count()} GPUs of this machine"
        )
    return int(place.index)


def device_count() -> int:
    """Number of GPUs."""
    return torch.cuda.device_count()


def synchronize(device: Any = None) -> None:
    """Wait for everything that was started on the GPU; returns at once where there is none."""
    if torch.cuda.is_available():
        torch.cuda.synchronize(_index("synchronize", device))


def empty_cache() -> None:
    """Give cached GPU memory back to the system."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def current_stream(device: Any = None) -> Stream:
    """The stream that ops on the GPU are queued on."""
    return torch.cuda.current_stream(_index("current_stream", device))


@contextlib.contextmanager
def stream_guard(stream: Stream) -> Iterator[None]:
    """Queue ops on ``stream`` inside the block."""
    _index("stream_guard", None)
    with torch.cuda.stream(stream):
        yield


def _statistic(name: str, read: Callable[[int], int], doc: str) -> Callable[..., int]:
    def statistic(device: Any = None) -> int:
        return read(_index(name, device))

    statistic.__name__ = statistic.__qualname__ = name
    statistic.__doc__ = doc
    return statistic


memory_allocated = _statistic(
    "memory_allocated", torch.cuda.memory_allocated, "Bytes that tensors hold now."
)
memory_reserved = _statistic(
    "memory_reserved", torch.cuda.memory_reserved, "Bytes that the allocator holds now."
)
max_memory_allocated = _statistic(
    "max_memory_allocated", torch.cuda.max_memory_allocated, "Peak of memory_allocated."
)
max_memory_reserved = _statistic(
    "max_memory_reserved", torch.cuda.max_memory_reserved, "Peak of memory_reserved."
)


def reset_max_memory_allocated(device: Any = None) -> None:
    """Start the peaks anew; torch keeps both, so the reserved one starts anew too."""
    torch.cuda.reset_peak_memory_stats(_index("reset_max_memory_allocated", device))


def reset_max_memory_reserved(device: Any = None) -> None:
    """Start the peaks anew; torch keeps both, so the allocated one starts anew too."""
    torch.cuda.reset_peak_memory_stats(_index("reset_max_memory_reserved", device))


def get_device_properties(device: Any = None) -> Any:
    """Name, memory, compute capability and number of processors of a GPU."""
    return torch.cuda.get_device_properties(_index("get_device_properties", device))


def get_device_name(device: Any = None) -> str:
    return torch.cuda.get_device_name(_index("get_device_name", device))


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Major and minor compute capability."""
    return torch.cuda.get_device_capability(_index("get_device_capability", device))
