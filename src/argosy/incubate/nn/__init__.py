"""``paddle.incubate.nn``: layers that Paddle computes in one kernel, as plain computation."""

from argosy.incubate.nn import functional
from argosy.incubate.nn.layer.fused_dropout_add import FusedDropoutAdd
from argosy.incubate.nn.layer.fused_linear import FusedLinear
from argosy.incubate.nn.layer.fused_transformer import (
    FusedBiasDropoutResidualLayerNorm,
    FusedFeedForward,
    FusedMultiHeadAttention,
    FusedTransformerEncoderLayer,
)

__all__ = [
    "FusedMultiHeadAttention",
    "FusedFeedForward",
    "FusedTransformerEncoderLayer",
    "FusedLinear",
    "FusedBiasDropoutResidualLayerNorm",
    "FusedDropoutAdd",
]
