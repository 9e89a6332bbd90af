"""Normalisation: over the batch, a layer, groups of channels, one instance, neighbouring channels,
a vector, a matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as torch_f

from argosy.foundation.errors import UsageError
from argosy.ops import composition
from argosy.ops.math.p_norm import p_norm
from argosy.ops.table import op
from argosy.ops.traits import Precision, Record


@op(
    "batch_norm_",
    layer="batch_norm:2",
    mutates=("mean", "variance"),
    test_attrs={"is_test": True},
    precision=Precision.GRAY | Precision.MIXED,
    types=(
        "batch_norm(X, Mean, Variance, Scale, Bias, is_test, momentum, epsilon, "
        "data_layout:NCHW, use_global_stats, trainable_statistics) -> Y, MeanOut=mean, "
        "VarianceOut=variance, SavedMean, SavedVariance",
    ),
)
def batch_norm_(
    x: Tensor,
    mean: Tensor,
    variance: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    is_test: bool,
    momentum: float,
    epsilon: float,
    channel_last: bool,
    use_global_stats: bool,
    trainable_statistics: bool,
) -> Tensor:
    """Normalise each channel; with the batch's own statistics, move ``mean`` and ``variance``
    towards them in place.

    ``momentum`` is the fraction of the running statistics that is kept, and the running variance is
    the biased one. One element per channel has no statistics: it passes unchanged and leaves them
    alone, as in Paddle.
    """
    if channel_last:
        x = x.movedim(-1, 1)
    if use_global_stats or (is_test and not trainable_statistics):
        out = torch.batch_norm(
            x, weight, bias, mean, variance, False, 0.0, epsilon, torch.backends.cudnn.enabled
        )
        return out.movedim(1, -1) if channel_last else out
    count = x.numel() // x.shape[1] if x.shape[1] else 0
    if count <= 1:
        out = x if weight is None or bias is None else x + _unused(weight, bias)
        return (out.movedim(1, -1) if channel_last else out).clone()
    # torch moves towards the unbiased variance, count / (count - 1) times the biased one: scaling
    # the running one by that factor around the call undoes it. Through .data, because backward does
    # not read what this changes.
    variance.data.mul_(count / (count - 1))
    out = torch.batch_norm(
        x, weight, bias, mean, variance, True, 1.0 - momentum, epsilon, torch.backends.cudnn.enabled
    )
    variance.data.mul_((count - 1) / count)
    return out.movedim(1, -1) if channel_last else out


def _unused(weight: Tensor, bias: Tensor) -> Tensor:
    """Zero, of which the parameters have zeros as their gradients."""
    return (torch.sgn(weight) + torch.sgn(bias)).sum() * 0.0


@op("channel_moments", precision=Precision.MIXED)
def channel_moments(x: Tensor, channel_last: bool) -> Tensor:
    """Sums, sums of squares and the count of each channel in one [2 * C + 1] vector of float64,
    ready to be added over ranks.

    The squares are taken around this batch's own mean and moved to zero in float64, or they would
    lose the variance of channels far from zero.
    """
    channel = x.ndim - 1 if channel_last else 1
    axes = [i for i in range(x.ndim) if i != channel]
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    count = x.numel() // max(x.shape[channel], 1)
    mean = wide.sum(axes, keepdim=True) / max(count, 1)
    around = (wide - mean).square().sum(axes).double()
    centre = mean.view(-1).double()
    return torch.cat(
        [centre * count, around + centre * centre * count, centre.new_full((1,), count)]
    )


@op(
    "batch_norm_from_moments_",
    types=("sync_batch_norm",),
    mutates=("mean", "variance"),
    precision=Precision.MIXED,
)
def batch_norm_from_moments_(
    x: Tensor,
    moments: Tensor,
    mean: Tensor,
    variance: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    momentum: float,
    epsilon: float,
    channel_last: bool,
) -> Tensor:
    """Batch normalisation with statistics from ``channel_moments``, whose gradient flows back
    through them.
    """
    channels = x.shape[-1 if channel_last else 1]
    sums, squares, count = moments[:channels], moments[channels:-1], moments[-1:]
    batch_mean = sums / count
    batch_variance = (squares / count - batch_mean * batch_mean).clamp_min(0.0)
    with torch.no_grad():
        mean.mul_(momentum).add_(batch_mean.to(mean.dtype), alpha=1.0 - momentum)
        variance.mul_(momentum).add_(batch_variance.to(variance.dtype), alpha=1.0 - momentum)
    scale = torch.rsqrt(batch_variance + epsilon)
    if weight is not None:
        scale = scale * weight
    shift = -batch_mean * scale
    if bias is not None:
        shift = shift + bias
    shape = [channels] if channel_last else [channels] + [1] * (x.ndim - 2)
    wide = torch.float32 if x.dtype in (torch.float16, torch.bfloat16) else x.dtype
    return (x * scale.to(wide).view(shape) + shift.to(wide).view(shape)).to(x.dtype)


@op(
    "layer_norm",
    precision=Precision.BLACK | Precision.GRAY | Precision.MIXED,
    layer="layer_norm:2",
    types=("layer_norm(X, Scale, Bias, epsilon, begin_norm_axis) -> Y, Mean, Variance",),
)
def layer_norm(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, epsilon: float, begin_norm_axis: int
) -> Tensor:
    """Normalise the axes from ``begin_norm_axis`` on together; weight and bias are flat."""
    shape = x.shape[begin_norm_axis:]
    if len(shape) > 1:
        weight = None if weight is None else weight.view(shape)
        bias = None if bias is None else bias.view(shape)
    return torch.layer_norm(x, shape, weight, bias, epsilon)


@op("rms_norm")
def rms_norm(
    x: Tensor, weight: Tensor | None, epsilon: float, begin_norm_axis: int
) -> tuple[Tensor, Tensor]:
    """Divide by the root of the mean square of the axes from ``begin_norm_axis`` on; also its
    inverse, in float32.
    """
    axes = list(range(begin_norm_axis, x.ndim))
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    inverse = torch.rsqrt(wide.square().mean(axes, keepdim=True) + epsilon)
    out = wide * inverse
    if weight is not None:
        out = out * weight.view(x.shape[begin_norm_axis:])
    return out.to(x.dtype), inverse.view(x.shape[:begin_norm_axis]).float()


@op(
    "group_norm",
    precision=Precision.BLACK | Precision.MIXED,
    types=("group_norm(X, Scale, Bias, epsilon, groups, data_layout:NCHW) -> Y, Mean, Variance",),
)
def group_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    epsilon: float,
    groups: int,
    channel_last: bool,
) -> Tensor:
    """Normalise every group of channels of every sample by itself."""
    if channel_last:
        return _by_group(x.movedim(-1, 1), groups, weight, bias, epsilon).movedim(1, -1)
    return _by_group(x, groups, weight, bias, epsilon)


def _by_group(
    x: Tensor, groups: int, weight: Tensor | None, bias: Tensor | None, epsilon: float
) -> Tensor:
    """A group of one element is zero exactly before ``bias``, which torch's rounding misses."""
    is_alone = x.numel() == x.shape[0] * groups and x.numel() > 0
    if not is_alone and (bias is None or weight is not None):
        return torch.group_norm(x, groups, weight, bias, epsilon)
    # torch has no backward for a bias without a weight
    shape = [-1] + [1] * (x.ndim - 2)
    out = x * 0.0 if is_alone else torch.group_norm(x, groups, None, None, epsilon)
    if weight is not None:
        out = out * weight.view(shape)
    return out if bias is None else out + bias.view(shape)


@op(
    "instance_norm",
    precision=Precision.MIXED,
    layer="instance_norm:2",
    types=("instance_norm(X, Scale, Bias, epsilon) -> Y, SavedMean, SavedVariance",),
)
def instance_norm(x: Tensor, weight: Tensor | None, bias: Tensor | None, epsilon: float) -> Tensor:
    """Normalise every channel of every sample by itself."""
    return _by_group(x, x.shape[1], weight, bias, epsilon)


@op("lrn", types=("lrn(X, n, alpha, beta, k, data_format:NCHW) -> Out, MidOut",))
def lrn(
    x: Tensor, n: int, alpha: float, beta: float, k: float, channel_last: bool = False
) -> Tensor:
    """``local_response_norm`` by the sum over neighbours, not their mean."""
    return local_response_norm.fn(x, n, alpha * n, beta, k, channel_last)


def _response_parts(
    record: Record, x: Any, size: int, alpha: float, beta: float, k: float, channel_last: bool
) -> Any:
    return record(lrn, x, size, alpha / size, beta, k, channel_last) if size % 2 else NotImplemented


@op("local_response_norm", file_parts=_response_parts)
def local_response_norm(
    x: Tensor, size: int, alpha: float, beta: float, k: float, channel_last: bool
) -> Tensor:
    if channel_last:
        return torch_f.local_response_norm(x.movedim(-1, 1), size, alpha, beta, k).movedim(1, -1)
    return torch_f.local_response_norm(x, size, alpha, beta, k)


@op("normalize", file_parts=composition.normalize)
def normalize(x: Tensor, p: float, axis: int, epsilon: float) -> Tensor:
    """Divide by the p-norm along ``axis``, or by ``epsilon`` where that is larger."""
    return x / p_norm(x, p, axis, keepdim=True).clamp_min(epsilon)


@op("spectral_norm", types=("spectral_norm(Weight, U, V, dim, power_iters, eps)",))
def spectral_norm(
    weight: Tensor, u: Tensor, v: Tensor, dim: int, power_iters: int, epsilon: float
) -> Tensor:
    """Divide by the largest singular value, estimated by power iteration from ``u`` and ``v``,
    which stay as they are.
    """
    matrix = weight.movedim(dim, 0).flatten(1)
    if list(u.shape) != [matrix.shape[0]] or list(v.shape) != [matrix.shape[1]]:
        raise UsageError(
            f"spectral_norm: a weight of shape {list(weight.shape)} along dim {dim} needs "
            "vectors of sizes "
            f"{list(matrix.shape)}, but received {list(u.shape)} and {list(v.shape)}"
        )
    constant = matrix.detach()
    for _ in range(power_iters):
        v = _unit(constant.mT @ u, epsilon)
        u = _unit(constant @ v, epsilon)
    return weight / torch.dot(u, matrix @ v)


def _unit(vector: Tensor, epsilon: float) -> Tensor:
    return vector / (torch.linalg.vector_norm(vector) + epsilon)


def norm_axis(shape: Sequence[int], normalized: Sequence[int]) -> int:
    """Where the axes ``normalized`` begin in ``shape``; -1 where they are not its last ones."""
    start = len(shape) - len(normalized)
    return start if start >= 0 and list(shape[start:]) == list(normalized) else -1
