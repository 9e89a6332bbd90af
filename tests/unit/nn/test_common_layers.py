"""Dropout's statistics, embeddings' gradients and the messages of everyday layers."""

import pickle

import numpy as np
import pytest

import paddle
from paddle import nn

F = paddle.nn.functional


@pytest.fixture(autouse=True)
def _seed():
    paddle.seed(7)


def test_dropout_scales_up_what_it_keeps():
    out = F.dropout(paddle.ones([10000]), 0.25).numpy()
    assert set(np.unique(out)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((out == 0).mean() - 0.25) < 0.02


def test_dropout_downscale_keeps_values_in_training():
    out = F.dropout(paddle.ones([10000]), 0.25, mode="downscale_in_infer").numpy()
    assert set(np.unique(out)) == {np.float32(0), np.float32(1)}
    assert abs(out.mean() - 0.75) < 0.02


def test_dropout_axis_shares_the_choice_along_the_others():
    out = F.dropout(paddle.ones([200, 5, 3]), 0.5, axis=[0, 2]).numpy()
    assert (out == out[:, :1]).all()
    assert 0.3 < (out == 0).mean() < 0.7
    assert set(np.unique(out)) == {np.float32(0), np.float32(2)}


def test_dropout2d_drops_whole_channels():
    out = F.dropout2d(paddle.ones([20, 10, 3, 3]), 0.5).numpy()
    assert (out == out[:, :, :1, :1]).all()
    assert {0.0, 2.0} == set(np.unique(out))
    last = F.dropout2d(paddle.ones([20, 3, 3, 10]), 0.5, data_format="NHWC").numpy()
    assert (last == last[:, :1, :1]).all()


def test_dropout_gradient_is_zero_where_the_output_is():
    x = paddle.ones([100])
    x.stop_gradient = False
    out = F.dropout(x, 0.5)
    out.sum().backward()
    assert x.grad.tolist() == out.tolist()


def test_dropout_in_place_writes_into_its_input():
    x = paddle.ones([100])
    out = F.dropout(x, 0.5, inplace=True)
    assert out is x
    assert 0.0 in x.tolist()


def test_dropout_of_integers_is_refused():
    with pytest.raises(TypeError, match="int64"):
        F.dropout(paddle.ones([3], "int64"))


def test_dropout_layer_acts_in_training_only():
    layer = nn.Dropout(0.5)
    assert 0.0 in layer(paddle.ones([100])).tolist()
    layer.eval()
    assert layer(paddle.ones([100])).tolist() == [1.0] * 100


def test_alpha_dropout_keeps_mean_and_variance():
    x = paddle.randn([200000])
    out = F.alpha_dropout(x, 0.3).numpy()
    assert abs(out.mean()) < 0.02
    assert abs(out.std() - 1) < 0.02


def test_feature_alpha_dropout_treats_channels_alike():
    out = F.feature_alpha_dropout(paddle.ones([50, 4, 3, 3]), 0.5).numpy()
    assert (out == out[:, :, :1, :1]).all()
    assert len(np.unique(out)) == 2


def test_sparse_gradient_holds_only_rows_that_were_read():
    table = nn.Embedding(1000, 4, sparse=True)
    table(paddle.to_tensor([[3, 7], [3, 9]])).sum().backward()
    values, rows = table.weight.gradient()
    dense = np.zeros([1000, 4], "float32")
    np.add.at(dense, rows, values)
    assert set(rows.tolist()) == {3, 7, 9}
    assert dense[3].tolist() == [2.0] * 4
    assert dense[9].tolist() == [1.0] * 4


def test_sparse_gradient_of_the_padding_row_is_zero():
    table = nn.Embedding(10, 2, padding_idx=3, sparse=True)
    table(paddle.to_tensor([3, 5])).sum().backward()
    values, rows = table.weight.gradient()
    by_row = {int(r): v.tolist() for r, v in zip(rows, values, strict=True)}
    assert by_row.get(3, [0.0, 0.0]) == [0.0, 0.0]
    assert by_row[5] == [1.0, 1.0]


def test_ids_out_of_range_are_named():
    table = nn.Embedding(5, 2)
    with pytest.raises(ValueError, match=r"\[0, 5\).*contains 9, -1"):
        table(paddle.to_tensor([1, 9, -1]))


def test_float_ids_are_refused():
    with pytest.raises(TypeError, match="ids must be integers"):
        F.embedding(paddle.to_tensor([1.0]), paddle.ones([3, 2]))


def test_embedding_takes_a_ready_table():
    table = paddle.create_parameter([3, 2], "float32")
    layer = nn.Embedding(3, 2, _weight=table, _freeze=True)
    assert layer.weight is table
    assert table.stop_gradient


def test_frequency_scaling_excludes_sparse_gradients():
    with pytest.raises(ValueError, match="sparse"):
        F.embedding(
            paddle.to_tensor([1]), paddle.ones([3, 2]), sparse=True, scale_grad_by_freq=True
        )


def test_class_center_sample_keeps_the_positives_first_and_fills_up():
    label = paddle.to_tensor([18, 15, 18, 17])
    remapped, chosen = F.class_center_sample(label, 20, 8)
    assert chosen.tolist()[:3] == [15, 17, 18]
    assert len(set(chosen.tolist())) == 8
    assert [chosen.tolist()[i] for i in remapped.tolist()] == label.tolist()


def test_class_center_sample_keeps_all_positives_when_they_are_more():
    _, chosen = F.class_center_sample(paddle.to_tensor([1, 2, 3]), 10, 2)
    assert chosen.tolist() == [1, 2, 3]


def test_attention_refuses_two_masks_and_unequal_heads():
    q = paddle.rand([1, 3, 2, 4])
    with pytest.raises(ValueError, match="exclude each other"):
        F.scaled_dot_product_attention(q, q, q, paddle.zeros([1, 1, 3, 3]), is_causal=True)
    with pytest.raises(AssertionError, match=r"\[2, 1, 1\]"):
        F.scaled_dot_product_attention(q, q[:, :, :1], q[:, :, :1], enable_gqa=False)


def test_attention_takes_unbatched_input():
    q = paddle.rand([3, 2, 4])
    batched = F.scaled_dot_product_attention(q.unsqueeze(0), q.unsqueeze(0), q.unsqueeze(0))
    np.testing.assert_allclose(
        F.scaled_dot_product_attention(q, q, q).numpy(), batched[0].numpy(), rtol=1e-6
    )


def test_attention_dropout_acts_in_training_only():
    q = paddle.rand([1, 4, 2, 8])
    plain = F.scaled_dot_product_attention(q, q, q)
    off = F.scaled_dot_product_attention(q, q, q, dropout_p=0.9, training=False)
    on = F.scaled_dot_product_attention(q, q, q, dropout_p=0.9)
    assert off.tolist() == plain.tolist()
    assert on.tolist() != plain.tolist()


def test_packed_attention_equals_each_sequence_alone():
    q = paddle.rand([5, 2, 4])
    ends = paddle.to_tensor([0, 2, 5])
    packed, softmax = F.flash_attention.flash_attn_unpadded(
        q, q, q, ends, ends, 3, 3, 0.5, causal=True
    )
    alone = [
        F.scaled_dot_product_attention(s, s, s, is_causal=True, scale=0.5).numpy()
        for s in (q[:2], q[2:])
    ]
    assert softmax is None
    np.testing.assert_allclose(packed.numpy(), np.concatenate(alone), rtol=1e-5)


def test_packed_query_key_value_attention():
    qkv = paddle.rand([1, 3, 3, 2, 4])
    out, _ = F.flash_attn_qkvpacked(qkv)
    expected = F.scaled_dot_product_attention(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2])
    np.testing.assert_allclose(out.numpy(), expected.numpy(), rtol=1e-6)


def test_flash_attention_refuses_seeds_it_cannot_honour():
    q = paddle.rand([1, 3, 2, 4])
    with pytest.raises(NotImplementedError, match="fixed_seed_offset"):
        F.flash_attention.flash_attention(q, q, q, fixed_seed_offset=paddle.zeros([2]))


def test_identity_returns_the_very_input():
    x = paddle.rand([2])
    assert nn.Identity(54, any=1)(x) is x


def test_fixed_padding_layers_are_classes_of_their_own():
    assert nn.ZeroPad2D.__name__ == "ZeroPad2D"
    assert issubclass(nn.ReflectionPad1D, nn.Pad1D)
    assert not issubclass(nn.ReflectionPad1D, nn.ZeroPad1D)
    layer = pickle.loads(pickle.dumps(nn.ZeroPad2D([1, 0, 2, 1])))
    assert layer(paddle.ones([1, 1, 2, 2])).shape == [1, 1, 5, 3]


def test_interpolate_counts_sizes_in_float32_like_paddle():
    assert F.interpolate(paddle.ones([1, 1, 10, 10]), scale_factor=1.1).shape == [1, 1, 11, 11]


def _resized(settings, feed):
    """What a program computes whose images have sizes that only a run knows."""
    main = paddle.static.Program()
    with paddle.static.program_guard(main, paddle.static.Program()):
        x = paddle.static.data("x", [None, 3, None, None])
        like = paddle.static.data("like", [None, 3, None, None])
        number = paddle.static.data("number", [1])
        out = F.interpolate(x, **settings(like, number))
    return paddle.static.Executor().run(main, feed=feed, fetch_list=[out])[0], out


@pytest.mark.parametrize(
    ("settings", "plain", "extents"),
    [
        (lambda like, number: {"size": paddle.shape(like)[2:]}, {"size": [8, 9]}, [-1, -1]),
        (lambda like, number: {"size": [paddle.shape(like)[2], 7]}, {"size": [8, 7]}, [-1, 7]),
        (lambda like, number: {"scale_factor": [1.5, 2.0]}, {"scale_factor": [1.5, 2.0]}, [-1, -1]),
        (lambda like, number: {"scale_factor": number}, {"scale_factor": 2.5}, [-1, -1]),
    ],
    ids=["shape", "mixed", "scale", "variable_scale"],
)
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.usefixtures("fresh_programs")
def test_interpolation_to_a_size_that_a_run_tells(settings, plain, extents, mode):
    images = np.random.RandomState(0).randn(2, 3, 4, 5).astype("float32")
    wanted = F.interpolate(paddle.to_tensor(images), mode=mode, **plain).numpy()
    feed = {"x": images, "like": np.ones([1, 3, 8, 9], "float32")}
    feed["number"] = np.array([2.5], "float32")
    paddle.enable_static()
    got, out = _resized(lambda *given: {"mode": mode, **settings(*given)}, feed)
    assert out.shape == [-1, 3, *extents]
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


@pytest.mark.usefixtures("static_mode")
def test_padding_by_amounts_that_a_run_tells():
    x = paddle.static.data("x", [None, 3, None, None])
    amounts = paddle.static.data("amounts", [4], "int32")
    to_eight = F.pad(x, [0, 2, 1, 8 - paddle.shape(x)[2]])
    by_data = F.pad(x, amounts, mode="replicate")
    assert by_data.shape == [-1, 3, -1, -1]
    images = np.random.RandomState(0).randn(2, 3, 4, 5).astype("float32")
    feed = {"x": images, "amounts": np.array([1, 2, 3, 0], "int32")}
    got = paddle.static.Executor().run(feed=feed, fetch_list=[to_eight, by_data])
    wide = ((0, 0), (0, 0))
    np.testing.assert_array_equal(got[0], np.pad(images, (*wide, (1, 4), (0, 2))))
    np.testing.assert_array_equal(got[1], np.pad(images, (*wide, (3, 0), (1, 2)), "edge"))
