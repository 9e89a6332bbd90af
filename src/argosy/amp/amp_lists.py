"""Which op types automatic mixed precision computes in low precision, and which it keeps in
float32.

The lists hold Paddle's op types: those of the ops in the table, by their traits, and those that
only Paddle has.
"""

from __future__ import annotations

from argosy.ops import table
from argosy.ops.traits import Precision


def types_of_precision(kind: Precision) -> set[str]:
    """The types that ops of the table have in this class."""
    return {
        name
        for op in map(table.get, table.names())
        for name, own in op.precision_by_type.items()
        if kind in own
    }


WHITE_LIST = types_of_precision(Precision.WHITE) | {
    "fused_gemm_epilogue", "fused_rotary_position_embedding", "mul",
}  # fmt: skip

ONLY_FP16_WHITE_LIST = {
    "fake_quantize_dequantize_abs_max", "fake_quantize_dequantize_moving_average_abs_max",
    "fused_attention",
    "fused_feedforward",
}  # fmt: skip

FP16_WHITE_LIST = WHITE_LIST | ONLY_FP16_WHITE_LIST
BF16_WHITE_LIST = WHITE_LIST

FP16_BLACK_LIST = types_of_precision(Precision.BLACK) | {
    "c_softmax_with_cross_entropy", "c_softmax_with_multi_label_cross_entropy", "cross_entropy2",
    "margin_cross_entropy", "softmin",
}  # fmt: skip
BF16_BLACK_LIST = FP16_BLACK_LIST

EXTRA_BLACK_LIST = types_of_precision(Precision.EXTRA_BLACK)


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
