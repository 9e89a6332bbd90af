"""Tensors that are not on the CPU: the backends that the name of a group gives to other devices.

torch makes no other backend beside a ``ProcessGroup`` of Python. So for ``cpu:argosy,cuda:nccl``
the second is opened here, by all ranks together with the first tensor on such a device.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from argosy.foundation.errors import UsageError
from argosy.runtime.comm.backends import torch_groups

# the names that c10d's backends have for these calls, where they are not those of its groups
_NAMES = {
    "all_gather_single": "_allgather_base",
    "reduce_scatter_single": "_reduce_scatter_base",
    "all_to_all_single": "alltoall_base",
    "all_gather_single_coalesced": "allgather_into_tensor_coalesced",
    "reduce_scatter_single_coalesced": "reduce_scatter_tensor_coalesced",
}


class OtherDevices:
    """The backends of one group for devices other than the CPU, each opened when it is needed."""

    def __init__(
        self, store: Any, rank: int, world_size: int, timeout_s: float, address: str
    ) -> None:
        self._store = store
        self._rank = rank
        self._world_size = world_size
        self._timeout_s = timeout_s
        self._address = address
        self._kinds: dict[str, str] | None = None  # known once torch has registered the group
        self._opened: dict[str, Any] = {}

    def kinds(self, group: Any) -> dict[str, str]:
        """The backend of each device but the CPU, as the group was asked for."""
        if self._kinds is None:
            pairs = (part.split(":") for part in dist.get_backend_config(group).split(","))
            self._kinds = {pair[0]: pair[1] for pair in pairs if pair[-1] != "argosy"}
        return self._kinds

    def backend(self, group: Any, device: torch.device) -> Any:
        """That of ``device``; UsageError if the group has none."""
        kind = device.type
        if kind not in self._opened:
            kinds = self.kinds(group)
            if kind not in kinds:
                raise UsageError(
                    f"the backend argosy takes tensors on the CPU, but received one on {device}; "
                    f"name a backend for them too: init_process_group('cpu:argosy,{kind}:nccl')"
                )
            part = dist.PrefixStore(f"{kind}/", self._store)  # type: ignore[attr-defined]
            self._opened[kind] = torch_groups.make(
                kinds[kind], part, self._rank, self._world_size, self._timeout_s, self._address
            )
        return self._opened[kind]

    def call(self, group: Any, name: str, device: torch.device, *args: Any) -> Any:
        """Make c10d's call ``name`` on the backend of ``device``."""
        return getattr(self.backend(group, device), _NAMES.get(name, name))(*args)

    def close(self) -> None:
        for backend in self._opened.values():
            if hasattr(backend, "shutdown"):
                backend.shutdown()
        self._opened = {}
