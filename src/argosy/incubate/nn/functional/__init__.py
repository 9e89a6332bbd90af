"""``paddle.incubate.nn.functional``: what Paddle computes in one kernel, as plain computation."""

from argosy.incubate.nn.functional.fused_dropout_add import fused_dropout_add
from argosy.incubate.nn.functional.fused_matmul_bias import (
    fused_linear,
    fused_linear_activation,
    fused_matmul_bias,
)
from argosy.incubate.nn.functional.fused_norm import fused_layer_norm, fused_rms_norm
from argosy.incubate.nn.functional.fused_rotary_position_embedding import (
    fused_rotary_position_embedding,
)
from argosy.incubate.nn.functional.fused_transformer import (
    fused_bias_dropout_residual_layer_norm,
    fused_feedforward,
    fused_multi_head_attention,
)
from argosy.nn.functional import swiglu

__all__ = [
    "fused_multi_head_attention",
    "fused_feedforward",
    "fused_matmul_bias",
    "fused_linear",
    "fused_linear_activation",
    "fused_bias_dropout_residual_layer_norm",
    "fused_dropout_add",
    "fused_rotary_position_embedding",
    "fused_rms_norm",
    "fused_layer_norm",
    "swiglu",
]
