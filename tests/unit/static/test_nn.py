"""static.nn and the metrics of programs."""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from argosy.foundation.errors import BadArgument, NotSupported, UsageError

nn = paddle.static.nn


def run(*fetches, feed=None):
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    return exe.run(feed=feed, fetch_list=list(fetches))


def test_fc_flattens_names_and_activates():
    x = paddle.static.data("x", [None, 2, 3])
    out = nn.fc(x, 4, weight_attr=paddle.nn.initializer.Constant(1.0), activation="relu")
    assert out.shape == [-1, 4]
    assert [p.name for p in paddle.static.default_main_program().all_parameters()] == [
        "fc_0.w_0",
        "fc_0.b_0",
    ]
    assert out.name.startswith("fc_0.tmp_")
    [value] = run(out, feed={"x": -np.ones((1, 2, 3), "float32")})
    np.testing.assert_array_equal(value, np.zeros((1, 4)))
    assert nn.fc(x, 5, num_flatten_dims=2).shape == [-1, 2, 5]
    assert nn.fc(x, 5, num_flatten_dims=-1, bias_attr=False).shape == [-1, 2, 5]


def test_fc_adds_several_inputs():
    a, b = paddle.static.data("a", [None, 2]), paddle.static.data("b", [None, 3])
    one = paddle.nn.initializer.Constant(1.0)
    out = nn.fc([a, b], 1, weight_attr=one)
    [value] = run(out, feed={"a": np.ones((1, 2), "float32"), "b": np.ones((1, 3), "float32")})
    assert value.tolist() == [[5.0]]
    assert len(paddle.static.default_main_program().all_parameters()) == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x, y: nn.fc(x, 2), r"flattened dimensions \[-1\].*must be known"),
        (
            lambda x, y: nn.fc(y, 2, num_flatten_dims=2),
            r"num_flatten_dims must lie in \(0, 2\)",
        ),
        (lambda x, y: nn.fc(y, 2, activation="rulu"), r"unknown activation 'rulu'.*'relu'"),
        (lambda x, y: nn.fc(np.ones((2, 3)), 2), "must be a Variable"),
        (lambda x, y: nn.batch_norm(y, bias_attr=False), "bias_attr"),
        (
            lambda x, y: nn.batch_norm(x),
            r"batch_norm_\d: its parameter would have shape \[-1\]; .* must be known",
        ),
        (
            lambda x, y: nn.conv2d(paddle.static.data("image", [None, 3, 8, 8]), 4, 3, groups=2),
            "divisible by groups",
        ),
    ],
    ids=[
        *("fc of unknown width", "fc that flattens everything", "fc with an unknown activation"),
        *("fc of an array", "batch_norm without a bias", "batch_norm of unknown width"),
        "conv2d whose channels the groups do not divide",
    ],
)
def test_layers_refuse(call, message):
    x = paddle.static.data("x", [None, None])
    y = paddle.static.data("y", [None, 3])
    with pytest.raises((UsageError, BadArgument), match=message):
        call(x, y)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("fc", lambda: nn.fc(paddle.ones([1, 2]), 2)),
        ("prelu", lambda: nn.prelu(paddle.ones([1, 3, 4, 4]), "all")),
    ],
)
def test_layers_need_static_mode(name, call):
    paddle.disable_static()
    with pytest.raises(UsageError, match=rf"static.nn.{name}: .*enable_static"):
        call()


def test_convolution_and_norms_have_the_shapes_and_names_of_paddle():
    image = paddle.static.data("image", [None, 3, 8, 8])
    out = nn.batch_norm(
        nn.conv2d(image, 4, 3, stride=2, padding=1, act="relu"), moving_mean_name="mean"
    )
    assert out.shape == [-1, 4, 4, 4]
    assert nn.conv2d(
        paddle.static.data("last", [None, 8, 8, 3]), 4, 3, data_format="NHWC"
    ).shape == [-1, 6, 6, 4]
    assert nn.layer_norm(out, begin_norm_axis=2, shift=False).shape == [-1, 4, 4, 4]
    names = [p.name for p in paddle.static.default_main_program().all_parameters()]
    assert names == [
        "conv2d_0.w_0", "conv2d_0.b_0", "batch_norm_0.w_0", "batch_norm_0.b_0", "mean",
        "batch_norm_0.w_1",
        "conv2d_1.w_0", "conv2d_1.b_0", "layer_norm_0.w_0",
    ]  # fmt: skip
    trainable = {
        p.name for p in paddle.static.default_main_program().all_parameters() if p.trainable
    }
    assert not trainable & {"mean", "batch_norm_0.w_1"}


def test_names_follow_the_operators_of_paddle():
    image = paddle.static.data("image", [None, 4, 8, 8])
    nn.conv2d(image, 8, 3, groups=4, use_cudnn=False)
    nn.conv2d_transpose(image, 4, filter_size=3, groups=4, use_cudnn=False)
    nn.conv2d(image, 8, 3, groups=4)
    weights = [p.name for p in paddle.static.default_main_program().all_parameters()][::2]
    assert weights == ["depthwise_conv2d_0.w_0", "depthwise_conv2d_transpose_0.w_0", "conv2d_0.w_0"]
    x = paddle.static.data("x", [None, 3])
    assert nn.fc(x, 2).name == "fc_0.tmp_1"  # after the product without the bias
    assert nn.fc(x, 2, bias_attr=False).name == "fc_1.tmp_0"
    assert nn.fc(x, 2, activation="relu").name == "fc_2.tmp_2"


def test_activations_have_the_defaults_of_operators():
    x = paddle.static.data("x", [None, 2])
    one = {
        "weight_attr": paddle.nn.initializer.Assign(np.eye(2, dtype="float32")),
        "bias_attr": False,
    }
    leaky, hard = (
        nn.fc(x, 2, activation="leaky_relu", **one),
        nn.fc(x, 2, activation="hard_sigmoid", **one),
    )
    values = run(leaky, hard, feed={"x": np.array([[-1.0, 1.0]], "float32")})
    np.testing.assert_allclose(values[0], [[-0.02, 1.0]])
    np.testing.assert_allclose(values[1], [[0.3, 0.7]], rtol=1e-6)


def test_embedding_reads_rows():
    ids = paddle.static.data("ids", [None, 1], "int64")
    table = np.arange(6, dtype="float32").reshape(3, 2)
    attr = paddle.ParamAttr(initializer=paddle.nn.initializer.Assign(table))
    out = nn.embedding(ids, [3, 2], padding_idx=0, param_attr=attr)
    assert out.shape == [-1, 1, 2]
    [value] = run(out, feed={"ids": np.array([[2], [0]])})
    np.testing.assert_array_equal(value[:, 0], [[4.0, 5.0], [0.0, 0.0]])


def test_accuracy_writes_its_counts():
    scores = paddle.static.data("scores", [None, 3])
    label = paddle.static.data("label", [None, 1], "int64")
    correct = paddle.static.create_global_var([], 0, "int32", persistable=True, name="correct")
    share = paddle.static.accuracy(scores, label, k=2, correct=correct)
    feed = {
        "scores": np.array([[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]], "float32"),
        "label": np.array([[1], [2]]),
    }
    values = run(share, "correct", feed=feed)
    assert [float(v) for v in values] == [0.5, 1.0]
    with pytest.raises(UsageError, match="k=4"):
        paddle.static.accuracy(scores, label, k=4)


def test_auc_counts_over_runs_and_over_the_last_ones():
    scores = paddle.static.data("scores", [None, 2])
    label = paddle.static.data("label", [None, 1], "int64")
    total, recent, states = paddle.static.auc(scores, label, slide_steps=1)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())

    def step(probabilities, labels):
        column = np.array(probabilities, "float32")
        feed = {"scores": np.stack([1 - column, column], 1), "label": np.array(labels)[:, None]}
        return [float(v) for v in exe.run(feed=feed, fetch_list=[total, recent])]

    assert step([0.9, 0.1], [1, 0]) == [1.0, 1.0]
    assert step([0.2, 0.8], [1, 0]) == [0.75, 0.0]
    assert len(states) == 4
    with pytest.raises(NotSupported, match="curve='PR'"):
        paddle.static.auc(scores, label, curve="PR")


def test_layers_that_paddle_also_computes_in_dygraph():
    paddle.disable_static()
    x = paddle.rand([2, 4, 6, 6])
    normed = nn.batch_norm(x)
    np.testing.assert_allclose(normed.numpy().mean((0, 2, 3)), np.zeros(4), atol=1e-5)
    assert nn.group_norm(x, 2).shape == nn.instance_norm(x).shape == [2, 4, 6, 6]
    assert nn.conv2d(x, 3, 3).shape == [2, 3, 4, 4]
    assert nn.conv2d_transpose(x, 3, filter_size=3).shape == [2, 3, 8, 8]
    with pytest.raises(AssertionError, match="enable_static"):
        nn.fc(x, 3)


@pytest.mark.parametrize("call", ["conv2d", "conv2d_transpose", "conv3d_transpose"])
def test_convolutions_want_known_channels_that_split_into_groups(call):
    convolve, n = getattr(paddle.nn.functional, call), 3 if "3d" in call else 2
    weight = paddle.static.data("weight", [4, 2] + [3] * n)
    unknown = paddle.static.data("unknown", [-1, -1] + [8] * n)
    odd = paddle.static.data("odd", [-1, 3] + [8] * n)
    with pytest.raises(ValueError, match="channels of the input must be known"):
        convolve(unknown, weight)
    with pytest.raises(ValueError, match="multiple of groups=2"):
        convolve(odd, weight, groups=2)
    for name in ("groups", "stride", "dilation"):
        with pytest.raises(ValueError, match=f"{name} should be greater than 0"):
            convolve(odd, weight, **{name: 0})
    if call == "conv2d":
        even, filters = (
            paddle.static.data("even", [-1, 4, 8, 8]),
            paddle.static.data("w", [3, 2, 3, 3]),
        )
        with pytest.raises(ValueError, match="number of filters must be a multiple of groups=2"):
            convolve(even, filters, groups=2)


def test_a_parameter_takes_the_shape_of_its_value():
    ids = paddle.static.data("ids", [None], "int64")
    value = np.arange(8, dtype="float32").reshape(4, 2)
    with pytest.warns(UserWarning, match="takes the shape of the value"):
        out = nn.embedding(ids, [5, 2], param_attr=paddle.nn.initializer.Assign(value))
    [parameter] = paddle.static.default_main_program().all_parameters()
    assert parameter.shape == [4, 2]
    [rows] = run(out, feed={"ids": np.array([3, 0])})
    assert rows.tolist() == [[6, 7], [0, 1]]


def test_convolutions_want_a_choice_of_cudnn():
    x = paddle.static.data("x", [2, 4, 5, 5])
    for layer in (nn.conv2d, nn.conv2d_transpose):
        with pytest.raises(ValueError, match="use_cudnn must be True or False"):
            layer(x, 3, filter_size=3, use_cudnn=[0])
