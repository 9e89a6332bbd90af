"""Averaging gradients outside a reducer: row-sparse ones, and dense ones after backward."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from argosy.runtime.comm.backend import Backend, ReduceOp
from argosy.runtime.parallel.broadcast import packs, unpack
from argosy.runtime.parallel.rows import RowAverage

_PACK_BYTES = 32 << 20


@torch.no_grad()
def average_rows(param: torch.Tensor, is_fresh: bool, backend: Backend) -> None:
    """Average a row-sparse gradient once, as ``RowAverage`` does round after round."""
    RowAverage(param, backend, is_lasting=False).average(is_fresh)


@torch.no_grad()
def combine_gradients(grads: Sequence[torch.Tensor], scale: float, backend: Backend) -> None:
    """Replace each dense gradient by its sum over the ranks times ``scale``."""
    for pack in packs(grads, _PACK_BYTES):
        flat = pack[0] if len(pack) == 1 else torch.cat([g.reshape(-1) for g in pack])
        backend.all_reduce(flat, ReduceOp.SUM)
        flat.mul_(scale)
        if len(pack) > 1:
            unpack(flat, pack)
