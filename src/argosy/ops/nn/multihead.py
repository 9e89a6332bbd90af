"""Multi-head attention on projected queries, keys and values."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import dropout, scaled_dot_product_attention, softmax

from argosy.foundation.errors import UsageError
from argosy.ops.array.manipulation import reshape, transpose
from argosy.ops.math.elementwise import add, matmul, scale
from argosy.ops.nn.dropout import dropout as dropout_op
from argosy.ops.nn.softmax import softmax as softmax_op
from argosy.ops.table import op
from argosy.ops.traits import Precision, Record

_HEADS = [0, 2, 1, 3]  # heads before positions, or behind them


def _split_parts(record: Record, x: Any, num_heads: int) -> Any:
    apart = record(reshape, x, [0, 0, num_heads, x.shape[-1] // num_heads])
    return record(transpose, apart, _HEADS)


def _attention_parts(
    record: Record, q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_training: bool
) -> Any:
    return _weighted_parts(record, q, k, v, mask, dropout_p, is_training)[0]


def _weighted_parts(
    record: Record, q: Any, k: Any, v: Any, mask: Any, dropout_p: float, is_training: bool
) -> Any:
    scores = record(matmul, record(scale, q, q.shape[-1] ** -0.5, 0.0), k, False, True)
    if mask is not None:
        scores = record(add, scores, mask)
    weights = record(softmax_op, scores, -1)
    if dropout_p:
        weights = record(dropout_op, weights, dropout_p, not is_training, True, None)
    joined = record(transpose, record(matmul, weights, v), _HEADS)
    width = q.shape[1] * v.shape[-1]
    return record(reshape, joined, [0, 0, width]), weights


@op("split_heads", file_parts=_split_parts)
def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """[batch, length, heads x width] to [batch, heads, length, width]."""
    if x.ndim != 3:
        raise UsageError(
            "MultiHeadAttention: expected a tensor [batch, length, features], but received "
            f"{list(x.shape)}"
        )
    return x.reshape(x.shape[0], x.shape[1], num_heads, -1).transpose(1, 2)


@op("empty_heads")
def empty_heads(batch_ref: Tensor, num_heads: int, head_dim: int) -> Tensor:
    """Keys or values of no positions yet: [batch, heads, 0, width]."""
    return batch_ref.new_zeros(batch_ref.shape[0], num_heads, 0, head_dim)


@op("additive_mask")
def additive_mask(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """A mask to add to attention scores: False or 0 becomes -1e9, floats are cast."""
    if mask.dtype.is_floating_point:
        return mask.to(dtype)
    return (mask.to(dtype) - 1.0) * 1e9


@op(
    "multi_head_attention",
    file_parts=_attention_parts,
    is_random=True,
    test_attrs={"is_training": False},
    precision={"flash_attn": Precision.WHITE},
)
def multi_head_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout_p: float, is_training: bool
) -> Tensor:
    """Attend and join the heads: [batch, heads, length, width] to [batch, length, heads x
    width].
    """
    out = scaled_dot_product_attention(q, k, v, mask, dropout_p if is_training else 0.0)
    return out.transpose(1, 2).flatten(2)


@op(
    "multi_head_attention_with_weights",
    file_parts=_weighted_parts,
    is_random=True,
    test_attrs={"is_training": False},
    precision={"flash_attn": Precision.WHITE},
)
def multi_head_attention_with_weights(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout_p: float, is_training: bool
) -> tuple[Tensor, Tensor]:
    """As ``multi_head_attention``, with the attention weights [batch, heads, length, positions]
    after dropout.
    """
    scores = torch.matmul(q * q.shape[-1] ** -0.5, k.mT)
    if mask is not None:
        scores = scores + mask
    weights = dropout(softmax(scores, -1), dropout_p, is_training)
    return torch.matmul(weights, v).transpose(1, 2).flatten(2), weights


@op("square_subsequent_mask")
def square_subsequent_mask(length: int, dtype: torch.dtype) -> Tensor:
    """0 on and below the diagonal, -inf above."""
    return torch.full((length, length), float("-inf"), dtype=dtype).triu(1)
