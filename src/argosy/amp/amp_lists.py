"""Which op types automatic mixed precision computes in low precision, and which it keeps in
float32.

The lists hold Paddle's op types. Ops of our table that do the work of a Paddle op under a name of
their own are filed through ``OWN_TYPES``.
"""

from __future__ import annotations

from argosy.ops.table import Op

WHITE_LIST = {
    "conv2d", "einsum", "matmul", "matmul_v2", "linear_v2", "max_pool2d_with_index", "mul",
    "fused_gemm_epilogue",
    "fused_rotary_position_embedding", "flash_attn",
}  # fmt: skip

ONLY_FP16_WHITE_LIST = {
    "fake_quantize_dequantize_abs_max", "fake_quantize_dequantize_moving_average_abs_max",
    "fused_attention",
    "fused_feedforward",
}  # fmt: skip

FP16_WHITE_LIST = WHITE_LIST | ONLY_FP16_WHITE_LIST
BF16_WHITE_LIST = WHITE_LIST

# Functions that leave the range of float16, or lose too much in long sums.
FP16_BLACK_LIST = {
    "tan", "acos", "asin", "sinh", "cosh", "atanh", "tanh_shrink", "erfinv", "exp", "expm1", "log",
    "log10", "log2",
    "reciprocal", "rsqrt", "pow", "square", "reduce_sum", "mean", "reduce_mean", "reduce_prod",
    "cumprod", "cumsum",
    "dist", "pnorm", "frobenius_norm", "renorm", "group_norm", "layer_norm", "softmax", "softmin",
    "softplus",
    "log_softmax", "softmax_with_cross_entropy", "sigmoid_cross_entropy_with_logits",
    "c_softmax_with_cross_entropy",
    "c_softmax_with_multi_label_cross_entropy", "cross_entropy", "cross_entropy2", "nll_loss",
    "huber_loss",
    "triplet_margin_loss", "log_loss", "hsigmoid_loss", "margin_cross_entropy",
}  # fmt: skip
BF16_BLACK_LIST = FP16_BLACK_LIST

# Ops whose low-precision kernels are slow or inexact.
EXTRA_BLACK_LIST = {
    "linear_interp_v2", "nearest_interp_v2", "bilinear_interp_v2", "bicubic_interp_v2",
    "trilinear_interp_v2",
    "lookup_table", "lookup_table_v2", "scatter",
}  # fmt: skip

OWN_TYPES = {
    "linear": "linear_v2",
    "conv1d": "conv2d",
    "multi_head_attention": "flash_attn",
    "multi_head_attention_with_weights": "flash_attn",
    "attention_weights": "flash_attn",
    "tanhshrink": "tanh_shrink",
    "pow_number": "pow",
    "vector_norm": "pnorm",
    "matrix_norm": "frobenius_norm",
    "mean_cross_entropy": "softmax_with_cross_entropy",
    "mse_loss": "square",
    "square_error_cost": "square",
    "interpolate": "bilinear_interp_v2",
}


def white_list() -> dict[str, dict[str, set[str]]]:
    """Op types computed in low precision, by dtype and level."""
    return {
        "float16": dict.fromkeys(("OD", "O1", "O2"), FP16_WHITE_LIST),
        "bfloat16": dict.fromkeys(("OD", "O1", "O2"), BF16_WHITE_LIST),
    }


def black_list() -> dict[str, dict[str, set[str]]]:
    """Op types kept in float32, by dtype and level."""
    return {
        "float16": {"OD": set(), "O1": FP16_BLACK_LIST | EXTRA_BLACK_LIST, "O2": EXTRA_BLACK_LIST},
        "bfloat16": {"OD": set(), "O1": BF16_BLACK_LIST | EXTRA_BLACK_LIST, "O2": EXTRA_BLACK_LIST},
    }


def types_of(op: Op) -> set[str]:
    """Every name by which a list may call ``op``."""
    names = {op.name, *op.aliases}
    if op.name in OWN_TYPES:
        names.add(OWN_TYPES[op.name])
    return names
