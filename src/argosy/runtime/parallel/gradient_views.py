"""Where the gradients of a model live: flat buckets, and one view of them for each parameter."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from argosy.foundation import gradients
from argosy.runtime.comm.bucket import Bucket
from argosy.runtime.parallel import bucketing

_ALIGNMENT = 16  # elements between gradients in a bucket: each starts on a cache line


class GradientView:
    """One parameter's part of a bucket: the number of the bucket, a view of it, a flag in it."""

    __slots__ = ("bucket", "flag", "home", "is_fresh", "is_ready", "kept", "tensor")

    def __init__(self, bucket: int, tensor: torch.Tensor, flag: torch.Tensor, sink: Any) -> None:
        self.bucket = bucket
        self.tensor = tensor
        self.flag = flag
        self.home = gradients.GradHome(tensor, sink)
        self.is_ready = False  # its part of this round is settled
        self.is_fresh = False  # it holds something that has not been averaged
        # the gradient from before a round in which this rank produced none
        self.kept: torch.Tensor | None = None

    def holds(self, grad: torch.Tensor | None) -> bool:
        """Whether ``grad`` lies here."""
        return (
            grad is not None
            and grad.layout is torch.strided
            and grad.data_ptr() == self.tensor.data_ptr()
        )

    def adopt(self, param: torch.Tensor) -> None:
        """Move the gradient of ``param`` here, unless it is here already."""
        grad = param.grad
        if grad is not None and not self.holds(grad):
            self.tensor.copy_(
                grad.detach() if grad.layout is torch.strided else grad.detach().to_dense()
            )
            param.grad = self.tensor.detach()


@dataclass(frozen=True, eq=False)
class GradientViews:
    """Buckets in the order in which they are published, and the view of each parameter by its
    index.
    """

    plan: list[tuple[int, ...]]
    buckets: list[Bucket]
    by_index: dict[int, GradientView]

    @classmethod
    def lay_out(
        cls,
        params: Sequence[torch.Tensor],
        sinks: Sequence[Any],
        order: Sequence[int],
        bucket_bytes: int,
        last_bucket_bytes: int,
        make_bucket: Callable[[int, torch.dtype, int], Bucket],
    ) -> GradientViews:
        """Make buckets for gradients that arrive in ``order``; gradients that exist move into them.

        Behind the gradients of a bucket lies one flag for each. ``sinks`` are the nodes that
        accumulate the gradients.
        """
        items = [
            bucketing.Item(index=i, numel=_wire_numel(params[i]), dtype=params[i].dtype.to_real())
            for i in order
        ]
        plan = bucketing.plan(items, bucket_bytes, last_bucket_bytes)
        made = cls(plan, [], {})
        for number, indices in enumerate(plan):
            starts, total = bucketing.offsets([_wire_numel(params[i]) for i in indices], _ALIGNMENT)
            dtype, num_flags = params[indices[0]].dtype.to_real(), len(indices)
            bucket = make_bucket(total + num_flags, dtype, num_flags)
            bucket.tensor.zero_()
            made.buckets.append(bucket)
            for k, (index, start) in enumerate(zip(indices, starts, strict=True)):
                view = made.by_index[index] = GradientView(
                    number,
                    _part(bucket.tensor, start, params[index]),
                    bucket.tensor[total + k],
                    sinks[index],
                )
                view.adopt(params[index])
        return made

    def produced(self) -> dict[int, bool]:
        """By parameter, whether any rank produced its gradient; to be read after the averages are
        there.
        """
        if not self.buckets:
            return {}
        # a mean of flags is positive if one of them was: it cannot round to zero, not in float16
        # either
        flags = torch.cat(
            [
                bucket.tensor[-len(indices) :].float()
                for bucket, indices in zip(self.buckets, self.plan, strict=True)
            ]
        )
        every = itertools.chain.from_iterable(self.plan)
        return dict(zip(every, (flags > 0).tolist(), strict=True))

    def close(self) -> None:
        self.by_index.clear()
        for bucket in self.buckets:
            bucket.close()


def _wire_numel(param: torch.Tensor) -> int:
    """Elements in the bucket: a complex number takes two."""
    return param.numel() * (2 if param.is_complex() else 1)


def _part(flat: torch.Tensor, start: int, param: torch.Tensor) -> torch.Tensor:
    part = flat[start : start + _wire_numel(param)]
    return (
        torch.view_as_complex(part.view(*param.shape, 2))
        if param.is_complex()
        else part.view(param.shape)
    )
