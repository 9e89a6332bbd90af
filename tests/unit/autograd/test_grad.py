"""grad, backward and the modes: what they leave alone, nesting, messages."""

import pytest
import torch

import paddle
from paddle import autograd


def leaf(*values):
    return paddle.to_tensor(list(values), stop_gradient=False)


def test_grad_leaves_gradients_of_leaves_alone():
    x = leaf(1.0, 2.0)
    x.grad = paddle.to_tensor([7.0, 7.0])
    autograd.grad((x * x).sum(), x)
    assert x.grad.tolist() == [7.0, 7.0]


def test_grad_calls_hooks():
    x = leaf(1.0, 2.0)
    h = x * 2
    h.register_hook(lambda g: g * 10)
    assert autograd.grad(h.sum(), x)[0].tolist() == [20.0, 20.0]


def test_constants_are_cut_for_one_call_only():
    x = leaf(2.0)
    h = x * x
    out = h * x
    assert autograd.grad(out, x, no_grad_vars=h)[0].item() == 4.0
    assert autograd.grad(out, x)[0].item() == 12.0


def test_constant_that_is_one_of_several_outputs():
    x = leaf(1.0, 2.0)
    a, b = paddle.unbind(x * 3)
    assert autograd.grad(a * b, x, no_grad_vars=a)[0].tolist() == [0.0, 9.0]


def test_unused_input_is_named_by_position():
    x = leaf(1.0)
    with pytest.raises(ValueError, match="the 1-th input does not appear in the backward graph"):
        autograd.grad(x * 2, [x, leaf(1.0)])


def test_wrong_start_shape():
    x = leaf(1.0, 2.0)
    with pytest.raises(ValueError, match=r"grad_outputs\[0\] has shape \[3\], its tensor \[2\]"):
        autograd.grad(x * 2, x, grad_outputs=paddle.ones([3]))


def test_backward_twice_says_what_to_do():
    x = leaf(1.0)
    out = (x * x).exp()
    autograd.backward(out)
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        autograd.backward(out)


def test_backward_skips_what_needs_no_gradient():
    x = leaf(1.0)
    autograd.backward([paddle.to_tensor([1.0]), x * 2])
    assert x.grad.item() == 2.0


def test_graph_dump_is_not_supported():
    with pytest.raises(NotImplementedError, match="dump_backward_graph_path"):
        autograd.backward(leaf(1.0), dump_backward_graph_path="somewhere")


def test_modes_restore_after_an_error():
    with pytest.raises(KeyError), autograd.no_grad():
        raise KeyError
    assert autograd.is_grad_enabled()


def test_no_grad_decorates_with_and_without_brackets():
    @autograd.no_grad
    def bare(x):
        """Double it."""
        return x * 2

    @autograd.no_grad()
    def called(x):
        return x * 2

    assert bare(leaf(1.0)).stop_gradient
    assert called(leaf(1.0)).stop_gradient
    assert bare.__doc__ == "Double it."


def test_no_grad_decorates_generators_without_leaking():
    @autograd.no_grad()
    def steps(x):
        for _ in range(2):
            yield x * 2

    modes = []
    for value in steps(leaf(1.0)):
        modes.append((value.stop_gradient, autograd.is_grad_enabled()))
    assert modes == [(True, True), (True, True)]


def test_modes_are_torchs():
    with autograd.no_grad():
        assert not torch.is_grad_enabled()
        with autograd.enable_grad():
            assert torch.is_grad_enabled()


def test_set_grad_enabled_at_once_and_as_context():
    autograd.set_grad_enabled(False)
    try:
        assert not autograd.is_grad_enabled()
    finally:
        autograd.set_grad_enabled(True)
    with autograd.set_grad_enabled(False):
        assert not autograd.is_grad_enabled()
    assert autograd.is_grad_enabled()


def test_jacobian_computes_only_the_rows_asked_for():
    x = leaf(1.0, 2.0, 3.0)
    y = x * x
    rows = []
    y.register_hook(lambda g: rows.append(g.tolist()))
    jac = autograd.jacobian(y, x)
    assert jac[1].tolist() == [0.0, 4.0, 0.0]
    assert jac[1, 1].item() == 4.0
    assert rows == [[0.0, 1.0, 0.0]]


def test_jacobian_can_be_differentiated():
    x = leaf(1.0, 2.0)
    autograd.jacobian(x * x * x, x)[:].sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]


@pytest.mark.parametrize(
    ("index", "error"),
    [((5,), IndexError), ((Ellipsis,), IndexError), (("a",), TypeError), ((0, 9), IndexError)],
)
def test_jacobian_index_errors(index, error):
    x = leaf(1.0, 2.0)
    with pytest.raises(error):
        autograd.jacobian(x * x, x)[index]


def test_saved_tensors_hooks_see_tensors_and_must_return_them():
    x = leaf(2.0)
    with autograd.saved_tensors_hooks(lambda t: 3, lambda kept: kept):
        out = x * x
    with pytest.raises(TypeError, match="unpack_hook must return a Tensor, but returned int"):
        out.backward()


def test_constant_gradient_of_create_graph_goes_on():
    x = paddle.ones([2])
    x.stop_gradient = False
    (dx,) = paddle.grad(x * 5, x, create_graph=True)
    assert not dx.stop_gradient
    assert paddle.grad(x * 5, x)[0].stop_gradient


def test_start_of_one_element_fits_a_number():
    x = paddle.ones([2])
    x.stop_gradient = False
    (dx,) = paddle.grad(x.sum(), x, paddle.full([1], 3.0))
    assert dx.tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match="as many elements"):
        paddle.grad(x.sum(), x, paddle.ones([2]))


def test_backward_of_a_complex_number_starts_at_one():
    z = paddle.to_tensor(1 + 2j, stop_gradient=False)
    (z * z).backward()
    assert z.grad.item() == 2 - 4j


def test_hook_of_the_end_of_one_backward():
    x, calls = paddle.ones([1]), []
    x.stop_gradient = False
    add = paddle.base.core.eager._add_backward_final_hook
    add(lambda: calls.append(x.grad.item()))
    (x * 2).backward()
    (x * 2).backward()
    assert calls == [2.0]
    add(lambda: calls.append(x.grad.item()))
    paddle.autograd.backward([x * 2])
    assert calls == [2.0, 6.0]
