"""Scaled dot-product attention on [batch, length, heads, head_dim] tensors."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as torch_f

from argosy.ops.table import op
from argosy.ops.traits import Precision


@op(
    "scaled_dot_product_attention",
    types=("flash_attn",),
    is_random=True,
    test_attrs={"is_test": True},
    precision=Precision.WHITE,
)
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout_p: float,
    is_test: bool,
    is_causal: bool,
    scale: float | None,
) -> Tensor:
    """Attend from each query to the keys; fewer key heads than query heads are shared by groups of
    these.

    ``mask`` is added to the scores, or is boolean with True where attention is allowed.
    """
    out = torch_f.scaled_dot_product_attention(
        query.transpose(1, 2),
        key.transpose(1, 2),
        value.transpose(1, 2),
        mask,
        0.0 if is_test else dropout_p,
        is_causal,
        scale=scale,
        enable_gqa=query.shape[2] != key.shape[2],
    )
    return out.transpose(1, 2)


@op(
    "attention_weights",
    is_random=True,
    test_attrs={"is_test": True},
    precision={"flash_attn": Precision.WHITE},
)
def attention_weights(
    query: Tensor,
    key: Tensor,
    dropout_p: float,
    is_test: bool,
    is_causal: bool,
    scale: float | None,
) -> Tensor:
    """The softmax of the scores, [batch, heads, queries, keys], after dropout."""
    repeats = query.shape[2] // key.shape[2]
    keys = key.repeat_interleave(repeats, 2) if repeats > 1 else key
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query.transpose(1, 2) * factor) @ keys.permute(0, 2, 3, 1)
    if is_causal:
        allowed = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        scores = scores.masked_fill(~allowed, float("-inf"))
    return torch.dropout(torch.softmax(scores, -1), dropout_p, not is_test)


@op(
    "variable_length_attention",
    types=("flash_attn_unpadded",),
    is_random=True,
    test_attrs={"is_test": True},
)
def variable_length_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    starts_q: Tensor,
    starts_k: Tensor,
    dropout_p: float,
    is_test: bool,
    is_causal: bool,
    scale: float | None,
) -> Tensor:
    """Attention inside each of several sequences packed end to end, [total, heads, head_dim];
    starts has all ends.
    """
    bounds_q, bounds_k = starts_q.tolist(), starts_k.tolist()
    parts = []
    for i in range(len(bounds_q) - 1):
        q = query[bounds_q[i] : bounds_q[i + 1]].unsqueeze(0)
        k = key[bounds_k[i] : bounds_k[i + 1]].unsqueeze(0)
        v = value[bounds_k[i] : bounds_k[i + 1]].unsqueeze(0)
        parts.append(
            scaled_dot_product_attention(
                q, k, v, None, dropout_p, is_test, is_causal, scale
            ).squeeze(0)
        )
    return torch.cat(parts)
