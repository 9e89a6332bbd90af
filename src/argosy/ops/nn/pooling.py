"""Pooling over one, two and three spatial axes, channels second; layouts with channels last are
permuted here.

Where torch's windows are Paddle's, its kernels run directly. Elsewhere (unequal padding, windows
that lie wholly in the padding) the input is padded first; such an empty window gives the lowest
number for a maximum and NaN for a mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as torch_f

from argosy.foundation.errors import UsageError
from argosy.ops import rearrangement
from argosy.ops.nn.window import (
    Pairs,
    for_engine,
    inside_counts,
    is_symmetric,
    pooled_sizes,
    to_pairs,
)
from argosy.ops.table import op
from argosy.ops.traits import Precision

_MAX: dict[int, Callable[..., Tensor]] = {
    1: torch_f.max_pool1d,
    2: torch_f.max_pool2d,
    3: torch_f.max_pool3d,
}
_AVG: dict[int, Callable[..., Tensor]] = {
    1: torch_f.avg_pool1d,
    2: torch_f.avg_pool2d,
    3: torch_f.avg_pool3d,
}
_ADAPTIVE_MAX: dict[int, Callable[..., tuple[Tensor, Tensor]]] = {
    1: torch_f.adaptive_max_pool1d_with_indices,
    2: torch_f.adaptive_max_pool2d_with_indices,
    3: torch_f.adaptive_max_pool3d_with_indices,
}
_ADAPTIVE_AVG: dict[int, Callable[..., Tensor]] = {
    1: torch_f.adaptive_avg_pool1d,
    2: torch_f.adaptive_avg_pool2d,
    3: torch_f.adaptive_avg_pool3d,
}


def _check(name: str, x: Tensor, n: int) -> None:
    if x.ndim != n + 2:
        raise UsageError(
            f"{name}: expected Input X is {n + 2}-D tensor, but received {list(x.shape)}"
        )


def _is_native(
    pairs: Pairs, kernel: Sequence[int], stride: Sequence[int], x: Tensor, windows: Sequence[int]
) -> bool:
    """Whether torch takes this padding and places the same windows."""
    if not is_symmetric(pairs):
        return False
    return all(
        2 * before <= k <= size + 2 * before and (w - 1) * s - before < size
        for (before, _), k, s, w, size in zip(
            pairs, kernel, stride, windows, x.shape[2:], strict=True
        )
    )


def _is_plain(
    x: Tensor, kernel: Sequence[int], padding: str | Sequence[int], ceil_mode: bool
) -> bool:
    """Whether torch surely agrees, seen without computing windows: the common case."""
    if ceil_mode or isinstance(padding, str) or len(padding) != len(kernel):
        return False
    return all(
        2 * p <= k <= size + 2 * p for p, k, size in zip(padding, kernel, x.shape[2:], strict=True)
    )


def _pad_for(
    x: Tensor,
    pairs: Pairs,
    kernel: Sequence[int],
    stride: Sequence[int],
    windows: Sequence[int],
    value: float,
) -> Tensor:
    """Pad so that exactly ``windows`` windows fit."""
    amounts = [
        (before, max((w - 1) * s + k - before - size, 0))
        for size, k, s, w, (before, _) in zip(
            x.shape[2:], kernel, stride, windows, pairs, strict=True
        )
    ]
    return torch_f.pad(x, for_engine(amounts), value=value)


def _pool_type(name: str, form: str = "pool{}d") -> Callable[[Mapping[str, Any]], str]:
    """The type of a call by the number of axes of its windows; there is none for one axis."""
    return lambda given: form.format(max(len(given[name]), 2))


@op(
    "max_pool",
    type_of=_pool_type("kernel"),
    layer="pool2d",
    types=(
        "pool2d(X, ksize, strides, paddings:padding, ceil_mode, data_format:NCHW, "
        "pooling_type='max', adaptive=False, global_pooling=False, exclusive~True)",
        "pool3d",
    ),
    file_parts=rearrangement.on_lines("max_pool"),
)
def max_pool(
    x: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: str | Sequence[int],
    ceil_mode: bool,
    channel_last: bool,
) -> Tensor:
    n = len(kernel)
    _check("max_pool", x, n)
    if channel_last:
        x = x.movedim(-1, 1)
    if _is_plain(x, kernel, padding, ceil_mode):
        out = _MAX[n](x, kernel, stride, padding)
    else:
        pairs = to_pairs(padding, x.shape[2:], kernel, stride)
        windows = pooled_sizes(x.shape[2:], kernel, stride, pairs, ceil_mode)
        if _is_native(pairs, kernel, stride, x, windows):
            out = _MAX[n](x, kernel, stride, [before for before, _ in pairs], 1, ceil_mode)
        else:
            out = _MAX[n](
                _pad_for(x, pairs, kernel, stride, windows, torch.finfo(x.dtype).min),
                kernel,
                stride,
            )
    return out.movedim(1, -1) if channel_last else out


@op(
    "max_pool_with_index",
    type_of=_pool_type("kernel", "max_pool{}d_with_index"),
    precision=Precision.WHITE,
    types=(
        "max_pool2d_with_index(X, ksize, strides, paddings, -False, adaptive=False) -> Out, Mask",
        "max_pool3d_with_index",
    ),
)
def max_pool_with_index(
    x: Tensor, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], ceil_mode: bool
) -> tuple[Tensor, Tensor]:
    """The maxima and their int32 positions in the flattened spatial axes; -1 for an empty
    window.
    """
    n = len(kernel)
    _check("max_pool", x, n)
    pairs = to_pairs(padding, x.shape[2:], kernel, stride)
    windows = pooled_sizes(x.shape[2:], kernel, stride, pairs, ceil_mode)
    if _is_native(pairs, kernel, stride, x, windows):
        out, index = _MAX[n](
            x, kernel, stride, [p for p, _ in pairs], 1, ceil_mode, return_indices=True
        )
        return out, index.to(torch.int32)
    padded = _pad_for(x, pairs, kernel, stride, windows, torch.finfo(x.dtype).min)
    out, index = _MAX[n](padded, kernel, stride, return_indices=True)
    return out, _without_padding(index, padded.shape[2:], x.shape[2:], pairs).to(torch.int32)


def _without_padding(
    index: Tensor, padded: Sequence[int], sizes: Sequence[int], pairs: Pairs
) -> Tensor:
    """Turn flat positions in the padded axes into flat positions in the axes themselves, -1 where
    outside.
    """
    result = torch.zeros_like(index)
    is_inside = torch.ones_like(index, dtype=torch.bool)
    scale = 1
    for i in reversed(range(len(sizes))):
        position = index % padded[i] - pairs[i][0]
        index = index // padded[i]
        is_inside &= (position >= 0) & (position < sizes[i])
        result = result + position * scale
        scale *= sizes[i]
    return result.masked_fill(~is_inside, -1)


@op(
    "avg_pool",
    type_of=_pool_type("kernel"),
    layer="pool2d",
    types=(
        "pool2d(X, ksize, strides, paddings:padding, ceil_mode, exclusive, "
        "data_format:NCHW, pooling_type='avg', adaptive=False, global_pooling=False)",
        "pool3d",
    ),
    file_parts=rearrangement.on_lines("avg_pool"),
)
def avg_pool(
    x: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: str | Sequence[int],
    ceil_mode: bool,
    exclusive: bool,
    channel_last: bool,
) -> Tensor:
    """Means over windows; ``exclusive`` leaves the padding out of the count."""
    n = len(kernel)
    _check("avg_pool", x, n)
    if channel_last:
        x = x.movedim(-1, 1)
    if _is_plain(x, kernel, padding, ceil_mode):
        out = _AVG[n](x, kernel, stride, padding, False, not exclusive)
    else:
        out = _avg_of_any_windows(x, kernel, stride, padding, ceil_mode, exclusive)
    return out.movedim(1, -1) if channel_last else out


def _avg_of_any_windows(
    x: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: str | Sequence[int],
    ceil_mode: bool,
    exclusive: bool,
) -> Tensor:
    n = len(kernel)
    pairs = to_pairs(padding, x.shape[2:], kernel, stride)
    windows = pooled_sizes(x.shape[2:], kernel, stride, pairs, ceil_mode)
    if _is_native(pairs, kernel, stride, x, windows):
        return _AVG[n](x, kernel, stride, [before for before, _ in pairs], ceil_mode, not exclusive)
    out = _AVG[n](_pad_for(x, pairs, kernel, stride, windows, 0.0), kernel, stride)
    for i in range(n):
        counts = inside_counts(
            x.shape[i + 2], kernel[i], stride[i], pairs[i][0], windows[i], not exclusive
        )
        factors = kernel[i] / torch.tensor(counts, dtype=x.dtype, device=x.device)
        out = out * factors.view([-1] + [1] * (n - 1 - i))
    return out


@op("lp_pool", types=("lp_pool2d",))
def lp_pool(
    x: Tensor,
    norm_type: float,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: str | Sequence[int],
    ceil_mode: bool,
    channel_last: bool,
) -> Tensor:
    """``sum(x ** p) ** (1 / p)`` over windows, signs kept; the maximum for an infinite p."""
    if math.isinf(norm_type):
        return max_pool(x, kernel, stride, padding, ceil_mode, channel_last)
    _check("lp_pool", x, len(kernel))
    if channel_last:
        x = x.movedim(-1, 1)
    pairs = to_pairs(padding, x.shape[2:], kernel, stride)
    windows = pooled_sizes(x.shape[2:], kernel, stride, pairs, ceil_mode)
    powers = _pad_for(torch.pow(x, norm_type), pairs, kernel, stride, windows, 0.0)
    out = torch.pow(_AVG[len(kernel)](powers, kernel, stride) * math.prod(kernel), 1.0 / norm_type)
    return out.movedim(1, -1) if channel_last else out


@op(
    "adaptive_avg_pool",
    type_of=_pool_type("output_size"),
    layer="pool2d",
    types=(
        "pool2d(X, ksize, data_format:NCHW, pooling_type='avg', adaptive=True, "
        "global_pooling=False, strides~[1, 1], paddings~[0, 0], padding_algorithm~'EXPLICIT', "
        "ceil_mode~False, exclusive~True)",
        "pool3d",
    ),
    file_parts=rearrangement.on_lines("adaptive_avg_pool"),
)
def adaptive_avg_pool(x: Tensor, output_size: Sequence[int], channel_last: bool) -> Tensor:
    n = len(output_size)
    _check("adaptive_avg_pool", x, n)
    if channel_last:
        return _ADAPTIVE_AVG[n](x.movedim(-1, 1), output_size).movedim(1, -1)
    return _ADAPTIVE_AVG[n](x, output_size)


@op(
    "adaptive_max_pool_with_index",
    type_of=_pool_type("output_size", "max_pool{}d_with_index"),
    layer="max_pool2d_with_index",
    types=(
        "max_pool2d_with_index(X, ksize, adaptive=True, strides~[1, 1], "
        "paddings~[0, 0]) -> Out, Mask",
        "max_pool3d_with_index",
    ),
    file_parts=rearrangement.on_lines("adaptive_max_pool_with_index"),
)
def adaptive_max_pool_with_index(x: Tensor, output_size: Sequence[int]) -> tuple[Tensor, Tensor]:
    _check("adaptive_max_pool", x, len(output_size))
    out, index = _ADAPTIVE_MAX[len(output_size)](x, output_size)
    return out, index.to(torch.int32)


@op("max_unpool", types=("unpool", "unpool3d"))
def max_unpool(x: Tensor, indices: Tensor, output_size: Sequence[int]) -> Tensor:
    """Put values back at the flat positions that pooling recorded; zeros elsewhere."""
    n = len(output_size)
    _check("max_unpool", x, n)
    size = [*x.shape[:2], *output_size]
    flat = torch.zeros([*size[:2], math.prod(output_size)], dtype=x.dtype, device=x.device)
    return flat.scatter(2, indices.flatten(2).to(torch.int64), x.flatten(2)).view(size)


@op(
    "fractional_max_pool",
    types=("fractional_max_pool2d", "fractional_max_pool3d"),
    is_random=True,
)
def fractional_max_pool(
    x: Tensor, output_size: Sequence[int], kernel: Sequence[int] | None, random_u: float | None
) -> tuple[Tensor, Tensor]:
    """Maxima over windows of unequal width placed by ``random_u`` (drawn if None), and their int32
    flat positions.
    """
    n = len(output_size)
    _check("fractional_max_pool", x, n)
    if random_u is None:
        random_u = torch.rand(()).item()
    sizes = x.shape[2:]
    flat = torch.zeros([1] * (2 * n), dtype=torch.int64, device=x.device)
    for i in range(n):
        steps = _fractional_windows(
            sizes[i], output_size[i], kernel[i] if kernel is not None else 0, random_u
        )
        shape = [1] * (2 * n)
        shape[i], shape[n + i] = len(steps), len(steps[0])
        positions = torch.tensor(steps, dtype=torch.int64, device=x.device).view(shape)
        flat = flat * sizes[i] + positions
    flat = flat.reshape(*output_size, -1)
    candidates = x.flatten(2)[:, :, flat.reshape(-1)].view(*x.shape[:2], *flat.shape)
    out, best = candidates.max(dim=-1)
    index = torch.gather(flat.expand(candidates.shape), -1, best.unsqueeze(-1)).squeeze(-1)
    return out, index.to(torch.int32)


def _fractional_windows(size: int, windows: int, kernel: int, u: float) -> list[list[int]]:
    """The positions under each window of one axis; shorter windows repeat their last position."""
    if kernel:
        alpha = (size - kernel) / (windows - 1) if windows > 1 else 0.0
    else:
        alpha = size / windows
        base = size // windows
        u *= min((base + 2) / alpha - 1, (size + 1 - base) / alpha - (windows - 1))
    shift = int(u * alpha)
    starts = [int((i + u) * alpha) - shift for i in range(windows)]
    ends = (
        [s + kernel for s in starts]
        if kernel
        else [int((i + 1 + u) * alpha) - shift for i in range(windows)]
    )
    ends = [min(end, size) for end in ends]
    if kernel:
        starts[-1], ends[-1] = size - kernel, size
    width = max(end - start for start, end in zip(starts, ends, strict=True))
    return [
        [min(start + j, end - 1) for j in range(width)]
        for start, end in zip(starts, ends, strict=True)
    ]
