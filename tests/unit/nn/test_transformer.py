"""Transformer layers beyond golden data: caches equal recomputation, masks, dropout, overriding."""

import numpy as np
import pytest

import paddle
from paddle import nn


def close(a, b):
    return np.allclose(a.numpy(), b.numpy(), atol=1e-5)


def test_fused_attention_equals_the_one_with_weights():
    plain = nn.MultiHeadAttention(8, 2)
    spoken = nn.MultiHeadAttention(8, 2, need_weights=True)
    spoken.set_state_dict(plain.state_dict())
    x = paddle.randn([2, 5, 8])
    mask = paddle.randn([2, 1, 5, 5])
    out, weights = spoken(x, attn_mask=mask)
    assert close(plain(x, attn_mask=mask), out)
    assert close(weights.sum(axis=-1), paddle.ones([2, 2, 5]))


def test_incremental_encoder_equals_the_masked_whole():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0), 2)
    x = paddle.randn([2, 4, 8])
    whole = encoder(x, paddle.tril(paddle.ones([4, 4])).astype("bool"))
    cache = encoder.gen_cache(x)
    for i in range(4):
        step, cache = encoder(x[:, i : i + 1], None, cache)
        assert close(step, whole[:, i : i + 1])


def test_incremental_decoder_equals_the_masked_whole():
    model = nn.Transformer(8, 2, 1, 2, 16, dropout=0.0)
    memory, x = paddle.randn([2, 5, 8]), paddle.randn([2, 3, 8])
    whole = model.decoder(x, memory, model.generate_square_subsequent_mask(3))
    cache = model.decoder.gen_cache(memory)
    for i in range(3):
        step, cache = model.decoder(x[:, i : i + 1], memory, None, None, cache)
        assert close(step, whole[:, i : i + 1])


def test_layers_of_a_stack_have_their_own_parameters():
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 3)
    first, second = encoder.layers[0].linear1.weight, encoder.layers[1].linear1.weight
    assert first is not second
    assert not np.array_equal(first.numpy(), second.numpy())
    assert len({p.name for p in encoder.parameters()}) == len(encoder.parameters())


def test_named_attributes_get_a_suffix_per_part():
    from paddle.nn.layer.transformer import _convert_param_attr_to_list

    attrs = _convert_param_attr_to_list(paddle.ParamAttr(name="w", learning_rate=0.5), 2)
    assert [(a.name, a.learning_rate) for a in attrs] == [("w_0", 0.5), ("w_1", 0.5)]
    assert _convert_param_attr_to_list(False, 2) == [False, False]


def test_dropout_only_in_training():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.5)
    x = paddle.randn([2, 4, 8])
    assert not np.array_equal(layer(x).numpy(), layer(x).numpy())
    layer.eval()
    assert np.array_equal(layer(x).numpy(), layer(x).numpy())


def test_hooks_on_projections_run():
    attention = nn.MultiHeadAttention(8, 2)
    seen = []
    attention.v_proj.register_forward_post_hook(lambda layer, inputs, out: seen.append(out.shape))
    attention(paddle.randn([2, 4, 8]))
    assert seen == [[2, 4, 8]]


def test_prepare_can_be_overridden():
    class Scaled(nn.MultiHeadAttention):
        def _prepare_qkv(self, query, key, value, cache=None):
            q, k, v = super()._prepare_qkv(query, key, value, cache)
            return q, k, v * 0.0

    attention = Scaled(8, 2)
    attention.out_proj.bias.set_value(paddle.ones([8]))
    assert close(attention(paddle.randn([2, 4, 8])), paddle.ones([2, 4, 8]))


def test_custom_encoder_and_decoder_are_used():
    encoder, decoder = nn.Identity(), nn.Identity()
    model = nn.Transformer(8, 2, custom_encoder=encoder, custom_decoder=decoder)
    assert model.encoder is encoder
    assert model.decoder is decoder


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: nn.MultiHeadAttention(8, 3),
            AssertionError,
            "embed_dim 8 must be divisible by num_heads 3",
        ),
        (
            lambda: nn.MultiHeadAttention(8, 2)(paddle.ones([4, 8])),
            ValueError,
            r"\[batch, length, features\]",
        ),
        (
            lambda: nn.TransformerEncoderLayer(8, 2, 4, activation="gellu"),
            AttributeError,
            "Did you mean 'gelu'",
        ),
        (
            lambda: nn.TransformerDecoderLayer(8, 2, 4, weight_attr=[None]),
            AssertionError,
            "expected 3 parameter attributes",
        ),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call()
