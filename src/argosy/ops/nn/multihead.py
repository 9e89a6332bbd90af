"""Multi-head attention on projected queries, keys and values."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import dropout, scaled_dot_product_attention, softmax

from argosy.foundation.errors import UsageError
from argosy.ops.table import op
from argosy.ops.traits import Precision


@op("split_heads")
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
