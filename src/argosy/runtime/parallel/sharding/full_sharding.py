"""Sharding stage 3 for plain PyTorch: parameters are split too, by torch's FSDP2 (``fully_shard``).

FSDP2 works on a process group of torch.distributed. ``torch_group`` opens one for the ranks of a
group through the job's own store, beside our backend: gloo on CPU (which binds to the interface of
the host's name, or to ``GLOO_SOCKET_IFNAME``), NCCL on GPUs. A default group that the script has
opened itself is used as it is.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from argosy.foundation.errors import NotSupported, UsageError
from argosy.runtime.comm.group import Group
from argosy.runtime.comm.session import Session

# they have no forward to gather parameters for
_CONTAINERS = (torch.nn.ModuleList, torch.nn.ModuleDict)


def torch_group(session: Session, group: Group, device_type: str) -> Any:
    """A process group of torch.distributed with the ranks of ``group``, all of which call it;
    torch's default one is opened if need be.
    """
    if not dist.is_initialized():
        dist.init_process_group(
            "nccl" if device_type == "cuda" else "gloo",
            store=dist.PrefixStore("argosy/torch", session.store),  # type: ignore[attr-defined]
            rank=session.rank,
            world_size=session.world_size,
        )
        session.on_close(_destroy)
    if group.ranks == list(range(session.world_size)):
        return dist.group.WORLD
    return dist.new_group(group.ranks, use_local_synchronization=True)


def _destroy() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()
    # torch keeps layouts by the ranks of a mesh, and in them the group of the first mesh: a later
    # job in this process would talk through a group that is gone
    from torch.distributed.tensor import debug

    clear = getattr(debug, "_clear_sharding_prop_cache", None)
    if clear is not None:
        clear()


def shard_fully(
    module: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    process_group: Any,
    min_numel: int = 1 << 20,
) -> None:
    """Split the parameters of ``module`` over ``process_group``, in place; ``optimizer`` then has
    the split ones.

    A part of the module with at least ``min_numel`` elements is gathered and freed by itself, the
    rest at once. The optimizer must not have stepped yet. Saving:
    ``torch.distributed.checkpoint.state_dict`` knows the tensors.
    """
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.fsdp import fully_shard

    if optimizer.state:
        raise UsageError(
            "sharding stage 3: the optimizer has state already; shard before its first step"
        )
    device_type = next(module.parameters()).device.type
    if device_type not in ("cpu", "cuda"):
        raise NotSupported(f"sharding stage 3: parameters on {device_type!r}")
    names = {id(p): name for name, p in module.named_parameters()}
    for group in optimizer.param_groups:
        if any(id(p) not in names for p in group["params"]):
            raise UsageError(
                "sharding stage 3: the optimizer has a parameter that is not the module's"
            )
    mesh = DeviceMesh.from_group(process_group, device_type)
    for part in reversed(list(module.modules())):
        is_large = sum(p.numel() for p in part.parameters()) >= min_numel
        if part is module or (is_large and not isinstance(part, _CONTAINERS)):
            fully_shard(part, mesh=mesh)
    split = dict(module.named_parameters())
    for group in optimizer.param_groups:
        group["params"] = [split[names[id(p)]] for p in group["params"]]
