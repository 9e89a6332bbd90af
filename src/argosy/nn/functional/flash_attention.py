"""Attention functions; torch chooses the kernel, flash attention where the hardware has it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from argosy.foundation.errors import NotSupported, RankError, UsageError
from argosy.ops.nn import attention as ops
from argosy.tensor.engine import Tensor, apply

__all__ = [
    "scaled_dot_product_attention",
    "flash_attention",
    "flash_attn_qkvpacked",
    "flash_attn_unpadded",
    "sdp_kernel",
]


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    training: bool = True,
    backend: str | None = None,
    scale: float | None = None,
    enable_gqa: bool = True,
    name: str | None = None,
) -> Any:
    """``softmax(query @ key^T * scale + mask) @ value`` on [batch, length, heads, head_dim]
    tensors.

    A boolean mask is True where attention is allowed. With ``enable_gqa`` groups of query heads
    share a key head. ``backend`` is a hint and changes nothing.

    Example:
        >>> import paddle
        >>> q = paddle.rand([2, 5, 4, 8])
        >>> paddle.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).shape
        [2, 5, 4, 8]
    """
    heads = [t.shape[-2] for t in (query, key, value)]
    if heads[1] != heads[2] or (heads[0] != heads[1] and (not enable_gqa or heads[0] % heads[1])):
        raise RankError(
            f"scaled_dot_product_attention: query, key and value have {heads} heads; they must "
            "be equal, "
            "or with enable_gqa those of query a multiple of the others'"
        )
    if attn_mask is not None and is_causal:
        raise UsageError(
            "scaled_dot_product_attention: attn_mask and is_causal=True exclude each other; put "
            "the causal mask into attn_mask"
        )
    is_batched = len(query.shape) == 4
    if not is_batched:
        query, key, value = query.unsqueeze(0), key.unsqueeze(0), value.unsqueeze(0)
    out = apply(
        ops.scaled_dot_product_attention,
        query,
        key,
        value,
        attn_mask,
        dropout_p,
        not training,
        is_causal,
        scale or None,
    )
    return out if is_batched else out.squeeze(0)


def _refuse_seeds(call: str, fixed_seed_offset: Any, rng_name: str) -> None:
    if fixed_seed_offset is not None or rng_name:
        raise NotSupported(
            f"{call}: fixed_seed_offset and rng_name are not supported; dropout follows paddle.seed"
        )


def flash_attention(
    query: Any,
    key: Any,
    value: Any,
    dropout: float = 0.0,
    causal: bool = False,
    return_softmax: bool = False,
    *,
    fixed_seed_offset: Any = None,
    rng_name: str = "",
    training: bool = True,
    name: str | None = None,
    softmax_scale: float | None = None,
) -> tuple[Any, Any]:
    """Attention on [batch, length, heads, head_dim] tensors; returns (output, softmax or None)."""
    _refuse_seeds("flash_attention", fixed_seed_offset, rng_name)
    if return_softmax:
        weights = apply(
            ops.attention_weights, query, key, dropout, not training, causal, softmax_scale
        )
        repeats = query.shape[2] // key.shape[2]
        heads_first = value.transpose([0, 2, 1, 3])
        if repeats > 1:
            heads_first = heads_first.repeat_interleave(repeats, 1)
        return (weights @ heads_first).transpose([0, 2, 1, 3]), weights
    return scaled_dot_product_attention(
        query, key, value, None, dropout, causal, training, scale=softmax_scale
    ), None


def flash_attn_qkvpacked(
    qkv: Any,
    dropout: float = 0.0,
    causal: bool = False,
    return_softmax: bool = False,
    *,
    fixed_seed_offset: Any = None,
    rng_name: str = "",
    training: bool = True,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Attention on [batch, length, groups + 2, key heads, head_dim]: query groups first, then key
    and value.
    """
    batch, length, packed, heads, width = qkv.shape
    query = qkv[:, :, : packed - 2].reshape([batch, length, (packed - 2) * heads, width])
    return flash_attention(
        query,
        qkv[:, :, -2],
        qkv[:, :, -1],
        dropout,
        causal,
        return_softmax,
        fixed_seed_offset=fixed_seed_offset,
        rng_name=rng_name,
        training=training,
    )


def flash_attn_unpadded(
    query: Any,
    key: Any,
    value: Any,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    scale: float,
    dropout: float = 0.0,
    causal: bool = False,
    return_softmax: bool = False,
    fixed_seed_offset: Any = None,
    rng_name: str = "",
    training: bool = True,
    name: str | None = None,
) -> tuple[Any, None]:
    """Attention inside sequences packed end to end, [total, heads, head_dim]; ``cu_seqlens`` are
    where they begin.
    """
    _refuse_seeds("flash_attn_unpadded", fixed_seed_offset, rng_name)
    if return_softmax:
        raise NotSupported("flash_attn_unpadded: return_softmax=True is not supported")
    out = apply(
        ops.variable_length_attention,
        query,
        key,
        value,
        cu_seqlens_q,
        cu_seqlens_k,
        dropout,
        not training,
        causal,
        scale,
    )
    return out, None


@contextmanager
def sdp_kernel(
    enable_math: bool = False, enable_flash: bool = True, enable_mem_efficient: bool = True
) -> Iterator[None]:
    """Accept Paddle's choice of kernels, a hint about speed; torch chooses."""
    if not (enable_math or enable_flash or enable_mem_efficient):
        raise UsageError("sdp_kernel: at least one backend must be enabled")
    yield
