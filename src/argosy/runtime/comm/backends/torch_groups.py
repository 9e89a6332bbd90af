"""Making process groups of torch.distributed without its default group: which there are, and how
each is opened.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from argosy.foundation import torch_private as private
from argosy.foundation.errors import UsageError, nearest

# store, rank, world_size, timeout, address
Maker = Callable[[Any, int, int, timedelta, str], Any]


def available() -> list[str]:
    """The kinds that can be opened in this process."""
    return sorted(_makers())


def make(kind: str, store: Any, rank: int, world_size: int, timeout_s: float, address: str) -> Any:
    """Open rank ``rank``'s end of a group that meets in ``store``; all ranks call it. UsageError
    lists the kinds there are.
    """
    makers = _makers()
    if kind not in makers:
        reason = {
            "nccl": "needs a build of torch with NCCL and a visible CUDA device",
            "mpi": "needs a build of torch with MPI",
            "ucc": "needs a build of torch with UCC",
        }.get(
            kind,
            "is neither part of torch nor registered with "
            "torch.distributed.Backend.register_backend",
        )
        raise UsageError(
            f"backend {kind!r} {reason}; available here: "
            f"{', '.join(sorted(makers))}.{nearest(kind, makers)}"
        )
    return makers[kind](store, rank, world_size, timedelta(seconds=timeout_s), address)


def wire_device(kind: str) -> torch.device | None:
    """Where tensors must lie to travel through a group of ``kind``; None where the group takes them
    as they are.
    """
    if kind == "nccl":
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu") if kind in ("gloo", "mpi") else None


def _makers() -> dict[str, Maker]:
    makers: dict[str, Maker] = {}
    if dist.is_gloo_available():
        makers["gloo"] = _gloo
    if dist.is_nccl_available() and torch.cuda.is_available():
        makers["nccl"] = _nccl
    if dist.is_mpi_available():
        makers["mpi"] = _mpi
    if dist.is_ucc_available():
        makers["ucc"] = _ucc
    for name, plugin in private.registered_backends().items():
        # the first, which torch registers with its own test tools, does not communicate; the
        # second is made of these groups itself
        if name.lower() in ("fake", "argosy"):
            continue
        makers.setdefault(name.lower(), _registered(name.lower(), plugin))
    return makers


def _gloo(store: Any, rank: int, world_size: int, timeout: timedelta, address: str) -> Any:
    # the interface that has this address; without it gloo looks up the host's name, which may be
    # any of them
    device = dist.ProcessGroupGloo.create_device(hostname=address, lazy_init=False)
    # a receive may block one thread while a send needs another
    options = private.gloo_options(timeout, [device], num_threads=2)
    return dist.ProcessGroupGloo(store, rank, world_size, options)


def _nccl(store: Any, rank: int, world_size: int, timeout: timedelta, address: str) -> Any:
    return dist.ProcessGroupNCCL(store, rank, world_size, private.nccl_options(timeout))


def _mpi(store: Any, rank: int, world_size: int, timeout: timedelta, address: str) -> Any:
    group = dist.ProcessGroupMPI.create([])
    if group is None or (group.rank(), group.size()) != (rank, world_size):
        raise UsageError(
            f"backend 'mpi': mpirun did not start this process as rank {rank} of {world_size}"
        )
    return group


def _ucc(store: Any, rank: int, world_size: int, timeout: timedelta, address: str) -> Any:
    return dist.ProcessGroupUCC(store, rank, world_size, timeout)


def _registered(name: str, plugin: Any) -> Maker:
    def maker(store: Any, rank: int, world_size: int, timeout: timedelta, address: str) -> Any:
        if not plugin.extended_api:
            return plugin.creator_fn(store, rank, world_size, timeout)
        options = private.registered_options()
        options.store = store
        options.group_rank = rank
        options.group_size = world_size
        options.timeout = timeout
        options.group_id = name
        options.global_ranks_in_group = list(range(world_size))
        return plugin.creator_fn(options, None)

    return maker
