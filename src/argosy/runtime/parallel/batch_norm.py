"""Batch norm of torch modules over the samples of all ranks; works on any device that the group's
backend serves.
"""

from __future__ import annotations

import torch

from argosy.foundation.torch_private import BatchNorm, LazyNorm
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.totals import total


class SyncBatchNorm(BatchNorm):
    """``plain`` (its parameters, buffers and settings), with statistics over ``group`` while
    training. In ``eval`` it is ``plain``.
    """

    def __init__(self, plain: BatchNorm, group: Group) -> None:
        super().__init__(
            plain.num_features,
            plain.eps,
            plain.momentum,
            affine=False,
            track_running_stats=plain.track_running_stats,
        )
        self.affine = plain.affine
        self.weight, self.bias = plain.weight, plain.bias
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            setattr(self, name, getattr(plain, name))
        self.training = plain.training
        self._group = group

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        if not (self.training or self.running_mean is None):
            return super().forward(input)
        wide = input.float() if input.dtype.itemsize < 4 else input
        axes = [axis for axis in range(input.dim()) if axis != 1]
        shape = [1, -1, *[1] * (input.dim() - 2)]
        count = torch.full(
            (1,), input.numel() / input.shape[1], dtype=wide.dtype, device=input.device
        )
        moments = total(torch.cat([wide.sum(axes), count]), self._group)
        n = moments[-1]
        mean = moments[:-1] / n
        centred = wide - mean.view(shape)
        # a second exchange, because E[x²] - E[x]² loses all digits where the mean is large
        variance = total(centred.square().sum(axes), self._group) / n
        if self.training and self.track_running_stats:
            self._track(mean.detach(), variance.detach(), n.detach())
        output = centred * torch.rsqrt(variance + self.eps).view(shape)
        if self.affine:
            output = output * self.weight.view(shape) + self.bias.view(shape)
        return output.to(input.dtype)

    @torch.no_grad()
    def _track(self, mean: torch.Tensor, variance: torch.Tensor, n: torch.Tensor) -> None:
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.num_batches_tracked is not None
        self.num_batches_tracked.add_(1)
        share = 1.0 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), share)
        self.running_var.lerp_(
            (variance * (n / (n - 1).clamp_min(1))).to(self.running_var.dtype), share
        )

    def _check_input_dim(self, input: torch.Tensor) -> None:
        return None


def synchronised(module: torch.nn.Module, group: Group) -> torch.nn.Module:
    """``module`` with every BatchNorm1d, 2d, 3d replaced by one over ``group``; parameters and
    buffers stay the same objects.
    """
    if isinstance(module, LazyNorm):
        raise TypeError("sync_batch_norm: run a lazy batch norm once before it is converted")
    if isinstance(module, BatchNorm) and not isinstance(module, SyncBatchNorm):
        return SyncBatchNorm(module, group)
    for name, child in list(module.named_children()):
        setattr(module, name, synchronised(child, group))
    return module
