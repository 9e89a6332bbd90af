"""The two first columns of the rows that click-through models sum up: shows and clicks."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from argosy.ops.table import op


class _Cvm(torch.autograd.Function):
    """Shows and clicks are counts, not weights: what comes back for them are the counts."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, counts: Tensor, is_kept: bool) -> Tensor:
        ctx.save_for_backward(counts)
        ctx.is_kept = is_kept
        if not is_kept:
            return x[:, 2:].clone()
        shows, clicks = torch.log(x[:, 0:1] + 1), torch.log(x[:, 1:2] + 1)
        return torch.cat([shows, clicks - shows, x[:, 2:]], 1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (counts,) = ctx.saved_tensors
        rest = grads[0][:, 2:] if ctx.is_kept else grads[0]
        return torch.cat([counts.to(rest.dtype), rest], 1), None, None


@op("cvm", types=("cvm(X, CVM, use_cvm) -> Y",))
def cvm(x: Tensor, counts: Tensor, use_cvm: bool) -> Tensor:
    """``x`` with its first two columns, shows and clicks, as the logarithms of their counts plus 1
    and of the rate of clicks; without them if not ``use_cvm``. The gradient of the two are
    ``counts``.
    """
    out: Tensor = _Cvm.apply(x, counts, use_cvm)  # type: ignore[no-untyped-call]
    return out
