"""In-place forms, out=, messages and gradients that golden data cannot show."""

import numpy as np
import pytest
import torch

import paddle
from argosy.foundation.errors import DtypeError, IntegerDivisionByZero, UnsupportedDtype, UsageError


def test_inplace_writes_into_the_same_memory():
    x = paddle.to_tensor([1.0, 2.0])
    view = x.detach()
    assert x.add_(paddle.to_tensor(1.0)) is x
    assert view.tolist() == [2.0, 3.0]


def test_inplace_under_no_grad_keeps_the_parameter():
    weight = paddle.to_tensor([1.0, -2.0], stop_gradient=False)
    raw = weight.raw
    with paddle.no_grad():
        weight.scale_(3.0)
        weight.clip_(-1.0, 1.0)
    assert weight.raw is raw
    assert not weight.stop_gradient
    assert weight.tolist() == [1.0, -1.0]


CHANGES = [
    lambda y: y.add_(paddle.ones([2])),
    lambda y: y.scale_(2.0),
    lambda y: y.fill_(3.0),
    lambda y: y.clip_(0.0, 1.0),
    lambda y: y.uniform_(),
    lambda y: y.reshape_([2, 1]),
    lambda y: y.__setitem__(0, 5.0),
    lambda y: paddle.assign(paddle.zeros([2]), y),
]


@pytest.mark.parametrize("change", CHANGES)
def test_backward_refuses_what_was_changed_in_place_after_it_was_saved(change):
    x = paddle.to_tensor([0.5, 1.0], stop_gradient=False)
    y = x * 1.0
    z = y**2  # saves y
    change(y)
    assert y.inplace_version == 1
    with pytest.raises(
        RuntimeError, match="received tensor_version:1 != wrapper_version_snapshot:0"
    ):
        z.sum().backward()


def test_backward_refuses_a_result_that_was_saved_and_changed():
    x = paddle.to_tensor([0.5, 1.0], stop_gradient=False)
    y = paddle.exp(x)
    y.add_(x)  # exp saved its output
    with pytest.raises(RuntimeError, match="received tensor_version:1"):
        y.sum().backward()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda y: y.pow_(2.0), [4.0, 8.0]),
        (lambda y: y.multiply_(y), [4.0, 8.0]),
        (lambda y: y.tanh_(), (1 - np.tanh([1.0, 2.0]) ** 2) * 2),
        (lambda y: y.cumprod_(0), [6.0, 2.0]),
        (lambda y: y.clip_(0.0, 1.5), [2.0, 0.0]),
        (lambda y: y.reshape_([2, 1]), [2.0, 2.0]),
    ],
)
def test_an_inplace_function_may_save_what_it_changes(change, expected):
    x = paddle.to_tensor([0.5, 1.0], stop_gradient=False)
    y = x * 2.0
    change(y)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-5)


def test_an_inplace_change_of_what_nobody_saved_is_free():
    x = paddle.to_tensor([0.5, 1.0], stop_gradient=False)
    y = x * 1.0
    z = y + 1.0
    y.add_(paddle.ones([2]))
    z.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_set_value_is_no_change_in_place():
    x = paddle.to_tensor([0.5, 1.0], stop_gradient=False)
    z = x * x
    x.set_value(paddle.to_tensor([5.0, 6.0]))
    assert x.inplace_version == 0
    z.sum().backward()
    assert x.grad.tolist() == [10.0, 12.0]


def test_inplace_refuses_to_grow():
    x = paddle.ones([1])
    with pytest.raises(
        UsageError, match=r"multiply_: the shape of the broadcast result, \[3\], differs"
    ):
        x.multiply_(paddle.ones([3]))
    assert x.tolist() == [1.0]


@pytest.mark.parametrize(
    "name", ["abs_", "exp_", "add_", "clip_", "cumsum_", "equal_", "logical_not_"]
)
def test_inplace_names_itself(name):
    assert getattr(paddle.Tensor, name).__name__ == name


def test_out_receives_the_result():
    x, out = paddle.to_tensor([1.0, 2.0]), paddle.zeros([2])
    assert paddle.add(x, x, out=out) is out
    assert out.tolist() == [2.0, 4.0]
    flags = paddle.zeros([2], "bool")
    assert paddle.equal(x, 1.0, out=flags) is flags
    assert flags.tolist() == [True, False]


def test_promotion_error_names_both_dtypes():
    with pytest.raises(DtypeError, match="x: int64, y: float32"):
        paddle.to_tensor([1, 2]) + paddle.to_tensor([1.0, 2.0])


def test_shape_error_shows_both_shapes():
    with pytest.raises(UsageError, match=r"add\(x=float32\[2, 3\], y=float32\[2\]\)"):
        paddle.ones([2, 3]) + paddle.ones([2])


@pytest.mark.parametrize(
    "divide", [lambda x, y: x // y, lambda x, y: x % y, paddle.floor_divide, paddle.mod]
)
def test_integer_division_by_zero(divide):
    with pytest.raises(IntegerDivisionByZero, match="integer division by zero"):
        divide(paddle.to_tensor([1, 2]), paddle.to_tensor([1, 0]))


def test_bool_division_by_false():
    with pytest.raises(IntegerDivisionByZero):
        paddle.to_tensor([True]) / paddle.to_tensor([False])


def test_unsupported_dtype_is_a_runtime_error_as_in_paddle():
    with pytest.raises(RuntimeError, match=r"gcd\(x=float32\[1\]") as caught:
        paddle.gcd(paddle.ones([1]), paddle.ones([1]))
    assert isinstance(caught.value, UnsupportedDtype)
    assert isinstance(caught.value, TypeError)


def test_scale_with_an_unknown_activation_names_the_nearest():
    with pytest.raises(UsageError, match="relu"):
        paddle.scale(paddle.ones([1]), act="reluu")


def test_operators_leave_unknown_types_to_the_other_side():
    class Answer:
        def __radd__(self, other):
            return 42

    assert paddle.ones([1]) + Answer() == 42


def test_floor_division_has_no_gradient_and_no_error():
    x = paddle.to_tensor([5.0, 7.0], stop_gradient=False)
    (x // 2 + x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_second_derivative_of_products_and_powers():
    x = paddle.to_tensor(3.0, stop_gradient=False)
    (first,) = paddle.grad(x**3 * 2.0, [x], create_graph=True)
    (second,) = paddle.grad(first, [x])
    assert float(second) == 36.0


def test_ops_infer_shapes_on_the_meta_device():
    from argosy.ops.math import elementwise, scan, special

    x, y = torch.empty(2, 1, device="meta"), torch.empty(3, device="meta")
    for op in (
        elementwise.add,
        elementwise.maximum,
        elementwise.heaviside,
        elementwise.floor_divide,
        elementwise.copysign,
    ):
        assert op(x, y).shape == (2, 3)
    assert special.round(x, 1).shape == (2, 1)
    assert elementwise.clip(x, 0.0, 1.0).shape == (2, 1)
    assert scan.cumsum(x, None).shape == (2,)
    assert scan.cumsum(torch.empty(3, dtype=torch.int32, device="meta"), 0).dtype is torch.int64


def test_increment_refuses_lists():
    with pytest.raises(TypeError, match="increment: x must be a Tensor, but received list"):
        paddle.increment([1, 2, 3])


def test_increment_takes_a_leaf_that_is_trained():
    x = paddle.to_tensor([2.0], stop_gradient=False)
    out = paddle.increment(x, 1.5)
    assert out is x
    (x * x).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [7.0])


@pytest.mark.parametrize(
    "make",
    [
        lambda: paddle.rand([2]),
        lambda: paddle.randn([2]),
        lambda: paddle.zeros([2]),
        lambda: paddle.nn.Linear(2, 2).weight,
        lambda: paddle.nn.BatchNorm1D(2)._mean,
    ],
)
def test_what_is_new_was_never_changed(make):
    assert make().inplace_version == 0


def test_integers_that_ask_for_a_gradient_are_not_changed_in_place():
    x = paddle.to_tensor([4, 6])
    x.stop_gradient = False
    with pytest.raises(ValueError, match="can't use inplace strategy"):
        x.gcd_(paddle.to_tensor([2, 3]))
