"""Normalisation of a sum: ``fused_layer_norm`` and ``fused_rms_norm``."""

from __future__ import annotations

from typing import Any

from argosy import tensor as T
from argosy.foundation.errors import NotSupported, UsageError

__all__ = ["fused_layer_norm", "fused_rms_norm"]


def fused_rms_norm(
    x: Any,
    norm_weight: Any,
    norm_bias: Any,
    epsilon: float,
    begin_norm_axis: int = 1,
    bias: Any = None,
    residual: Any = None,
    quant_scale: float = -1,
    quant_round_type: float = 0,
    quant_max_bound: float = 0,
    quant_min_bound: float = 0,
) -> tuple[Any, Any]:
    """``x + bias + residual`` over its root mean square from axis ``begin_norm_axis`` on, times
    ``norm_weight``, plus ``norm_bias``; and that sum, which is empty without ``residual``. As in
    Paddle ``bias`` is added only if there is a ``residual``.

    Example:
        >>> x, weight = paddle.to_tensor([[3.0, 4.0, 0.0, 0.0]]), paddle.ones([4])
        >>> out, _ = paddle.incubate.nn.functional.fused_rms_norm(x, weight, None, 0.0)
        >>> [round(v, 4) for v in out[0].tolist()]
        [1.2, 1.6, 0.0, 0.0]
    """
    _refuse_quantisation("fused_rms_norm", quant_scale)
    axes, inner = _normed(x, begin_norm_axis)
    summed = x
    if residual is not None:
        summed = x + residual if bias is None else x + bias + residual
    scaled = summed * T.rsqrt(T.mean(summed * summed, axes, keepdim=True) + epsilon)
    out = _affine(scaled, norm_weight, norm_bias, inner)
    return out, T.zeros([0], x.dtype) if residual is None else summed


def fused_layer_norm(
    x: Any,
    norm_weight: Any,
    norm_bias: Any,
    epsilon: float,
    residual_alpha: float = 1.0,
    begin_norm_axis: int = 1,
    bias: Any = None,
    residual: Any = None,
    quant_scale: float = -1,
    quant_round_type: float = 0,
    quant_max_bound: float = 0,
    quant_min_bound: float = 0,
) -> tuple[Any, Any, Any, Any]:
    """The normalised sum ``x + bias + residual_alpha * residual``, the sum itself, its means and
    the inverses of its standard deviations. Without ``norm_weight`` and ``norm_bias`` the first is
    the sum too.

    As in Paddle ``bias`` is added only if there is a ``residual``, or nothing to normalise with.
    """
    _refuse_quantisation("fused_layer_norm", quant_scale)
    axes, inner = _normed(x, begin_norm_axis)
    is_plain = norm_weight is None and norm_bias is None
    summed = x
    if bias is not None and (is_plain or residual is not None):
        summed = summed + bias
    if residual is not None:
        summed = summed + residual * residual_alpha
    mean = T.mean(summed, axes, keepdim=True)
    offset = summed - mean
    scale = T.rsqrt(T.mean(offset * offset, axes, keepdim=True) + epsilon)
    out = summed if is_plain else _affine(offset * scale, norm_weight, norm_bias, inner)
    return out, summed, T.reshape(mean, [-1]), T.reshape(scale, [-1])


def _normed(x: Any, begin: int) -> tuple[list[int], list[int]]:
    """The axes to normalise over, and their lengths."""
    rank = len(x.shape)
    first = begin + rank if begin < 0 else begin
    if not 0 <= first < rank:
        raise UsageError(f"begin_norm_axis must be in range [0, {rank}), but got {begin}")
    return list(range(first, rank)), list(x.shape[first:])


def _affine(x: Any, weight: Any, bias: Any, inner: list[int]) -> Any:
    """Times a weight, plus a bias; both may be stored flat."""
    if weight is not None:
        x = x * T.reshape(weight, inner)
    return x if bias is None else x + T.reshape(bias, inner)


def _refuse_quantisation(call: str, scale: float) -> None:
    if scale > 0:
        raise NotSupported(f"{call}: quant_scale={scale}: quantisation is not part of argosy")
