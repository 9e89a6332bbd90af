"""``fluid.framework``: places, flags, the mode, and of the default programs the one thing that dygraph scripts set, the seed."""

from __future__ import annotations

from typing import Any

from argosy.device import device_count, is_compiled_with_cuda
from argosy.fluid._missing import missing_names, refuse
from argosy.foundation import env
from argosy.foundation.places import CPUPlace, CUDAPinnedPlace, CUDAPlace, Place
from argosy.framework import get_flags, in_dygraph_mode, seed, set_flags
from argosy.tensor._defaults import defaults
from argosy.tensor._tensor import Parameter, Tensor
from argosy.utils import require_version

__all__ = [
    "Parameter",
    "Variable",
    "cpu_places",
    "cuda_pinned_places",
    "cuda_places",
    "default_main_program",
    "default_startup_program",
    "get_flags",
    "in_dygraph_mode",
    "is_compiled_with_cuda",
    "require_version",
    "set_flags",
]

Variable = Tensor


class _SeedOnly:
    """Stands for a default program: ``random_seed`` seeds the generators, everything else belongs to static graphs."""

    def __init__(self) -> None:
        self._seed = 0

    @property
    def random_seed(self) -> int:
        """The seed that was set; 0 means none."""
        return self._seed

    @random_seed.setter
    def random_seed(self, value: int) -> None:
        self._seed = int(value)
        if self._seed:
            seed(self._seed)

    def __getattr__(self, name: str) -> Any:
        refuse(f"fluid.Program.{name}")


_main_program, _startup_program = _SeedOnly(), _SeedOnly()


def default_main_program() -> _SeedOnly:
    """Of the program that 1.x would record into, what dygraph scripts use: ``random_seed``.

    Example:
        >>> import paddle.fluid as fluid
        >>> fluid.default_main_program().random_seed = 90
        >>> fluid.default_main_program().random_seed
        90
    """
    return _main_program


def default_startup_program() -> _SeedOnly:
    """As ``default_main_program``."""
    return _startup_program


def cpu_places(device_count: int | None = None) -> list[Place]:
    """As many CPU places as asked for; by default as CPU_NUM says, or one."""
    return [CPUPlace()] * (env.integer("CPU_NUM", 1) if device_count is None else device_count)


def cuda_places(device_ids: Any = None) -> list[Place]:
    """The GPUs with these numbers; by default those of FLAGS_selected_gpus, or all."""
    if device_ids is None:
        selected = env.get("FLAGS_selected_gpus", "")
        device_ids = [int(part) for part in selected.split(",")] if selected else range(device_count())
    elif not isinstance(device_ids, (list, tuple)):
        device_ids = [device_ids]
    return [CUDAPlace(i) for i in device_ids]


def cuda_pinned_places(device_count: int | None = None) -> list[Place]:
    """As many places of page-locked memory as asked for; by default as CPU_NUM says, or one."""
    return [CUDAPinnedPlace()] * (env.integer("CPU_NUM", 1) if device_count is None else device_count)


def _current_expected_place() -> Place:
    """Where new tensors go."""
    return defaults.place


__getattr__ = missing_names(__name__, globals())
