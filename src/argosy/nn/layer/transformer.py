"""Transformer layers: encoder, decoder and both together, around MultiHeadAttention."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import BadArgument, nearest
from argosy.nn import functional as F
from argosy.nn.layer._attention import (
    MultiHeadAttention,
    _convert_attention_mask,
    _convert_param_attr_to_list,
    check_positive,
)
from argosy.nn.layer.common import Dropout, Linear
from argosy.nn.layer.container import LayerList
from argosy.nn.layer.layers import Layer
from argosy.nn.layer.norm import LayerNorm
from argosy.ops.nn import multihead as ops
from argosy.tensor.engine import apply, defaults

__all__ = [
    "MultiHeadAttention",
    "TransformerEncoderLayer",
    "TransformerEncoder",
    "TransformerDecoderLayer",
    "TransformerDecoder",
    "Transformer",
]


class _TransformerLayer(Layer):
    """What an encoder and a decoder layer share: attentions, a feed-forward part, and a norm and
    dropout around each.

    With ``normalize_before`` each part normalises its input, otherwise the sum of its input and
    output.
    """

    _attention_names: tuple[str, ...] = ()

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float = 0.1,
        activation: str = "relu",
        attn_dropout: float | None = None,
        act_dropout: float | None = None,
        normalize_before: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
        layer_norm_eps: float = 1e-5,
    ) -> None:
        super().__init__()
        # what TransformerEncoder and TransformerDecoder build the further layers of a stack from
        self._config = {
            "d_model": d_model,
            "nhead": nhead,
            "dim_feedforward": dim_feedforward,
            "dropout": dropout,
            "activation": activation,
            "attn_dropout": attn_dropout,
            "act_dropout": act_dropout,
            "normalize_before": normalize_before,
            "weight_attr": weight_attr,
            "bias_attr": bias_attr,
            "layer_norm_eps": layer_norm_eps,
        }
        check_positive(
            type(self).__name__, d_model=d_model, nhead=nhead, dim_feedforward=dim_feedforward
        )
        self.normalize_before = normalize_before
        num_parts = len(self._attention_names) + 1
        weight_attrs = _convert_param_attr_to_list(weight_attr, num_parts)
        bias_attrs = _convert_param_attr_to_list(bias_attr, num_parts)
        kept_out = dropout if attn_dropout is None else attn_dropout
        for i, name in enumerate(self._attention_names):
            attention = MultiHeadAttention(
                d_model, nhead, kept_out, weight_attr=weight_attrs[i], bias_attr=bias_attrs[i]
            )
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, weight_attrs[-1], bias_attrs[-1])
        self.dropout = Dropout(
            dropout if act_dropout is None else act_dropout, mode="upscale_in_train"
        )
        self.linear2 = Linear(dim_feedforward, d_model, weight_attrs[-1], bias_attrs[-1])
        for i in range(1, num_parts + 1):
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps))
        for i in range(1, num_parts + 1):
            setattr(self, f"dropout{i}", Dropout(dropout, mode="upscale_in_train"))
        self.activation = _activation(activation)

    def _attend(self, part: int, x: Any, memory: Any, mask: Any, cache: Any) -> tuple[Any, Any]:
        """Part number ``part``: attention over ``memory`` (over itself for None); also returns its
        new cache.
        """
        norm = getattr(self, f"norm{part}")
        residual = x
        if self.normalize_before:
            x = norm(x)
        attention = getattr(self, self._attention_names[part - 1])
        source = x if memory is None else memory
        if cache is None:
            x = attention(x, source, source, mask)
        else:
            x, cache = attention(x, source, source, mask, cache)
        x = residual + getattr(self, f"dropout{part}")(x)
        return (x if self.normalize_before else norm(x)), cache

    def _feed_forward(self, x: Any) -> Any:
        part = len(self._attention_names) + 1
        norm = getattr(self, f"norm{part}")
        residual = x
        if self.normalize_before:
            x = norm(x)
        x = self.linear2(self.dropout(self.activation(self.linear1(x))))
        x = residual + getattr(self, f"dropout{part}")(x)
        return x if self.normalize_before else norm(x)


def _activation(name: str) -> Any:
    found = getattr(F, name, None)
    if found is None:
        raise AttributeError(
            "paddle.nn.functional has no activation "
            f"{name!r}.{nearest(name, [n for n in dir(F) if n[0] != '_'])}"
        )
    return found


class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention and feed-forward.

    Example:
        >>> import paddle
        >>> layer = paddle.nn.TransformerEncoderLayer(8, 2, 16)
        >>> layer(paddle.ones([2, 3, 8])).shape
        [2, 3, 8]
    """

    _attention_names = ("self_attn",)

    def forward(self, src: Any, src_mask: Any = None, cache: Any = None) -> Any:
        src_mask = _convert_attention_mask(src_mask, src.dtype)
        src, new_cache = self._attend(1, src, None, src_mask, cache)
        src = self._feed_forward(src)
        return src if cache is None else (src, new_cache)

    def gen_cache(self, src: Any) -> Any:
        """An empty cache for the batch of ``src``."""
        return self.self_attn.gen_cache(src, type=self.self_attn.Cache)


class TransformerDecoderLayer(_TransformerLayer):
    """Self-attention, attention over the encoder's output, and feed-forward."""

    _attention_names = ("self_attn", "cross_attn")

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        cache: Any = None,
    ) -> Any:
        own_cache, memory_cache = (None, None) if cache is None else cache
        tgt_mask = _convert_attention_mask(tgt_mask, tgt.dtype)
        memory_mask = _convert_attention_mask(memory_mask, memory.dtype)
        tgt, own_cache = self._attend(1, tgt, None, tgt_mask, own_cache)
        tgt, memory_cache = self._attend(2, tgt, memory, memory_mask, memory_cache)
        tgt = self._feed_forward(tgt)
        return tgt if cache is None else (tgt, (own_cache, memory_cache))

    def gen_cache(self, memory: Any) -> Any:
        """An empty cache of the decoded part, and the projections of ``memory``."""
        return (
            self.self_attn.gen_cache(memory, type=self.self_attn.Cache),
            self.cross_attn.gen_cache(memory, memory, type=self.cross_attn.StaticCache),
        )


def _stack(layer: Any, num_layers: int) -> LayerList:
    """``layer`` and further ones built from the same settings, with parameters of their own."""
    return LayerList(
        [layer, *(type(layer)(**layer._config) for _ in range(1, num_layers))][:num_layers]
    )


class TransformerEncoder(Layer):
    """``num_layers`` encoder layers like the given one, which is the first; ``norm`` is applied at
    the end.
    """

    def __init__(self, encoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        self.layers = _stack(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, src: Any, src_mask: Any = None, cache: Any = None) -> Any:
        src_mask = _convert_attention_mask(src_mask, src.dtype)
        new_caches = []
        for i, layer in enumerate(self.layers):
            if cache is None:
                src = layer(src, src_mask=src_mask)
            else:
                src, new_cache = layer(src, src_mask=src_mask, cache=cache[i])
                new_caches.append(new_cache)
        if self.norm is not None:
            src = self.norm(src)
        return src if cache is None else (src, new_caches)

    def gen_cache(self, src: Any) -> list[Any]:
        """An empty cache per layer for the batch of ``src``."""
        return [layer.gen_cache(src) for layer in self.layers]


class TransformerDecoder(Layer):
    """``num_layers`` decoder layers like the given one, which is the first; ``norm`` is applied at
    the end.
    """

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        self.layers = _stack(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        cache: Any = None,
    ) -> Any:
        tgt_mask = _convert_attention_mask(tgt_mask, tgt.dtype)
        memory_mask = _convert_attention_mask(memory_mask, memory.dtype)
        new_caches = []
        for i, layer in enumerate(self.layers):
            if cache is None:
                tgt = layer(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, cache=None)
            else:
                tgt, new_cache = layer(
                    tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, cache=cache[i]
                )
                new_caches.append(new_cache)
        if self.norm is not None:
            tgt = self.norm(tgt)
        return tgt if cache is None else (tgt, new_caches)

    def gen_cache(self, memory: Any, do_zip: bool = False) -> list[Any]:
        """A cache per layer; with ``do_zip`` the incremental ones and the static ones as two
        tuples.
        """
        caches = [layer.gen_cache(memory) for layer in self.layers]
        return list(zip(*caches, strict=True)) if do_zip else caches


class Transformer(Layer):
    """An encoder and a decoder.

    A list as ``weight_attr`` or ``bias_attr`` has one entry for everything, two (attention,
    feed-forward) or three (self-attention, cross-attention, feed-forward).

    Example:
        >>> import paddle
        >>> model = paddle.nn.Transformer(8, 2, 1, 1, 16)
        >>> model(paddle.ones([2, 4, 8]), paddle.ones([2, 3, 8])).shape
        [2, 3, 8]
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str = "relu",
        attn_dropout: float | None = None,
        act_dropout: float | None = None,
        normalize_before: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
    ) -> None:
        super().__init__()
        check_positive("Transformer", d_model=d_model, nhead=nhead, dim_feedforward=dim_feedforward)
        encoder_weight, decoder_weight = _attrs_by_side(weight_attr, "weight_attr")
        encoder_bias, decoder_bias = _attrs_by_side(bias_attr, "bias_attr")
        shape = (
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            attn_dropout,
            act_dropout,
            normalize_before,
        )
        if custom_encoder is None:
            layer = TransformerEncoderLayer(*shape, encoder_weight, encoder_bias)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, LayerNorm(d_model))
        if custom_decoder is None:
            own = TransformerDecoderLayer(*shape, decoder_weight, decoder_bias)
            custom_decoder = TransformerDecoder(own, num_decoder_layers, LayerNorm(d_model))
        self.encoder = custom_encoder
        self.decoder = custom_decoder
        self.d_model = d_model
        self.nhead = nhead

    def forward(
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
    ) -> Any:
        memory = self.encoder(src, src_mask=_convert_attention_mask(src_mask, src.dtype))
        return self.decoder(
            tgt,
            memory,
            tgt_mask=_convert_attention_mask(tgt_mask, tgt.dtype),
            memory_mask=_convert_attention_mask(memory_mask, memory.dtype),
        )

    def generate_square_subsequent_mask(self, length: int) -> Any:
        """A mask under which position i attends to positions up to i."""
        return apply(ops.square_subsequent_mask, int(length), defaults.dtype)


def _attrs_by_side(attr: Any, name: str) -> tuple[Any, Any]:
    """The attributes of an encoder layer (2) and of a decoder layer (3) from what Transformer was
    given.
    """
    if not isinstance(attr, (list, tuple)):
        return attr, attr
    if len(attr) not in (1, 2, 3):
        raise BadArgument(f"Transformer: {name} should have 1, 2 or 3 entries, but has {len(attr)}")
    first, last = attr[0], attr[-1]
    return [first, last], list(attr) if len(attr) == 3 else [first, first, last]
