"""What scripts ask ``fluid.core`` about the memory of Tensors, and operators by their names."""

import numpy as np
import pytest

import paddle
from paddle import fluid


def test_tensors_are_grouped_by_their_bytes():
    # what Paddle 3.3.1 answers
    sizes = [[100], [50], [400], [3], [10]]
    tensors = [paddle.ones(size) for size in sizes]
    tensors[3] = tensors[3].astype("float64")
    group = fluid.core.eager_assign_group_by_size
    assert group(tensors, [False] * 5, [1000, 2000]) == [[0, 1, 2], [3], [4]]
    is_sparse = [False, True, False, False, False]
    assert group(tensors, is_sparse, [1000]) == [[0, 2], [1], [3], [4]]
    assert group([paddle.ones([10])] * 5, [False] * 5, [40, 80]) == [[0], [1, 2], [3, 4]]


def test_a_tensor_of_the_host():
    array = np.arange(3)
    assert fluid.core.eager.to_uva_tensor(array, 0).tolist() == [0, 1, 2]


def test_the_generator_of_the_cpu():
    paddle.seed(7)
    assert paddle.framework.core.default_cpu_generator().initial_seed() == 7


@pytest.mark.parametrize("is_legacy", [True, False])
def test_gradients_are_divided_and_checked(is_legacy):
    grads = [paddle.to_tensor([4.0]), paddle.to_tensor([2.0, 8.0])]
    scale, found = paddle.to_tensor([2.0]), paddle.to_tensor([True])
    if is_legacy:
        legacy = fluid.core.eager.ops.legacy
        outs, said = legacy.check_finite_and_unscale(grads, scale, grads, found)
        assert said is found
    else:
        outs, said = paddle._C_ops.check_finite_and_unscale_(grads, scale)
    assert [out.tolist() for out in outs] == [[2.0], [1.0, 4.0]]
    assert [grad.tolist() for grad in grads] == [[2.0], [1.0, 4.0]]
    assert said.tolist() == [False]
    grads[0].set_value(np.array([np.inf], "float32"))
    assert paddle._C_ops.check_finite_and_unscale_(grads, scale)[1].tolist() == [True]


def test_operators_return_what_they_compute_beside():
    # what Paddle 3.3.1 answers
    x = paddle.to_tensor([[3.0, 4.0], [1.0, 0.0]])
    out, length = paddle._C_ops.norm(x, 1, 1e-12, False)
    np.testing.assert_allclose(out, [[0.6, 0.8], [1.0, 0.0]], rtol=1e-6)
    assert length.tolist() == [[5.0], [1.0]]
    weights = paddle.ones([2]), paddle.zeros([2])
    out, mean, variance = fluid.core.ops.layer_norm(
        x, *weights, "epsilon", 1e-5, "begin_norm_axis", 1
    )
    np.testing.assert_allclose(out, [[-0.99998, 0.99998], [0.99998, -0.99998]], rtol=1e-5)
    assert (mean.tolist(), variance.tolist()) == ([3.5, 0.5], [0.25, 0.25])
    running = paddle.zeros([2]), paddle.ones([2])
    rows = paddle.arange(6.0).reshape([3, 2])
    results = paddle._C_ops.batch_norm(
        rows, *running, *weights, False, 0.9, 1e-5, "NCHW", False, False
    )
    expected = [
        [[-1.2247425] * 2, [0.0] * 2, [1.2247425] * 2],
        [0.2, 0.3],
        [1.1666666] * 2,
        [2.0, 3.0],
        [0.6123713] * 2,
    ]
    for result, values in zip(results, expected, strict=False):
        np.testing.assert_allclose(result, values, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(running[0], [0.2, 0.3], rtol=1e-5)


def test_the_gradient_of_a_linear_layer_is_added():
    x, dout = paddle.ones([2, 3, 2]), paddle.ones([2, 3, 1])
    weight = paddle.ones([2, 1])
    got, bias = paddle._C_ops.fused_linear_param_grad_add(x, dout, weight, None, False, True)
    assert got is weight
    assert weight.tolist() == [[7.0], [7.0]]
    assert bias.tolist() == [6.0]
    got, bias = paddle._C_ops.fused_linear_param_grad_add(
        x.astype("bfloat16"), dout.astype("bfloat16"), None, None, True, False
    )
    assert got.dtype == paddle.float32
    assert bias is None
