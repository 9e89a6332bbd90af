"""Lookups of 1.x: ids have a last axis of length 1, which is not in the result."""

from __future__ import annotations

import torch
from torch import Tensor

from argosy.ops import rearrangement
from argosy.ops.nn import embedding as lookups
from argosy.ops.table import op
from argosy.ops.traits import Precision


def _ids(x: Tensor) -> Tensor:
    return x.squeeze(-1) if x.ndim > 1 and x.shape[-1] == 1 else x


@op(
    "lookup_table",
    is_lookup=True,
    types=("lookup_table(Ids, W, padding_idx, is_sparse)",),
    layer="embedding",
    precision={"lookup_table": Precision.EXTRA_BLACK},
)
def lookup_table(x: Tensor, weight: Tensor, padding_idx: int, sparse: bool) -> Tensor:
    """``embedding`` at ids of such a shape."""
    out: Tensor = lookups.embedding.fn(_ids(x), weight, padding_idx, sparse, False)
    return out


@op(
    "fluid_one_hot",
    fluid="one_hot(X, depth, allow_out_of_range)",
    layer="one_hot",
    file_parts=rearrangement.one_hot,
)
def one_hot(x: Tensor, depth: int, allow_out_of_range: bool = False) -> Tensor:
    """Ones at the given columns; ids outside give zeros if ``allow_out_of_range``."""
    ids = _ids(x)
    if allow_out_of_range:
        return (ids.unsqueeze(-1) == torch.arange(depth, device=x.device)).to(torch.float32)
    out: Tensor = lookups.one_hot.fn(ids, depth)
    return out
