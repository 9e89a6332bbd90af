"""``paddle.incubate.nn`` where Paddle has kernels for GPUs only: against the formulas of its
documents, written with NumPy or with plain layers.
"""

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import NotSupported
from paddle import nn
from paddle.incubate.nn import functional as fused


def _draw(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape).astype("float32")


def _t(array):
    return paddle.to_tensor(array, stop_gradient=False)


def test_products_with_a_bias():
    x, y, bias = _draw(2, 3), _draw(4, 3, seed=1), _draw(4, seed=2)
    expected = x @ y.T + bias
    np.testing.assert_allclose(
        fused.fused_matmul_bias(_t(x), _t(y), _t(bias), transpose_y=True), expected, rtol=1e-5
    )
    np.testing.assert_allclose(
        fused.fused_linear(_t(x), _t(y), transpose_weight=True), x @ y.T, rtol=1e-5
    )
    np.testing.assert_allclose(
        fused.fused_linear_activation(_t(x.T.copy()), _t(y), _t(bias), True, True, "relu"),
        np.maximum(expected, 0),
        rtol=1e-5,
    )
    inner = np.sqrt(2 / np.pi) * (expected + 0.044715 * expected**3)
    np.testing.assert_allclose(
        fused.fused_linear_activation(_t(x), _t(y), _t(bias), trans_y=True, activation="gelu"),
        0.5 * expected * (1 + np.tanh(inner)),
        rtol=1e-4,
        atol=1e-6,
    )
    with pytest.raises(ValueError, match="activation must be one of"):
        fused.fused_linear_activation(_t(x), _t(y), _t(bias), activation="tanh")


def _turned(x, sin, cos, by_halves):
    """``x`` [batch, length, heads, size] turned, element by element."""
    size = x.shape[-1]
    out = np.empty_like(x)
    for i in range(size):
        if by_halves:
            other = -x[..., i + size // 2] if i < size // 2 else x[..., i - size // 2]
        else:
            other = -x[..., i + 1] if i % 2 == 0 else x[..., i - 1]
        out[..., i] = x[..., i] * cos[..., i] + other * sin[..., i]
    return out


@pytest.mark.parametrize("by_halves", [False, True])
@pytest.mark.parametrize("has_positions", [False, True])
@pytest.mark.parametrize("time_major", [False, True])
def test_rotary_embeddings_turn_pairs(by_halves, has_positions, time_major):
    q, k = _draw(2, 3, 4, 6), _draw(2, 3, 2, 6, seed=1)  # fewer heads of keys
    sin, cos = _draw(5, 6, seed=2), _draw(5, 6, seed=3)
    positions = np.array([[0, 2, 4], [1, 1, 3]])
    if not has_positions:
        sin, cos = sin[:3], cos[:3]
    placed = [a[positions][:, :, None] if has_positions else a[None, :, None] for a in (sin, cos)]

    def order(x):
        return x.transpose(1, 0, 2, 3) if time_major else x

    out_q, out_k, out_v = fused.fused_rotary_position_embedding(
        _t(order(q)),
        _t(order(k)),
        None,
        paddle.to_tensor(sin[None, :, None]),
        paddle.to_tensor(cos[None, :, None]),
        paddle.to_tensor(positions) if has_positions else None,
        use_neox_rotary_style=not by_halves,
        time_major=time_major,
    )
    assert out_v is None
    np.testing.assert_allclose(out_q, order(_turned(q, *placed, by_halves)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(out_k, order(_turned(k, *placed, by_halves)), rtol=1e-5, atol=1e-6)


def test_angles_without_sin_and_cos_are_those_of_the_base():
    x = _draw(1, 4, 1, 6)
    speeds = 100.0 ** (-np.arange(0, 6, 2) / 6)
    angles = np.repeat(np.arange(4)[:, None] * speeds, 2, axis=1)[None, :, None].astype("float32")
    out, _, _ = fused.fused_rotary_position_embedding(_t(x), rotary_emb_base=100.0)
    expected = _turned(x, np.sin(angles), np.cos(angles), by_halves=False)
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(AssertionError, match="without sin/cos"):
        fused.fused_rotary_position_embedding(_t(x), use_neox_rotary_style=False)


@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize("has_mask", [False, True])
def test_a_fused_encoder_layer_is_the_plain_one(is_first, has_mask):
    plain = nn.TransformerEncoderLayer(8, 2, 16, 0.0, "gelu", normalize_before=is_first)
    layer = paddle.incubate.nn.FusedTransformerEncoderLayer(
        8, 2, 16, 0.0, "gelu", normalize_before=is_first
    )
    own = plain.self_attn
    heads = [p.weight.t().reshape([2, 4, 8]) for p in (own.q_proj, own.k_proj, own.v_proj)]
    layer.fused_attn.qkv_weight.set_value(paddle.stack(heads))
    biases = [_draw(8, seed=i) for i in range(3)]
    for projection, bias in zip((own.q_proj, own.k_proj, own.v_proj), biases, strict=True):
        projection.bias.set_value(bias)
    layer.fused_attn.qkv_bias.set_value(np.stack(biases).reshape(3, 2, 4))
    scale, shift = _draw(8, seed=4), _draw(8, seed=5)
    for name, norm in (("attn", plain.norm1), ("ffn", plain.norm2)):
        norm.weight.set_value(scale)
        norm.bias.set_value(shift)
        words = (
            ("pre_ln" if is_first else "ln") if name == "attn" else "_ln1" if is_first else "_ln2"
        )
        part = layer.fused_attn if name == "attn" else layer.ffn
        getattr(part, f"{words}_scale").set_value(scale)
        getattr(part, f"{words}_bias").set_value(shift)
    layer.fused_attn.linear_weight.set_value(own.out_proj.weight)
    layer.fused_attn.linear_bias.set_value(own.out_proj.bias)
    for index in (1, 2):
        linear = getattr(plain, f"linear{index}")
        getattr(layer.ffn, f"_linear{index}_weight").set_value(linear.weight)
        getattr(layer.ffn, f"_linear{index}_bias").set_value(linear.bias)
    mask = paddle.to_tensor(np.tril(np.ones((3, 3), dtype="bool"))) if has_mask else None
    grads = []
    for model in (plain, layer):
        x = _t(_draw(2, 3, 8, seed=6))
        out = model(x, mask)
        (out * out).sum().backward()
        grads.append((out.numpy(), x.grad.numpy()))
    np.testing.assert_allclose(grads[1][0], grads[0][0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(grads[1][1], grads[0][1], rtol=1e-4, atol=1e-4)


def test_flat_weights_and_a_cache_of_attention():
    flat = paddle.incubate.nn.FusedMultiHeadAttention(8, 2, 0.0, 0.0, transpose_qkv_wb=True)
    layer = paddle.incubate.nn.FusedMultiHeadAttention(8, 2, 0.0, 0.0)
    layer.qkv_weight.set_value(flat.qkv_weight.t().reshape([3, 2, 4, 8]))
    layer.linear_weight.set_value(flat.linear_weight)
    x = paddle.to_tensor(_draw(1, 4, 8))
    mask = paddle.to_tensor(np.tril(np.ones((1, 1, 4, 4), dtype="bool")))
    whole = layer(x, attn_mask=mask)
    np.testing.assert_allclose(flat(x, attn_mask=mask), whole, rtol=1e-5, atol=1e-6)
    cache = paddle.zeros([2, 1, 2, 0, 4])
    steps = []
    for i in range(4):
        step, cache = layer(x[:, i : i + 1], cache=cache)
        steps.append(step)
    assert cache.shape == [2, 1, 2, 4, 4]
    np.testing.assert_allclose(paddle.concat(steps, 1), whole, rtol=1e-5, atol=1e-6)


def test_a_residual_may_be_left_out():
    x = _t(_draw(1, 2, 4))
    weights = [_t(_draw(4, 6, seed=1)), _t(_draw(6, 4, seed=2))]
    settings = {"dropout1_rate": 0.0, "dropout2_rate": 0.0, "pre_layer_norm": True}
    alone = fused.fused_feedforward(x, *weights, **settings, add_residual=False)
    added = fused.fused_feedforward(x, *weights, **settings)
    np.testing.assert_allclose(added, alone + x, rtol=1e-5, atol=1e-6)


def test_bias_dropout_residual_layer_norm():
    layer = paddle.incubate.nn.FusedBiasDropoutResidualLayerNorm(4, 0.0)
    layer.linear_bias.set_value(_draw(4, seed=3))
    x, residual = _t(_draw(2, 4)), _t(_draw(2, 4, seed=1))
    expected = nn.functional.layer_norm(x + layer.linear_bias + residual, 4)
    np.testing.assert_allclose(layer(x, residual), expected, rtol=1e-5, atol=1e-6)
    layer.eval()
    layer.dropout_rate = 1.0
    np.testing.assert_allclose(layer(x, residual), expected, rtol=1e-5, atol=1e-6)


def test_a_stack_is_built_from_the_settings_of_its_first_layer():
    first = paddle.incubate.nn.FusedTransformerEncoderLayer(8, 2, 16, normalize_before=True)
    stack = nn.TransformerEncoder(first, 2)
    assert [repr(layer) for layer in stack.layers] == [repr(first)] * 2


@pytest.mark.parametrize(
    "call",
    [
        lambda x: fused.fused_rms_norm(x, None, None, 1e-5, quant_scale=1.0),
        lambda x: fused.fused_layer_norm(x, None, None, 1e-5, quant_scale=1.0),
        lambda x: fused.fused_feedforward(x, x, x, ring_id=0),
        lambda x: paddle.incubate.nn.FusedFeedForward(2, 2, nranks=2),
        lambda x: paddle.incubate.nn.FusedMultiHeadAttention(2, 2, nranks=2),
    ],
)
def test_ranks_and_quantisation_are_refused(call):
    with pytest.raises(NotSupported):
        call(paddle.ones([2, 2]))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: fused.fused_rms_norm(x, None, None, 1e-5, 2), "begin_norm_axis"),
        (lambda x: fused.fused_feedforward(x, x, x, mode="up"), "mode argument"),
        (lambda x: fused.fused_multi_head_attention(x, x, x), "qkv_weight must be"),
        (lambda x: fused.fused_multi_head_attention(x, x, x, transpose_qkv_wb=True), "num_heads"),
    ],
)
def test_wrong_arguments_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call(paddle.ones([2, 2]))
