"""Ops that make the first values of parameters."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from argosy.ops.table import op


@op("fill_constant")
def fill_constant(shape: Sequence[int], value: float, dtype: torch.dtype) -> Tensor:
    return torch.full(list(shape), value, dtype=dtype)


@op("uniform_random", is_random=True)
def uniform_random(shape: Sequence[int], low: float, high: float, dtype: torch.dtype) -> Tensor:
    return torch.empty(list(shape), dtype=dtype).uniform_(low, high)
