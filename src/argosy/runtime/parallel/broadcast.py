"""Giving every rank the values of one."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from argosy.runtime.comm.backend import Backend


@torch.no_grad()
def broadcast_values(tensors: Sequence[torch.Tensor], backend: Backend, src: int) -> None:
    """Overwrite ``tensors`` with those of rank ``src`` of the group; small ones of one dtype travel together."""
    by_dtype: dict[torch.dtype, list[torch.Tensor]] = {}
    for tensor in tensors:
        by_dtype.setdefault(tensor.dtype, []).append(tensor.detach())
    for same in by_dtype.values():
        flat = torch.cat([t.reshape(-1) for t in same])
        backend.broadcast(flat, src)
        if backend.rank != src:
            for tensor, part in zip(same, torch.split(flat, [t.numel() for t in same]), strict=True):
                tensor.copy_(part.view(tensor.shape))
