"""Linear algebra: messages, aliasing, in-place forms, names."""

import pytest

import paddle


def test_matmul_says_which_shapes_do_not_fit():
    with pytest.raises(ValueError, match=r"matmul\(x=float32\[2, 3\], y=float32\[2, 3\]\)"):
        paddle.matmul(paddle.ones([2, 3]), paddle.ones([2, 3]))


def test_matmul_out():
    out = paddle.zeros([2, 2])
    assert paddle.matmul(paddle.ones([2, 3]), paddle.ones([3, 2]), out=out) is out
    assert out.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_addmm_in_place_overwrites_its_first_argument():
    x = paddle.ones([2, 2])
    result = x.addmm_(paddle.ones([2, 2]), paddle.ones([2, 2]), beta=2.0)
    assert result is x
    assert x.tolist() == [[4.0, 4.0], [4.0, 4.0]]


def test_diagonal_is_a_view():
    x = paddle.zeros([2, 2])
    paddle.diagonal(x).fill_(1.0)
    assert x.tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_a_singular_matrix_is_a_value_error_that_says_so():
    with pytest.raises(ValueError, match="singular"):
        paddle.linalg.inv(paddle.zeros([2, 2]))


def test_einsum_counts_operands():
    with pytest.raises(AssertionError, match="names 2 operands, but received 1"):
        paddle.einsum("ij,jk->ik", paddle.ones([2, 2]))


def test_tensordot_takes_axes_from_a_tensor():
    x = paddle.ones([2, 3])
    assert paddle.tensordot(x, x, axes=paddle.to_tensor([[0, 1], [0, 1]])).item() == 6.0


def test_norm_over_two_axes_needs_a_matrix_norm():
    with pytest.raises(ValueError, match="'fro', 'nuc'"):
        paddle.norm(paddle.ones([2, 2]), p=3, axis=[0, 1])


def test_paddle_linalg_is_the_documented_module():
    import paddle.linalg as linalg

    assert paddle.linalg is linalg
    assert linalg.__name__ == "argosy.linalg"
    assert all(hasattr(linalg, name) for name in linalg.__all__)
    assert not hasattr(paddle, "svd")


def test_decompositions_are_methods():
    x = paddle.to_tensor([[4.0, 0.0], [0.0, 9.0]])
    assert x.cholesky().tolist() == [[2.0, 0.0], [0.0, 3.0]]
    assert x.inverse().tolist() == [[0.25, 0.0], [0.0, pytest.approx(1 / 9)]]


def test_low_rank_methods_choose_at_most_six_components():
    u, s, v = paddle.linalg.svd_lowrank(paddle.ones([8, 9]))
    assert (u.shape, s.shape, v.shape) == ([8, 6], [6], [9, 6])


def test_contracted_axis_of_size_one_is_a_sum():
    x, y = paddle.arange(6, dtype="float32").reshape([2, 3]), paddle.full([1, 4], 2.0)
    assert paddle.tensordot(x, y, axes=1).tolist() == [[6.0] * 4, [24.0] * 4]
    with pytest.raises(AssertionError, match="must not be negative"):
        paddle.tensordot(x, y, axes=-1)
