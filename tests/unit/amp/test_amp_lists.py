"""The lists of mixed precision hold what Paddle's hold."""

import pytest

from argosy.amp import amp_lists
from argosy.static.amp import AutoMixedPrecisionLists, fp16_lists

WHITE = """
conv2d einsum flash_attn fused_gemm_epilogue fused_rotary_position_embedding linear_v2
matmul matmul_v2 max_pool2d_with_index mul
"""

ONLY_FP16_WHITE = """
fake_quantize_dequantize_abs_max fake_quantize_dequantize_moving_average_abs_max
fused_attention fused_feedforward
"""

BLACK = """
acos asin atanh c_softmax_with_cross_entropy c_softmax_with_multi_label_cross_entropy cosh
cross_entropy cross_entropy2 cumprod cumsum dist erfinv exp expm1 frobenius_norm group_norm
hsigmoid_loss huber_loss layer_norm log log10 log2 log_loss log_softmax margin_cross_entropy
mean nll_loss pnorm pow reciprocal reduce_mean reduce_prod reduce_sum renorm rsqrt
sigmoid_cross_entropy_with_logits sinh softmax softmax_with_cross_entropy softmin softplus
square tan tanh_shrink triplet_margin_loss
"""

EXTRA_BLACK = """
bicubic_interp_v2 bilinear_interp_v2 linear_interp_v2 lookup_table lookup_table_v2
nearest_interp_v2 scatter trilinear_interp_v2
"""

GRAY = """
batch_norm c_allreduce_sum c_concat c_identity cast concat dropout elementwise_add
elementwise_div elementwise_floordiv elementwise_max elementwise_min elementwise_mod
elementwise_mul elementwise_pow elementwise_sub fill_constant flatten2 fused_attention
fused_bn_add_activation fused_feedforward fused_multi_transformer gather gaussian_random
get_tensor_from_selected_rows layer_norm leaky_relu pool2d pool3d rank relu relu6 reshape2
scale sigmoid sign slice soft_relu split stack tanh top_k transpose2 uniform_random
uniform_random_batch_size_like unstack
"""


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (amp_lists.WHITE_LIST, WHITE),
        (amp_lists.ONLY_FP16_WHITE_LIST, ONLY_FP16_WHITE),
        (amp_lists.FP16_BLACK_LIST, BLACK),
        (amp_lists.EXTRA_BLACK_LIST, EXTRA_BLACK),
        (fp16_lists.white_list, WHITE + ONLY_FP16_WHITE),
        (fp16_lists.black_list, BLACK),
        (fp16_lists.gray_list, GRAY),
    ],
    ids=["white", "white float16", "black", "extra black", "white static", "black static", "gray"],
)
def test_a_list_holds_what_paddles_holds(found, wanted):
    assert found == set(wanted.split())


def test_lists_of_a_program():
    lists = AutoMixedPrecisionLists()
    assert lists.white_list == set((WHITE + ONLY_FP16_WHITE).split())
    assert lists.black_list == set((BLACK + EXTRA_BLACK).split())
    assert lists.gray_list == set(GRAY.split())
