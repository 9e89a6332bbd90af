"""The parts of a transformer layer, and the layer."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import BadArgument, NotSupported
from argosy.incubate.nn import functional as F
from argosy.nn import Layer
from argosy.nn.initializer import Constant
from argosy.nn.layer.transformer import (
    _convert_attention_mask,
    _convert_param_attr_to_list,
    check_positive,
)

__all__ = [
    "FusedBiasDropoutResidualLayerNorm",
    "FusedFeedForward",
    "FusedMultiHeadAttention",
    "FusedTransformerEncoderLayer",
]


class _Part(Layer):
    """What the parts have in common: weights of normalisations, one rank."""

    def _norm(self, size: int, scale_attr: Any, bias_attr: Any) -> tuple[Any, Any]:
        scale = self.create_parameter([size], scale_attr, default_initializer=Constant(1.0))
        return scale, self.create_parameter([size], bias_attr, is_bias=True)

    def _require_one_rank(self, nranks: int) -> None:
        if nranks != 1:
            raise NotSupported(
                f"{type(self).__name__}: nranks={nranks}: tensor parallelism is supported for one "
                "rank only"
            )


class FusedBiasDropoutResidualLayerNorm(_Part):
    """``layer_norm(residual + dropout(x + bias))``."""

    def __init__(
        self,
        embed_dim: int,
        dropout_rate: float = 0.5,
        weight_attr: Any = None,
        bias_attr: Any = None,
        epsilon: float = 1e-5,
        name: str | None = None,
    ) -> None:
        super().__init__()
        check_positive(type(self).__name__, embed_dim=embed_dim)
        self.embed_dim = embed_dim
        self.linear_bias: Any = self.create_parameter([embed_dim], bias_attr, is_bias=True)
        self.ln_scale, self.ln_bias = self._norm(embed_dim, weight_attr, bias_attr)
        self.dropout_rate = dropout_rate
        self._epsilon = epsilon
        self.name = name

    def forward(self, x: Any, residual: Any) -> Any:
        return F.fused_bias_dropout_residual_layer_norm(
            x,
            residual,
            self.linear_bias,
            self.ln_scale,
            self.ln_bias,
            self.dropout_rate,
            self._epsilon,
            self.training,
            "upscale_in_train",
            self.name,
        )

    def extra_repr(self) -> str:
        return (
            f"embed_dim={self.embed_dim}, dropout_rate={self.dropout_rate}, "
            f"epsilon={self._epsilon}, dtype={self._dtype}"
        )


class FusedMultiHeadAttention(_Part):
    """Self-attention with dropout, the input added and normalisation.

    Example:
        >>> layer = paddle.incubate.nn.FusedMultiHeadAttention(8, 2)
        >>> layer(paddle.ones([2, 3, 8])).shape
        [2, 3, 8]
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout_rate: float = 0.5,
        attn_dropout_rate: float = 0.5,
        kdim: int | None = None,
        vdim: int | None = None,
        normalize_before: bool = False,
        need_weights: bool = False,
        qkv_weight_attr: Any = None,
        qkv_bias_attr: Any = None,
        linear_weight_attr: Any = None,
        linear_bias_attr: Any = None,
        pre_ln_scale_attr: Any = None,
        pre_ln_bias_attr: Any = None,
        ln_scale_attr: Any = None,
        ln_bias_attr: Any = None,
        epsilon: float = 1e-5,
        nranks: int = 1,
        ring_id: int = -1,
        transpose_qkv_wb: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__()
        check_positive(type(self).__name__, embed_dim=embed_dim, num_heads=num_heads)
        self._require_one_rank(nranks)
        head_dim = embed_dim // num_heads
        if head_dim * num_heads != embed_dim:
            raise BadArgument(
                f"FusedMultiHeadAttention: embed_dim {embed_dim} must be divisible by num_heads "
                f"{num_heads}"
            )
        if need_weights:
            raise BadArgument("FusedMultiHeadAttention: Only support need_weight is False now.")
        self.normalize_before = normalize_before
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = head_dim
        self.kdim = kdim
        self.vdim = vdim
        self.need_weights = need_weights
        self.transpose_qkv_wb = transpose_qkv_wb
        self.dropout_rate = dropout_rate
        self.attn_dropout_rate = attn_dropout_rate
        self._epsilon = epsilon
        self._ring_id = ring_id
        self.name = name
        split, flat = [3, num_heads, head_dim], [3 * embed_dim]
        shape = [embed_dim, *flat] if transpose_qkv_wb else [*split, embed_dim]
        bias_shape = flat if transpose_qkv_wb else split
        self.qkv_weight: Any = self.create_parameter(shape, qkv_weight_attr)
        self.qkv_bias: Any = self.create_parameter(bias_shape, qkv_bias_attr, is_bias=True)
        self.linear_weight: Any = self.create_parameter([embed_dim, embed_dim], linear_weight_attr)
        self.linear_bias: Any = self.create_parameter([embed_dim], linear_bias_attr, is_bias=True)
        self.pre_ln_scale: Any = None
        self.pre_ln_bias: Any = None
        self.ln_scale: Any = None
        self.ln_bias: Any = None
        if normalize_before:
            self.pre_ln_scale, self.pre_ln_bias = self._norm(
                embed_dim, pre_ln_scale_attr, pre_ln_bias_attr
            )
        else:
            self.ln_scale, self.ln_bias = self._norm(embed_dim, ln_scale_attr, ln_bias_attr)

    def forward(
        self,
        query: Any,
        key: Any = None,
        value: Any = None,
        attn_mask: Any = None,
        cache: Any = None,
    ) -> Any:
        """Only self-attention: ``key`` and ``value`` are not looked at, as in Paddle."""
        return F.fused_multi_head_attention(
            query,
            self.qkv_weight,
            self.linear_weight,
            self.normalize_before,
            self.pre_ln_scale,
            self.pre_ln_bias,
            self.ln_scale,
            self.ln_bias,
            self._epsilon,
            self.qkv_bias,
            self.linear_bias,
            cache,
            _convert_attention_mask(attn_mask, query.dtype),
            self.dropout_rate,
            self.attn_dropout_rate,
            self._epsilon,
            training=self.training,
            ring_id=self._ring_id,
            num_heads=self.num_heads,
            transpose_qkv_wb=self.transpose_qkv_wb,
            name=self.name,
        )

    def extra_repr(self) -> str:
        name = f", name={self.name}" if self.name else ""
        return (
            f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, "
            f"dropout_rate={self.dropout_rate}, attn_dropout_rate={self.attn_dropout_rate}, "
            f"epsilon={self._epsilon}, kdim={self.kdim}, vdim={self.vdim}, "
            f"normalize_before={self.normalize_before}, need_weights={self.need_weights}, "
            f"dtype={self._dtype}{name}"
        )


class FusedFeedForward(_Part):
    """Two linear layers with an activation between, the input added, and normalisation."""

    def __init__(
        self,
        d_model: int,
        dim_feedforward: int,
        dropout_rate: float = 0.1,
        epsilon: float = 1e-5,
        activation: str = "relu",
        act_dropout_rate: float | None = None,
        normalize_before: bool = False,
        linear1_weight_attr: Any = None,
        linear1_bias_attr: Any = None,
        linear2_weight_attr: Any = None,
        linear2_bias_attr: Any = None,
        ln1_scale_attr: Any = None,
        ln1_bias_attr: Any = None,
        ln2_scale_attr: Any = None,
        ln2_bias_attr: Any = None,
        nranks: int = 1,
        ring_id: int = -1,
        name: str | None = None,
    ) -> None:
        super().__init__()
        check_positive(type(self).__name__, d_model=d_model, dim_feedforward=dim_feedforward)
        self._require_one_rank(nranks)
        self._d_model = d_model
        self._dim_feedforward = dim_feedforward
        self._dropout_rate = dropout_rate
        self._act_dropout_rate = dropout_rate if act_dropout_rate is None else act_dropout_rate
        self._act_method = activation
        self._normalize_before = normalize_before
        self._epsilon = epsilon
        self._ring_id = ring_id
        self.name = name
        wide = [d_model, dim_feedforward]
        self._linear1_weight: Any = self.create_parameter(wide, linear1_weight_attr)
        self._linear1_bias: Any = self.create_parameter(wide[1:], linear1_bias_attr, is_bias=True)
        self._linear2_weight: Any = self.create_parameter(wide[::-1], linear2_weight_attr)
        self._linear2_bias: Any = self.create_parameter(wide[:1], linear2_bias_attr, is_bias=True)
        self._ln1_scale: Any = None
        self._ln1_bias: Any = None
        self._ln2_scale: Any = None
        self._ln2_bias: Any = None
        if normalize_before:
            self._ln1_scale, self._ln1_bias = self._norm(d_model, ln1_scale_attr, ln1_bias_attr)
        else:
            self._ln2_scale, self._ln2_bias = self._norm(d_model, ln2_scale_attr, ln2_bias_attr)

    def forward(self, src: Any, cache: Any = None) -> Any:
        return F.fused_feedforward(
            src,
            self._linear1_weight,
            self._linear2_weight,
            self._linear1_bias,
            self._linear2_bias,
            self._ln1_scale,
            self._ln1_bias,
            self._ln2_scale,
            self._ln2_bias,
            self._act_dropout_rate,
            self._dropout_rate,
            self._act_method,
            self._epsilon,
            self._epsilon,
            self._normalize_before,
            self.training,
            ring_id=self._ring_id,
            name=self.name,
        )

    def extra_repr(self) -> str:
        name = f", name={self.name}" if self.name else ""
        return (
            f"d_model={self._d_model}, dim_feedforward={self._dim_feedforward}, "
            f"dropout_rate={self._dropout_rate}, epsilon={self._epsilon}, "
            f"activation={self._act_method}, act_dropout_rate={self._act_dropout_rate}, "
            f"normalize_before={self._normalize_before}, dtype={self._dtype}{name}"
        )


class FusedTransformerEncoderLayer(Layer):
    """``FusedMultiHeadAttention``, then ``FusedFeedForward``.

    Example:
        >>> layer = paddle.incubate.nn.FusedTransformerEncoderLayer(8, 2, 16)
        >>> layer(paddle.ones([2, 3, 8])).shape
        [2, 3, 8]
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout_rate: float = 0.1,
        activation: str = "relu",
        attn_dropout_rate: float | None = None,
        act_dropout_rate: float | None = None,
        normalize_before: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        super().__init__()
        check_positive(
            type(self).__name__, d_model=d_model, nhead=nhead, dim_feedforward=dim_feedforward
        )
        weights = _convert_param_attr_to_list(weight_attr, 2)
        biases = _convert_param_attr_to_list(bias_attr, 2)
        self.normalize_before = normalize_before
        # what TransformerEncoder builds the further layers of a stack from
        self._config = {
            "d_model": d_model,
            "nhead": nhead,
            "dim_feedforward": dim_feedforward,
            "dropout_rate": dropout_rate,
            "activation": activation,
            "attn_dropout_rate": attn_dropout_rate,
            "act_dropout_rate": act_dropout_rate,
            "normalize_before": normalize_before,
            "weight_attr": weight_attr,
            "bias_attr": bias_attr,
        }
        self.fused_attn = FusedMultiHeadAttention(
            d_model,
            nhead,
            dropout_rate,
            dropout_rate if attn_dropout_rate is None else attn_dropout_rate,
            normalize_before=normalize_before,
            qkv_weight_attr=weights[0],
            qkv_bias_attr=biases[0],
            linear_weight_attr=weights[0],
            linear_bias_attr=biases[0],
            pre_ln_scale_attr=weights[0],
            pre_ln_bias_attr=biases[0],
            ln_scale_attr=weights[0],
            ln_bias_attr=biases[0],
        )
        self.ffn = FusedFeedForward(
            d_model,
            dim_feedforward,
            dropout_rate,
            activation=activation,
            act_dropout_rate=dropout_rate if act_dropout_rate is None else act_dropout_rate,
            normalize_before=normalize_before,
            linear1_weight_attr=weights[1],
            linear1_bias_attr=biases[1],
            linear2_weight_attr=weights[1],
            linear2_bias_attr=biases[1],
        )

    def forward(self, src: Any, src_mask: Any = None, cache: Any = None) -> Any:
        attended = self.fused_attn(src, attn_mask=src_mask, cache=cache)
        if cache is None:
            return self.ffn(attended)
        return self.ffn(attended[0]), attended[1]
