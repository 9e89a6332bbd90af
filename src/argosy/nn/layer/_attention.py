"""Multi-head attention and what the transformer layers share around it."""

from __future__ import annotations

import copy
from collections import namedtuple
from typing import Any

from argosy.foundation import dtypes
from argosy.foundation.errors import BadArgument
from argosy.framework.param_attr import ParamAttr
from argosy.nn.layer.common import Linear
from argosy.nn.layer.layers import Layer
from argosy.ops.nn import multihead as ops
from argosy.tensor import manipulation
from argosy.tensor.engine import apply


def _convert_param_attr_to_list(param_attr: Any, n: int) -> list[Any]:
    """Spread one parameter attribute over ``n`` parameters, or check that a list has ``n``; names
    get a suffix.
    """
    if isinstance(param_attr, (list, tuple)):
        if len(param_attr) != n:
            raise BadArgument(
                f"expected {n} parameter attributes in the list, but received {len(param_attr)}"
            )
        return [ParamAttr.parse(attr) for attr in param_attr]
    attr = ParamAttr.parse(param_attr)
    if attr is False:
        return [False] * n
    spread = [copy.deepcopy(attr) for _ in range(n)]
    for i, each in enumerate(spread):
        if each.name:
            each.name = f"{each.name}_{i}"
    return spread


def _convert_attention_mask(attn_mask: Any, dtype: Any) -> Any:
    """The mask as numbers to add to the scores, in ``dtype``."""
    if attn_mask is None or attn_mask.dtype == dtype:
        return attn_mask
    return apply(ops.additive_mask, attn_mask, dtypes.to_torch(dtype))


def check_positive(call: str, **sizes: int) -> None:
    for name, size in sizes.items():
        if not size > 0:
            raise BadArgument(f"{call}: expected {name} to be greater than 0, but received {size}")


class MultiHeadAttention(Layer):
    """Attention of queries over keys and values, in ``num_heads`` parts of the features.

    ``attn_mask`` broadcasts to [batch, heads, query length, key length]: booleans and integers mark
    what to attend to, floats are added to the scores. With a ``Cache`` the new keys and values are
    appended to it and it is returned too; a ``StaticCache`` replaces keys and values.

    Example:
        >>> import paddle
        >>> attention = paddle.nn.MultiHeadAttention(8, 2)
        >>> attention(paddle.ones([2, 3, 8])).shape
        [2, 3, 8]
    """

    Cache = namedtuple("Cache", ["k", "v"])
    StaticCache = namedtuple("StaticCache", ["k", "v"])

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        kdim: int | None = None,
        vdim: int | None = None,
        need_weights: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        super().__init__()
        check_positive("MultiHeadAttention", embed_dim=embed_dim, num_heads=num_heads)
        if embed_dim % num_heads:
            raise BadArgument(
                f"MultiHeadAttention: embed_dim {embed_dim} must be divisible by num_heads "
                f"{num_heads}"
            )
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.num_heads = num_heads
        self.dropout = dropout
        self.need_weights = need_weights
        self.head_dim = embed_dim // num_heads
        self.q_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr=bias_attr)
        self.k_proj = Linear(self.kdim, embed_dim, weight_attr, bias_attr=bias_attr)
        self.v_proj = Linear(self.vdim, embed_dim, weight_attr, bias_attr=bias_attr)
        self.out_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr=bias_attr)

    def compute_kv(self, key: Any, value: Any) -> tuple[Any, Any]:
        """Project keys and values and split them into heads."""
        k = apply(ops.split_heads, self.k_proj(key), self.num_heads)
        v = apply(ops.split_heads, self.v_proj(value), self.num_heads)
        return k, v

    def _prepare_qkv(self, query: Any, key: Any, value: Any, cache: Any = None) -> tuple[Any, ...]:
        q = apply(ops.split_heads, self.q_proj(query), self.num_heads)
        if isinstance(cache, self.StaticCache):
            k, v = cache
        else:
            k, v = self.compute_kv(key, value)
        if isinstance(cache, self.Cache):
            k = manipulation.concat([cache.k, k], axis=2)
            v = manipulation.concat([cache.v, v], axis=2)
            cache = self.Cache(k, v)
        return (q, k, v) if cache is None else (q, k, v, cache)

    def gen_cache(self, key: Any, value: Any = None, type: Any = Cache) -> Any:
        """Make a cache.

        A ``StaticCache`` holds the projections of ``key`` and ``value``. A ``Cache`` holds ``key``
        and ``value`` themselves, or, without ``value``, is empty and takes only the batch size of
        ``key``.
        """
        if type == MultiHeadAttention.StaticCache:
            return self.StaticCache(*self.compute_kv(key, value))
        if value is not None:
            return self.Cache(key, value)
        return self.Cache(
            apply(ops.empty_heads, key, self.num_heads, self.head_dim),
            apply(ops.empty_heads, key, self.num_heads, self.head_dim),
        )

    def forward(
        self,
        query: Any,
        key: Any = None,
        value: Any = None,
        attn_mask: Any = None,
        cache: Any = None,
    ) -> Any:
        key = query if key is None else key
        value = query if value is None else value
        q, k, v, *new_cache = self._prepare_qkv(query, key, value, cache)
        mask = _convert_attention_mask(attn_mask, q.dtype)
        arguments = (q, k, v, mask, float(self.dropout), self.training)
        if self.need_weights:
            joined, weights = apply(ops.multi_head_attention_with_weights, *arguments)
            outs = [self.out_proj(joined), weights, *new_cache]
        else:
            outs = [self.out_proj(apply(ops.multi_head_attention, *arguments)), *new_cache]
        return outs[0] if len(outs) == 1 else tuple(outs)
