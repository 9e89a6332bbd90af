"""Rows of several lookups side by side, among other columns: what a model with many slots feeds its
first layer.

As operators of their own these are a tensor per slot, their ``concat``, and in the backward pass
the parts of its gradient. Here every row is written where it belongs, once, and its gradient is
taken from where it is. With the layer that reads them its product is part of it, which then leaves
out the gradients of columns that nobody wants.

Gradients of a row are added sample by sample; separate lookups add them slot by slot. So the last
bits of a sum may differ between the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from argosy.distributed.fleet.servers.lookup import rows_at
from argosy.ops.array.joining import concat
from argosy.ops.math.linalg import gradient_of_x, linear, positive_part
from argosy.ops.math.padded import Padded

__all__ = ["beside"]


def beside(
    rows: torch.Tensor,
    positions: Sequence[torch.Tensor],
    before: Sequence[torch.Tensor],
    after: Sequence[torch.Tensor],
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    is_relu: bool = False,
) -> torch.Tensor:
    """``concat([*before, *the rows at each of positions, *after], 1)``, all of them matrices, and
    ``linear`` of it where there is a weight, perhaps with ``relu`` of that.
    """
    out = _put_beside(rows, positions, before, after, weight, bias)
    return positive_part(out) if is_relu else out


def _put_beside(
    rows: torch.Tensor,
    positions: Sequence[torch.Tensor],
    before: Sequence[torch.Tensor],
    after: Sequence[torch.Tensor],
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
) -> torch.Tensor:
    others = [*before, *after]
    if not _fit(rows, positions, others):
        dim = rows.shape[1]
        found = [part.reshape(-1, dim) for part in rows_at(rows, positions)]
        x: torch.Tensor = concat.fn([*before, *found, *after], 1)
        return x if weight is None else linear.fn(x, weight, bias)
    start = sum(part.shape[1] for part in before)
    layout = _Layout(_stacked(positions), rows.shape[1], start, len(before))
    return _Beside.apply(rows, weight, bias, layout, *others)  # type: ignore[no-untyped-call,no-any-return]


def _fit(
    rows: torch.Tensor, positions: Sequence[torch.Tensor], others: Sequence[torch.Tensor]
) -> bool:
    """Whether all have as many lines; ``concat`` has the words for those that have not."""
    count = positions[0].numel()
    return all(p.numel() == count for p in positions) and all(
        o.ndim == 2 and o.shape[0] == count and o.dtype == rows.dtype for o in others
    )


def _stacked(positions: Sequence[torch.Tensor]) -> torch.Tensor:
    """Positions as one matrix, a line for each lookup: where they are, if they are parts of one
    tensor, as those of a pull.
    """
    first, count = positions[0], positions[0].numel()
    address, size = first.data_ptr(), count * first.element_size()
    if all(
        p.is_contiguous() and p.data_ptr() == address + i * size for i, p in enumerate(positions)
    ):
        return first.as_strided((len(positions), count), (count, 1))
    return torch.stack([p.reshape(-1) for p in positions])


@dataclass(frozen=True)
class _Layout:
    """Which columns are whose. ``places`` has a line for each lookup; their rows begin at column
    ``start``, after so many of the other parts.
    """

    places: torch.Tensor
    dim: int
    start: int
    num_before: int

    @property
    def rows_end(self) -> int:
        return self.start + self.places.shape[0] * self.dim

    def columns_of(self, widths: Sequence[int]) -> list[tuple[int, int]]:
        """Where the other parts, which are so wide, lie."""
        found, at = [], 0
        for number, width in enumerate(widths):
            if number == self.num_before:
                at = self.rows_end
            found.append((at, at + width))
            at += width
        return found


class _Beside(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        rows: torch.Tensor,
        weight: torch.Tensor | None,
        bias: torch.Tensor | None,
        layout: _Layout,
        *others: torch.Tensor,
    ) -> torch.Tensor:
        from argosy.runtime.ps.tables.rows import gather_beside

        ctx.layout, ctx.shape = layout, rows.shape
        ctx.columns = layout.columns_of([other.shape[1] for other in others])
        width = max([layout.rows_end, *(stop for _, stop in ctx.columns)])
        count = layout.places.shape[1]
        x = Padded(count, width) if weight is not None else None
        whole = torch.empty(count, width) if x is None else x.whole
        gather_beside(rows.detach().numpy(), layout.places.numpy(), whole.numpy(), layout.start)
        for other, (low, high) in zip(others, ctx.columns, strict=True):
            whole[:, low:high] = other
        if x is None or weight is None or bias is None:
            return whole
        ctx.x = x
        ctx.save_for_backward(weight)
        return x.times(weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        wants_rows, wants_weight, wants_bias, _, *wanted = ctx.needs_input_grad
        grad_weight = grad_bias = None
        low, columns = 0, grad
        if ctx.saved_tensors:
            [weight] = ctx.saved_tensors
            low, high = _span(ctx, wants_rows, wanted)
            columns = gradient_of_x(grad, grad, weight[low:high])
            grad_weight = ctx.x.gradient_of_weight(grad, weight) if wants_weight else None
            grad_bias = grad.sum(0) if wants_bias else None
        parts = [
            columns[:, start - low : stop - low] if is_wanted else None
            for (start, stop), is_wanted in zip(ctx.columns, wanted, strict=True)
        ]
        total = _total(ctx, columns, ctx.layout.start - low) if wants_rows else None
        return total, grad_weight, grad_bias, None, *parts


def _span(ctx: Any, wants_rows: bool, wanted: Sequence[bool]) -> tuple[int, int]:
    """From the first column whose gradient is wanted to the last."""
    spans = [span for span, is_wanted in zip(ctx.columns, wanted, strict=True) if is_wanted]
    if wants_rows:
        spans.append((ctx.layout.start, ctx.layout.rows_end))
    return min((s for s, _ in spans), default=0), max((s for _, s in spans), default=0)


def _total(ctx: Any, columns: torch.Tensor, start: int) -> torch.Tensor:
    """The gradient of every row, from those of the columns."""
    from argosy.runtime.ps.tables.rows import add_beside

    total = torch.zeros(ctx.shape)
    values = columns.contiguous().numpy()
    add_beside(total.numpy(), ctx.layout.places.numpy(), values, start)
    return total
