"""Operators that Paddle records apart run as one op of ours, unless somebody could tell."""

import numpy as np
import pytest
import torch

import paddle
import paddle.nn.functional as F
from argosy.static.lower.joining import joined

pytestmark = pytest.mark.usefixtures("static_mode")


def ops_of(fetches, program=None):
    block = (program or paddle.static.default_main_program()).global_block()
    names = [v if isinstance(v, str) else v.name for v in fetches]
    return [o.op.name for o in joined(block, list(block.ops), [], names) if o.op is not None]


def test_a_product_and_its_bias_are_a_linear_map():
    x = paddle.static.data("x", [None, 3])
    assert ops_of([paddle.nn.Linear(3, 2)(x)]) == ["linear"]


def test_a_linear_map_and_its_positive_part_share_memory():
    x = paddle.static.data("x", [None, 3])
    hidden = paddle.static.nn.fc(x, 2, activation="relu")
    assert ops_of([hidden]) == ["linear_relu"]
    assert ops_of([F.relu(x)])[-1] == "relu"  # what was fed stays as it is


def test_a_linear_map_that_others_read_keeps_its_memory():
    x = paddle.static.data("x", [None, 3])
    out = paddle.static.nn.fc(x, 2)
    assert ops_of([F.relu(out) + out]) == ["linear", "relu", "add"]
    assert ops_of([F.relu(out), out])[:2] == ["linear", "relu"]


def test_a_layer_with_relu_trains_as_its_operators_apart():
    x = paddle.static.data("x", [None, 3])
    out = paddle.static.nn.fc(x, 4, name="f")
    hidden = F.relu(out)
    pairs = paddle.static.append_backward(hidden.square().mean())
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    feed = {"x": np.random.default_rng(0).normal(size=(5, 3)).astype("float32")}
    wanted = [hidden, *(grad for _, grad in pairs)]
    program = paddle.static.default_main_program()
    assert "linear_relu" in ops_of(wanted)
    assert "linear_relu" not in ops_of([*wanted, out])
    together = exe.run(program, feed=feed, fetch_list=wanted)
    apart = exe.run(program, feed=feed, fetch_list=[*wanted, out])
    assert (together[0] == 0).any()
    for ours, theirs in zip(together, apart, strict=False):
        np.testing.assert_array_equal(ours, theirs)


def test_a_product_of_folded_axes_keeps_them_folded():
    x = paddle.static.data("x", [None, 3, 2])
    assert ops_of([paddle.static.nn.fc(x, 2)]) == ["mul_add"]


def test_what_is_fetched_is_computed_by_itself():
    x = paddle.static.data("x", [None, 3])
    out = paddle.static.nn.fc(x, 2, name="f")
    assert ops_of([out, "f.tmp_0"]) == ["mul", "add_along"]


def test_what_another_operator_reads_is_computed_by_itself():
    x = paddle.static.data("x", [None, 3])
    out = paddle.static.nn.fc(x, 2, name="f")
    product = paddle.static.default_main_program().global_block().var("f.tmp_0")
    assert ops_of([F.relu(product), out])[:2] == ["mul", "add_along"]


def test_what_stops_gradients_is_computed_by_itself():
    x = paddle.static.data("x", [None, 3])
    out = paddle.static.nn.fc(x, 2, name="f")
    assert ops_of([out]) == ["linear"]
    paddle.static.default_main_program().global_block().var("f.tmp_0").stop_gradient = True
    paddle.static.append_backward(out.sum())
    assert ops_of([out])[:2] == ["mul", "add_along"]


def test_a_backward_in_a_branch_reads_only_what_it_differentiates():
    x = paddle.static.data("x", [None, 3])
    out = paddle.static.nn.fc(x, 2, name="f")

    def train():
        loss = out.mean()
        paddle.optimizer.SGD(0.1).minimize(loss)
        return loss

    loss = paddle.static.nn.cond(x.sum() > 0, train, lambda: out.sum())
    assert ops_of([loss])[0] == "linear"
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    feed = {"x": np.ones((2, 3), "float32")}
    before, after = (exe.run(feed=feed, fetch_list=[loss])[0].item() for _ in range(2))
    assert after == pytest.approx(before - 0.1 * (3 + 1) / 2, rel=1e-4)


def test_what_a_branch_differentiates_by_is_computed_by_itself():
    x = paddle.static.data("x", [None, 3])
    out = paddle.static.nn.fc(x, 2, name="f")
    product = paddle.static.default_main_program().global_block().var("f.tmp_0")

    def gradient():
        return paddle.static.gradients(out.sum(), [product])[0]

    paddle.static.nn.cond(x.sum() > 0, gradient, lambda: product * 2)
    assert ops_of([])[:2] == ["mul", "add_along"]


def test_an_input_that_changes_in_between_keeps_them_apart():
    x = F.relu(paddle.static.data("x", [None, 3]))
    layer = paddle.nn.Linear(3, 2)
    product = x @ layer.weight
    x[0] = 0.0
    assert "linear" not in ops_of([product + layer.bias])


def test_convolutions_take_their_bias():
    x = paddle.static.data("x", [None, 3, 8, 8])
    first = paddle.nn.Conv2D(3, 4, 3)(x)
    assert ops_of([paddle.static.nn.conv2d(first, 4, 3)]) == ["conv2d", "conv2d"]


def test_the_mean_of_cross_entropies_is_one_op():
    x, label = paddle.static.data("x", [None, 3]), paddle.static.data("l", [None, 1], "int64")
    assert ops_of([F.cross_entropy(x, label)]) == ["mean_cross_entropy"]
    loss, softmax = F.softmax_with_cross_entropy(x, label, return_softmax=True)
    assert ops_of([loss, softmax])[-1] == "softmax_with_cross_entropy"
    assert ops_of([loss])[-1] == "cross_entropy"


def test_squared_differences_are_one_op_and_so_is_their_mean():
    x, y = paddle.static.data("x", [None, 3]), paddle.static.data("y", [None, 3])
    gaps = F.square_error_cost(x, y)
    assert ops_of([gaps]) == ["square_error_cost"]
    assert ops_of([F.mse_loss(x, y)])[1:] == ["mse_loss"]
    assert ops_of([gaps, paddle.mean(gaps)])[0] == "square_error_cost"


def test_a_run_computes_what_the_operators_say():
    x = paddle.static.data("x", [None, 3])
    out = paddle.nn.Linear(3, 2)(x)
    block = paddle.static.default_main_program().global_block()
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    feed = {"x": np.arange(6, dtype="float32").reshape(2, 3)}
    [joint] = exe.run(feed=feed, fetch_list=[out])
    apart, _ = exe.run(feed=feed, fetch_list=[out, block.ops[0].output("Out")[0]])
    torch.testing.assert_close(torch.from_numpy(joint), torch.from_numpy(apart))
