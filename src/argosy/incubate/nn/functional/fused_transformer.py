"""The parts of a transformer layer."""

from __future__ import annotations

from typing import Any

from argosy import tensor as T
from argosy.foundation.errors import NotSupported, UsageError
from argosy.incubate.nn.functional.fused_dropout_add import check_mode, check_rate
from argosy.nn import functional as F

__all__ = [
    "fused_bias_dropout_residual_layer_norm",
    "fused_feedforward",
    "fused_multi_head_attention",
]


def fused_bias_dropout_residual_layer_norm(
    x: Any,
    residual: Any,
    bias: Any = None,
    ln_scale: Any = None,
    ln_bias: Any = None,
    dropout_rate: float = 0.5,
    ln_epsilon: float = 1e-5,
    training: bool = True,
    mode: str = "upscale_in_train",
    name: str | None = None,
) -> Any:
    """``layer_norm(residual + dropout(x + bias))`` over the last axis."""
    call = "fused_bias_dropout_residual_layer_norm"
    check_rate(call, "dropout_rate", dropout_rate)
    check_mode(call, mode)
    if ln_scale is not None and len(ln_scale.shape) != 1:
        raise UsageError(f"{call}: The dims of the shape of ln_scale should be 1.")
    biased = x if bias is None else x + bias
    summed = residual + F.dropout(biased, dropout_rate, training=training, mode=mode)
    return F.layer_norm(summed, summed.shape[-1], ln_scale, ln_bias, ln_epsilon)


def fused_feedforward(
    x: Any,
    linear1_weight: Any,
    linear2_weight: Any,
    linear1_bias: Any = None,
    linear2_bias: Any = None,
    ln1_scale: Any = None,
    ln1_bias: Any = None,
    ln2_scale: Any = None,
    ln2_bias: Any = None,
    dropout1_rate: float = 0.5,
    dropout2_rate: float = 0.5,
    activation: str = "relu",
    ln1_epsilon: float = 1e-5,
    ln2_epsilon: float = 1e-5,
    pre_layer_norm: bool = False,
    training: bool = True,
    mode: str = "upscale_in_train",
    ring_id: int = -1,
    add_residual: bool = True,
    name: str | None = None,
) -> Any:
    """Two linear layers with an activation between, dropout after each, ``x`` added, normalised
    before (``pre_layer_norm``) or after.
    """
    call = "fused_feedforward"
    check_rate(call, "dropout1_rate", dropout1_rate)
    check_rate(call, "dropout2_rate", dropout2_rate)
    check_mode(call, mode)
    _refuse_ranks(call, ring_id)
    width = x.shape[-1]
    out = F.layer_norm(x, width, ln1_scale, ln1_bias, ln1_epsilon) if pre_layer_norm else x
    out = getattr(F, activation)(F.linear(out, linear1_weight, linear1_bias))
    out = F.dropout(out, dropout1_rate, training=training, mode=mode)
    out = F.linear(out, linear2_weight, linear2_bias)
    out = F.dropout(out, dropout2_rate, training=training, mode=mode)
    out = x + out if add_residual else out
    return out if pre_layer_norm else F.layer_norm(out, width, ln2_scale, ln2_bias, ln2_epsilon)


def fused_multi_head_attention(
    x: Any,
    qkv_weight: Any,
    linear_weight: Any,
    pre_layer_norm: bool = False,
    pre_ln_scale: Any = None,
    pre_ln_bias: Any = None,
    ln_scale: Any = None,
    ln_bias: Any = None,
    pre_ln_epsilon: float = 1e-5,
    qkv_bias: Any = None,
    linear_bias: Any = None,
    cache_kv: Any = None,
    attn_mask: Any = None,
    dropout_rate: float = 0.5,
    attn_dropout_rate: float = 0.5,
    ln_epsilon: float = 1e-5,
    training: bool = True,
    mode: str = "upscale_in_train",
    ring_id: int = -1,
    add_residual: bool = True,
    num_heads: int = -1,
    transpose_qkv_wb: bool = False,
    name: str | None = None,
) -> Any:
    """Self-attention of ``x`` [batch, length, width], dropout, ``x`` added, normalised before
    (``pre_layer_norm``) or after.

    ``qkv_weight`` is [3, heads, size, width], or [width, 3 * width] with ``transpose_qkv_wb`` and
    ``num_heads``. ``attn_mask`` is added to the scores. With ``cache_kv`` [2, batch, heads, length
    so far, size] the result is a pair: the output and the longer cache.
    """
    call = "fused_multi_head_attention"
    check_rate(call, "dropout_rate", dropout_rate)
    check_rate(call, "attn_dropout_rate", attn_dropout_rate)
    check_mode(call, mode)
    _refuse_ranks(call, ring_id)
    width = x.shape[-1]
    source = (
        F.layer_norm(x, width, pre_ln_scale, pre_ln_bias, pre_ln_epsilon) if pre_layer_norm else x
    )
    heads = _heads(call, qkv_weight, width, num_heads, transpose_qkv_wb)
    qkv = _projected(source, qkv_weight, qkv_bias, heads, transpose_qkv_wb)
    query, key, value = (qkv[i] for i in range(3))
    if cache_kv is not None:
        key = T.concat([cache_kv[0], key], 2)
        value = T.concat([cache_kv[1], value], 2)
    scores = T.matmul(query * (query.shape[-1] ** -0.5), key, transpose_y=True)
    scores = scores if attn_mask is None else scores + attn_mask
    weights = F.dropout(F.softmax(scores, -1), attn_dropout_rate, training=training, mode=mode)
    joined = T.reshape(
        T.transpose(T.matmul(weights, value), [0, 2, 1, 3]), [*x.shape[:2], linear_weight.shape[0]]
    )
    out = F.linear(joined, linear_weight, linear_bias)
    out = F.dropout(out, dropout_rate, training=training, mode=mode)
    out = x + out if add_residual else out
    out = out if pre_layer_norm else F.layer_norm(out, width, ln_scale, ln_bias, ln_epsilon)
    return out if cache_kv is None else (out, T.stack([key, value], 0))


def _heads(call: str, weight: Any, width: int, num_heads: int, is_flat: bool) -> int:
    if not is_flat:
        if len(weight.shape) != 4 or weight.shape[0] != 3 or weight.shape[3] != width:
            raise UsageError(
                f"{call}: the shape of qkv_weight must be [3, num_head, dim_head, {width}], but is "
                f"{list(weight.shape)}"
            )
        return int(weight.shape[1])
    if num_heads <= 0 or width % num_heads:
        raise UsageError(
            f"{call}: with transpose_qkv_wb num_heads must divide the width {width}, but is "
            f"{num_heads}"
        )
    return num_heads


def _projected(x: Any, weight: Any, bias: Any, heads: int, is_flat: bool) -> Any:
    """Queries, keys and values [3, batch, heads, length, size]."""
    flat = weight if is_flat else T.reshape(weight, [-1, weight.shape[-1]])
    projected = T.matmul(x, flat, transpose_y=not is_flat)
    if bias is not None:
        projected = projected + T.reshape(bias, [-1])
    size = projected.shape[-1] // (3 * heads)
    split = T.reshape(projected, [*x.shape[:2], 3, heads, size])
    return T.transpose(split, [2, 0, 3, 1, 4])


def _refuse_ranks(call: str, ring_id: int) -> None:
    if ring_id != -1:
        raise NotSupported(
            f"{call}: ring_id={ring_id}: tensor parallelism is supported for one rank only"
        )
