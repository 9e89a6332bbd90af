"""Giving every rank the values of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from argosy.runtime.comm.backend import Backend

# a tensor at least this large travels alone; smaller ones of one dtype together
_PACK_BYTES = 1 << 20


@torch.no_grad()
def broadcast_values(tensors: Sequence[torch.Tensor], backend: Backend, src: int) -> None:
    """Overwrite ``tensors`` with those of rank ``src`` of the group."""
    for pack in packs([t.detach() for t in tensors], _PACK_BYTES):
        if len(pack) == 1:
            backend.broadcast(pack[0], src)
            continue
        flat = torch.cat([t.reshape(-1) for t in pack])
        backend.broadcast(flat, src)
        if backend.rank != src:
            unpack(flat, pack)


def packs(tensors: Sequence[torch.Tensor], limit_bytes: int) -> Iterator[list[torch.Tensor]]:
    """Split ``tensors`` into lists of one dtype that hold about ``limit_bytes``, in an order that
    depends on sizes and dtypes alone.
    """
    held: dict[torch.dtype, list[torch.Tensor]] = {}
    for tensor in tensors:
        if tensor.nbytes >= limit_bytes:
            yield [tensor]
            continue
        same = held.setdefault(tensor.dtype, [])
        same.append(tensor)
        if sum(t.nbytes for t in same) >= limit_bytes:
            yield held.pop(tensor.dtype)
    yield from held.values()


def unpack(flat: torch.Tensor, tensors: Sequence[torch.Tensor]) -> None:
    """Copy the parts of ``flat``, one after another, into ``tensors``."""
    for tensor, part in zip(tensors, torch.split(flat, [t.numel() for t in tensors]), strict=True):
        tensor.copy_(part.view(tensor.shape))
