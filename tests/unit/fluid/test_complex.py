"""``paddle.complex``: a module in 1.8, a function since 2.0."""

import numpy as np
import pytest

import paddle
import paddle.complex as cpx
import paddle.fluid as fluid

A = np.array([[1 + 1j, 2 + 1j], [3 + 1j, 4 + 1j]])
B = np.array([[5.0, 6.0], [7.0, 8.0]])

BINARY = {
    "elementwise_add": np.add,
    "elementwise_sub": np.subtract,
    "elementwise_mul": np.multiply,
    "elementwise_div": np.divide,
    "kron": np.kron,
    "matmul": np.matmul,
}


@pytest.fixture(autouse=True)
def guard():
    with fluid.dygraph.guard():
        yield


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(("x", "y"), [(A, A), (A, B), (B, A)])
def test_complex_and_real_numbers_meet(name, x, y):
    found = getattr(cpx, name)(fluid.dygraph.to_variable(x), fluid.dygraph.to_variable(y))
    np.testing.assert_allclose(found.numpy(), BINARY[name](x, y))


def test_sums_have_an_axis_as_all_of_1_8():
    x = fluid.dygraph.to_variable(A)
    np.testing.assert_allclose(cpx.sum(x).numpy(), [10 + 4j])
    np.testing.assert_allclose(cpx.sum(x, dim=1, keep_dim=True).numpy(), A.sum(1, keepdims=True))
    np.testing.assert_allclose(cpx.trace(x).numpy(), [5 + 2j])


def test_reshape_in_place_is_the_same_tensor():
    x = fluid.dygraph.to_variable(A)
    assert cpx.reshape(x, [0, -1, 1], inplace=True) is x
    assert x.shape == [2, 2, 1]
    assert cpx.transpose(x, [2, 0, 1]).shape == [1, 2, 2]


def test_real_numbers_alone_are_refused():
    with pytest.raises(ValueError, match=r"none of its inputs is complex, but .*float64"):
        cpx.kron(fluid.dygraph.to_variable(B), fluid.dygraph.to_variable(B))


def test_the_module_is_the_function_of_today_too():
    made = paddle.complex(paddle.to_tensor([1.0]), paddle.to_tensor([2.0]))
    np.testing.assert_array_equal(made.numpy(), np.array([1 + 2j], "complex64"))
    assert cpx is paddle.complex
    from paddle.complex.tensor.math import trace

    assert trace is cpx.trace
