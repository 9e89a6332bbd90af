"""What golden data cannot show of convolution and pooling: initial values, messages, attributes."""

import math

import pytest

import paddle
from paddle import nn


def test_conv_weight_starts_normal_with_the_deviation_of_its_fan_in():
    paddle.seed(1)
    weight = nn.Conv2D(16, 64, 3).weight.numpy()
    assert abs(weight.std() - math.sqrt(2 / (16 * 9))) < 0.005
    assert abs(weight.mean()) < 0.005


def test_grouped_conv_counts_all_input_channels_in_its_fan_in():
    paddle.seed(1)
    weight = nn.Conv2D(16, 512, 3, groups=16).weight.numpy()
    assert abs(weight.std() - math.sqrt(2 / (16 * 9))) < 0.005


def test_transposed_conv_weight_starts_xavier_uniform():
    paddle.seed(1)
    weight = nn.Conv2DTranspose(8, 16, 3).weight.numpy()
    limit = math.sqrt(6 / ((16 + 8) * 9))
    assert 0.95 * limit < abs(weight).max() <= limit


def test_bias_starts_at_zero_and_can_be_left_out():
    assert nn.Conv2D(1, 2, 3).bias.tolist() == [0.0, 0.0]
    assert nn.Conv2D(1, 2, 3, bias_attr=False).bias is None
    assert [name for name, _ in nn.Conv2D(1, 2, 3, bias_attr=False).named_parameters()] == [
        "weight"
    ]


def test_dtype_argument_sets_the_dtype_of_parameters():
    layer = nn.Conv2D(1, 2, 3, dtype="float64")
    assert layer.weight.dtype == paddle.float64
    assert layer(paddle.ones([1, 1, 4, 4], dtype="float64")).dtype == paddle.float64


def test_wrong_channels_are_explained_with_both_shapes():
    with pytest.raises(
        ValueError, match=r"conv2d\(x=float32\[1, 2, 5, 5\], weight=float32\[2, 3, 3, 3\]"
    ):
        paddle.nn.functional.conv2d(paddle.ones([1, 2, 5, 5]), paddle.ones([2, 3, 3, 3]))


def test_output_size_out_of_reach_names_the_range():
    up = nn.Conv2DTranspose(1, 1, 3, stride=2)
    with pytest.raises(ValueError, match=r"\[11, 13\), \[11, 13\).*\[13, 11\]"):
        up(paddle.ones([1, 1, 5, 5]), output_size=[13, 11])


def test_padding_as_a_tensor_is_refused_by_name():
    with pytest.raises(NotImplementedError, match="padding given as a Tensor"):
        paddle.nn.functional.conv2d(
            paddle.ones([1, 1, 5, 5]), paddle.ones([1, 1, 3, 3]), padding=paddle.to_tensor([1, 1])
        )


def test_pool_layer_follows_a_changed_kernel_size():
    pool = nn.MaxPool2D(2)
    pool.ksize = 4
    assert pool.kernel_size == 4
    assert pool(paddle.ones([1, 1, 4, 4])).shape == [1, 1, 1, 1]


def test_adaptive_layer_follows_a_changed_output_size():
    pool = nn.AdaptiveAvgPool2D(2)
    pool.output_size = 1
    assert pool(paddle.ones([1, 1, 4, 4])).shape == [1, 1, 1, 1]


def test_unpool_warns_when_forward_overrides_the_size():
    out, mask = paddle.nn.functional.max_pool2d(paddle.rand([1, 1, 5, 5]), 2, return_mask=True)
    with pytest.warns(UserWarning, match="overrides"):
        assert nn.MaxUnPool2D(2)(out, mask, [5, 5]).shape == [1, 1, 5, 5]


def test_fractional_pool_draws_its_windows_unless_told():
    x = paddle.arange(400, dtype="float32").reshape([1, 1, 20, 20])
    paddle.seed(0)
    drawn = {str(paddle.nn.functional.fractional_max_pool2d(x, 7).tolist()) for _ in range(10)}
    assert len(drawn) > 1


def test_classes_of_scripts_find_the_fields_of_adaptive_layers():
    mean = paddle.nn.AdaptiveAvgPool2D(1, name="pool")
    assert (mean._output_size, mean._data_format, mean._name) == (1, "NCHW", "pool")
    largest = paddle.nn.AdaptiveMaxPool2D((1, 2), return_mask=True)
    assert (largest._output_size, largest._return_mask, largest._name) == ((1, 2), True, None)
