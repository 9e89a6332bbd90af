"""``paddle.incubate.autograd``: derivatives of functions, of Tensors and in programs."""

from __future__ import annotations

import numpy as np
import pytest

import paddle

autograd = paddle.incubate.autograd
A = np.array([[1.0, 2.0], [3.0, 4.0]])


@pytest.fixture(params=["eager", "program"])
def evaluated(request):
    """A function that computes values, of Tensors or by a program, of what it is given."""
    if request.param == "eager":
        yield lambda compute, *arrays: [t.numpy() for t in compute(*map(paddle.to_tensor, arrays))]
        return
    paddle.enable_static()

    def run(compute, *arrays):
        with paddle.static.program_guard(paddle.static.Program()):
            feed = {f"x{i}": a for i, a in enumerate(arrays)}
            xs = [paddle.static.data(n, a.shape, "float64") for n, a in feed.items()]
            return paddle.static.Executor().run(feed=feed, fetch_list=list(compute(*xs)))

    yield run
    paddle.disable_static()


def test_products_of_vectors_with_the_matrix_from_both_sides(evaluated):
    def compute(x, v):
        y, left = autograd.vjp(paddle.matmul, [x, x], v)
        _, right = autograd.jvp(paddle.matmul, [x, x], [v, v])
        return [y, *left, right]

    v = np.array([[1.0, 0.0], [2.0, 1.0]])
    y, left, other, right = evaluated(compute, A, v)
    np.testing.assert_allclose(y, A @ A)
    np.testing.assert_allclose(left, v @ A.T)
    np.testing.assert_allclose(other, A.T @ v)
    np.testing.assert_allclose(right, v @ A + A @ v)


def test_what_the_function_does_not_use_has_zeros(evaluated):
    found = evaluated(lambda x, y: autograd.vjp(lambda x, y: x.sum(), [x, y])[1], A, A)
    np.testing.assert_array_equal(found, [np.ones((2, 2)), np.zeros((2, 2))])


def test_a_jacobian_joins_inputs_and_outputs(evaluated):
    def compute(x, y):
        jacobian = autograd.Jacobian(lambda x, y: (x * y, x.sum()), [x, y])
        assert jacobian.shape == (5, 8)
        return jacobian[:], jacobian[-1], jacobian[1:4:2, 5]

    whole, last, part = evaluated(compute, A, 2 * A)
    expected = np.hstack([np.diag(2 * A.ravel()), np.diag(A.ravel())])
    expected = np.vstack([expected, [1, 1, 1, 1, 0, 0, 0, 0]])
    np.testing.assert_allclose(whole, expected)
    np.testing.assert_allclose(last, expected[-1])
    np.testing.assert_allclose(part, expected[1:4:2, 5])


def test_matrices_of_a_batch(evaluated):
    def compute(x):
        jacobian = autograd.Jacobian(lambda x: x * x, x, is_batched=True)
        hessian = autograd.Hessian(lambda x: (x**3).sum(1, keepdim=True), x, is_batched=True)
        return jacobian[:], jacobian[:, 1, :], hessian[:]

    jacobian, row, hessian = evaluated(compute, A)
    np.testing.assert_allclose(jacobian, [np.diag(2 * a) for a in A])
    np.testing.assert_allclose(row, [np.diag(2 * a)[1] for a in A])
    np.testing.assert_allclose(hessian.reshape(2, 2, 2), [np.diag(6 * a) for a in A])


def test_what_is_refused():
    x = paddle.to_tensor(A)
    with pytest.raises(TypeError, match="func must be callable"):
        autograd.vjp(1, x)
    with pytest.raises(TypeError, match="xs must be a Tensor"):
        autograd.jvp(paddle.sum, A)
    with pytest.raises(RuntimeError, match="v must have the shapes"):
        autograd.vjp(paddle.square, x, paddle.ones([1]))
    with pytest.raises(RuntimeError, match="must return one number"):
        autograd.Hessian(paddle.square, x)
    with pytest.raises(IndexError, match="ellipsis"):
        autograd.Jacobian(paddle.square, x)[..., 0]
