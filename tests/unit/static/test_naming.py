"""Names of what operators compute: those of Paddle 2.6.2, and under fluid those of 1.8.5."""

import pytest

import paddle
import paddle.nn.functional as F
from argosy.static.record.naming import plan
from paddle import fluid, static
from paddle.fluid import layers


@pytest.fixture
def x():
    with paddle.utils.unique_name.guard():
        yield static.data("x", [None, 4])


@pytest.fixture
def label():
    return static.data("label", [None, 1], "int64")


@pytest.mark.parametrize(
    ("compute", "name"),
    [
        (lambda x: paddle.mean(x), "mean_0.tmp_0"),
        (lambda x: paddle.mean(x, name="N"), "N.tmp_0"),
        (lambda x: F.relu(x, name="N"), "N.tmp_0"),
        (lambda x: paddle.add(x, x), "elementwise_add_0"),
        (lambda x: paddle.add(x, x, name="N"), "N"),
        (lambda x: x + x, "tmp_0"),
        (lambda x: x * 2, "tmp_0"),
        (lambda x: 2.0 / x, "tmp_1"),
        (lambda x: x[0:1], "x_slice_0"),
        (lambda x: paddle.nn.Linear(4, 3)(x), "linear_1.tmp_1"),
        (lambda x: static.nn.fc(x, 3, activation="relu", name="N"), "N.tmp_2"),
        (lambda x: static.nn.fc([x, x], 3, activation="tanh"), "fc_0.tmp_4"),
        (lambda x: paddle.full([1], 1.0), "fill_constant_1.tmp_0"),
        (lambda x: F.mse_loss(x, x), "mean_0.tmp_0"),
        (lambda x: F.mse_loss(x, x, reduction="none"), "square_0.tmp_0"),
    ],
)
def test_as_in_paddle_2(x, compute, name):
    assert compute(x).name == name


def test_results_in_another_order_than_they_are_made(x, label):
    loss, softmax = F.softmax_with_cross_entropy(x, label, return_softmax=True)
    assert loss.name == "softmax_with_cross_entropy_0.tmp_1"
    assert softmax.name == "softmax_with_cross_entropy_0.tmp_0"
    assert F.cross_entropy(x, label).name == "mean_0.tmp_0"


@pytest.mark.parametrize(
    ("compute", "name"),
    [
        (lambda x: layers.mean(x), "mean_0.tmp_0"),
        (lambda x: layers.reduce_mean(x), "reduce_mean_0.tmp_0"),
        (lambda x: layers.elementwise_add(x, x, act="relu", name="N"), "N.tmp_1"),
        (lambda x: layers.reshape(x, [-1, 2, 2], act="relu"), "reshape2_0.tmp_2"),
        (lambda x: layers.fc(x, 3, act="relu", name="N"), "N.tmp_2"),
        (lambda x: layers.topk(x, 2)[1], "top_k_0.tmp_1"),
        (lambda x: layers.cos_sim(x, x), "cos_sim_0.tmp_0"),
        (lambda x: layers.sums([x, x]), "sum_0.tmp_0"),
        (lambda x: layers.fill_constant([1], "float32", 1.0), "fill_constant_0.tmp_0"),
        (lambda x: layers.transpose(x, [1, 0]), "transpose_0.tmp_0"),
    ],
)
def test_as_in_paddle_1(x, compute, name):
    assert compute(x).name == name


def test_a_result_written_into_a_variable_keeps_its_name(x):
    out = layers.create_tensor("float32", name="out")
    assert layers.sums([x, x], out=out).name == "out"


def test_renamed_results_can_be_fetched(x):
    import numpy as np

    layers.mean(x)
    exe = fluid.Executor(fluid.CPUPlace())
    [value] = exe.run(feed={"x": np.ones((2, 4), "float32")}, fetch_list=["mean_0.tmp_0"])
    assert value.tolist() == [1.0]


def test_what_a_trait_says():
    found = plan("softmax_with_cross_entropy:1,0")
    assert (found.kind, found.positions) == ("softmax_with_cross_entropy", (1, 0))
    found = plan("elementwise_sub square reduction")
    assert (found.earlier, found.kind, found.reduces) == (("elementwise_sub",), "square", True)
    assert plan("conv2d:bias").optional == "bias"
    assert plan("=tril").is_own
