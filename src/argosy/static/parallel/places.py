"""Which places a program runs on when none are named: CUDA devices, or as many CPU places as
``CPU_NUM`` says.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import torch

from argosy.foundation import env
from argosy.foundation.errors import ConfigError, UsageError
from argosy.foundation.places import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    Place,
    to_place,
    warn_fallback,
)


def cpu_places(device_count: int | None = None) -> list[CPUPlace]:
    """``device_count`` CPU places, by default as many as the environment variable ``CPU_NUM`` says.

    Example:
        >>> import paddle
        >>> paddle.static.cpu_places(2)
        [Place(cpu), Place(cpu)]
    """
    return [CPUPlace() for _ in range(_cpu_count(device_count))]


def cuda_pinned_places(device_count: int | None = None) -> list[CUDAPinnedPlace]:
    """``device_count`` places of page-locked host memory, by default as many as ``CPU_NUM``
    says.
    """
    return [CUDAPinnedPlace() for _ in range(_cpu_count(device_count))]


def cuda_places(device_ids: Sequence[int] | int | None = None) -> list[CUDAPlace]:
    """The GPUs with these numbers; by default those of ``FLAGS_selected_gpus``, else all.

    Differs from Paddle: where PyTorch sees no GPU, it warns and names GPU 0, which stands for the
    CPU.
    """
    if device_ids is None:
        chosen = env.get("FLAGS_selected_gpus")
        numbers = (
            [int(text) for text in chosen.split(",")]
            if chosen
            else list(range(torch.cuda.device_count()))
        )
        if not numbers:
            warn_fallback("gpu")
            numbers = [0]
    else:
        numbers = [device_ids] if isinstance(device_ids, int) else list(device_ids)
    return [CUDAPlace(number) for number in numbers]


def default_places(use_cuda: bool) -> list[Place]:
    """Where a data-parallel program runs; where there is no GPU, CPU places stand for them, with a
    warning.
    """
    if use_cuda and torch.cuda.is_available():
        return list(cuda_places())
    if use_cuda:
        warn_fallback("gpu")
    return list(cpu_places())


def given_places(call: str, places: Any) -> list[Place]:
    """Places from what a script passes: one or several Places or their names."""
    items = list(places) if isinstance(places, (list, tuple)) else [places]
    if not items:
        raise UsageError(f"{call}: places must hold at least one place")
    return [to_place(item) for item in items]


def _cpu_count(count: int | None) -> int:
    if count is None:
        count = _from_environment()
    if not isinstance(count, int) or count < 1:
        raise UsageError(f"the number of CPU places must be a positive integer, but is {count!r}")
    return count


def _from_environment() -> int:
    if not env.get("CPU_NUM"):
        print(
            "CPU_NUM is not set, so programs run on 1 CPU place. Set CPU_NUM in the environment "
            "to the number of places to use.",
            file=sys.stderr,
        )
        env.update({"CPU_NUM": "1"})
    count = env.integer("CPU_NUM", 1)
    if count < 1:
        raise ConfigError(f"the environment variable CPU_NUM must be at least 1, but is {count}")
    return count
