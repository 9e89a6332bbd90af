"""Rows of ``fluid.table``: functions with the signature of 1.x, its shapes and its values."""

import inspect

import numpy as np
import pytest

import paddle
import paddle.fluid as fluid
from argosy.fluid import table

# What Paddle 1.8.5 gives.
VALUES = [
    ("addmm(x, x, x, 2.0, 0.5)", [[14.5, 21.0], [31.5, 46.0]]),
    ("allclose(x, x)", [True]),
    ("bmm(cube, cube)", [[[7.0, 10.0], [15.0, 22.0]]]),
    ("crop_tensor(x, [1, 2], [1, 0])", [[3.0, 4.0]]),
    ("dist(x, x + x)", [5.4772257804870605]),
    ("elementwise_equal(x, x)", [[True, True], [True, True]]),
    ("flip(x, [0])", [[3.0, 4.0], [1.0, 2.0]]),
    ("index_sample(x, ids)", [[1.0], [4.0]]),
    ("index_select(x, row, 1)", [[2.0, 1.0], [4.0, 3.0]]),
    ("is_empty(x)", [False]),
    (
        "kron(x, x)",
        [[1.0, 2.0, 2.0, 4.0], [3.0, 4.0, 6.0, 8.0], [3.0, 6.0, 4.0, 8.0], [9.0, 12.0, 12.0, 16.0]],
    ),
    ("log1p(x - x)", [[0.0, 0.0], [0.0, 0.0]]),
    ("logsumexp(x - x)", [1.3862943649291992]),
    ("meshgrid([row, row])[0]", [[1, 1], [0, 0]]),
    ("mish(x - x)", [[0.0, 0.0], [0.0, 0.0]]),
    ("nonzero(x)", [[0, 0], [0, 1], [1, 0], [1, 1]]),
    ("rank(x)", 2),
    ("roll(x, 1)", [[4.0, 1.0], [2.0, 3.0]]),
    ("shard_index(ids, 4, 2, 1)", [[-1], [-1]]),
    ("shuffle_channel(image, 2)", [[[[0.0, 1.0]], [[4.0, 5.0]], [[2.0, 3.0]], [[6.0, 7.0]]]]),
    ("t(x)", [[1.0, 3.0], [2.0, 4.0]]),
    ("temporal_shift(image, 1, 0.25)", [[[[0.0, 0.0]], [[0.0, 0.0]], [[4.0, 5.0]], [[6.0, 7.0]]]]),
    ("trace(x)", [5.0]),
    ("tril(x)", [[1.0, 0.0], [3.0, 4.0]]),
    ("triu(x)", [[1.0, 2.0], [0.0, 4.0]]),
    ("unfold(image, [1, 2])", [[[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0]]]),
]


@pytest.mark.parametrize(("call", "expected"), VALUES, ids=[call for call, _ in VALUES])
def test_gives_what_1_8_gives(call, expected):
    with fluid.dygraph.guard():
        to_variable = fluid.dygraph.to_variable
        inputs = {
            "x": to_variable(np.array([[1, 2], [3, 4]], "float32")),
            "cube": to_variable(np.array([[[1, 2], [3, 4]]], "float32")),
            "ids": to_variable(np.array([[0], [1]], "int64")),
            "row": to_variable(np.array([1, 0], "int64")),
            "image": to_variable(np.arange(8, dtype="float32").reshape(1, 4, 1, 2)),
        }
        functions = {name: getattr(fluid.layers, name) for name in fluid.layers.__all__}
        got = eval(call, functions, inputs).numpy()
    assert np.shape(got) == np.shape(expected)
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_functions_have_the_signature_and_home_of_1_x():
    transpose = fluid.layers.transpose
    assert str(inspect.signature(transpose)) == "(x, perm, name=None)"
    assert transpose.__module__ == "argosy.fluid.layers.nn"
    assert transpose is fluid.layers.nn.transpose
    assert "``paddle.tensor.transpose(x, perm)``" in transpose.__doc__
    with pytest.raises(TypeError, match=r"transpose\(\) missing 1 required positional argument"):
        transpose(paddle.ones([2, 2]))


def test_a_constructor_has_the_arguments_of_1_x():
    momentum = inspect.signature(fluid.optimizer.Momentum)
    assert list(momentum.parameters)[:3] == ["learning_rate", "momentum", "parameter_list"]
    with pytest.raises(TypeError, match=r"MomentumOptimizer\.__init__\(\) missing"):
        fluid.optimizer.MomentumOptimizer(0.1)


def test_a_row_may_go_on_in_the_next_line():
    (row,) = table.parse("f(x, act=None)\n  -> tensor.abs(x), as [1],\n  then act")
    assert row == table.Row("f", "x, act=None", "tensor.abs", "x", ("as [1]", "then act"))


@pytest.mark.parametrize("text", ["f(x)", "f(x) -> tensor.abs(x), as [2]", "f(x) = tensor.abs(x)"])
def test_what_is_no_row_is_refused(text):
    with pytest.raises(SyntaxError, match="not a row of a table"):
        table.parse(text)


def test_what_else_happens_happens_in_its_order():
    function = table.make(
        table.parse("f(x, act=None, out=None) -> tensor.sum(x), as [1], then act, into out")[0],
        __name__,
    )
    out = paddle.zeros([1])
    assert function(paddle.to_tensor([-3.0, 1.0]), "relu", out) is out
    assert (out.shape, out.item()) == ([1], 0.0)
