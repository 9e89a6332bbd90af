import pytest
import torch

from argosy.foundation import torch_private as private
from argosy.foundation.gradients import GradHome, attach, sink_of
from argosy.ops.math import linalg


def gradients(function, inputs, grad, **options):
    return torch.autograd.grad(function(*inputs), inputs, grad, **options)


def inputs_of(rows, width, units):
    torch.manual_seed(0)
    shapes = ((rows, width), (width, units), (units,))
    return [torch.randn(shape, requires_grad=True) for shape in shapes], torch.randn(rows, units)


@pytest.mark.parametrize("is_transposed", [False, True])
def test_the_gradients_of_a_large_linear_map_are_those_of_torch(monkeypatch, is_transposed):
    if private.onednn_linear is None:
        pytest.skip("this torch has no oneDNN")
    calls, by_onednn = [], private.onednn_linear
    monkeypatch.setattr(
        private, "onednn_linear", lambda *args: calls.append(args) or by_onednn(*args)
    )
    inputs, grad = inputs_of(1024, 429, 64)
    if is_transposed:
        grad = grad.t().contiguous().t()
    ours = gradients(linalg.linear.fn, inputs, grad)
    assert len(calls) == 2  # the value and the gradient of x
    theirs = gradients(lambda x, weight, bias: torch.addmm(bias, x, weight), inputs, grad)
    for found, expected in zip(ours, theirs, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("has_gradients", [False, True])
@pytest.mark.parametrize("form", ["plain", "transposed", "every other", "expanded"])
def test_the_value_of_a_large_linear_map_is_that_of_torch(form, has_gradients):
    (x, weight, bias), _ = inputs_of(1024, 430, 64)
    x = {
        "plain": x,
        "transposed": x.t().contiguous().t(),
        "every other": torch.stack([x, x], 2)[:, :, 1],
        "expanded": x[:1].expand(x.shape),
    }[form]
    with torch.set_grad_enabled(has_gradients):
        found = linalg.linear.fn(x, weight, bias)
    assert found.requires_grad == has_gradients
    assert found.is_contiguous()
    torch.testing.assert_close(found, torch.addmm(bias, x, weight), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("shape", [(8, 4, 3), (1024, 429, 64)])
def test_a_linear_map_can_be_differentiated_twice(shape):
    inputs, grad = inputs_of(*shape)
    _, weight, _ = inputs
    grad.requires_grad_()
    [found, *_] = gradients(linalg.linear.fn, inputs, grad, create_graph=True)
    [second] = torch.autograd.grad(found.sum(), weight)
    torch.testing.assert_close(
        second, grad.detach().sum(0).expand(weight.shape), rtol=1e-4, atol=1e-3
    )


@pytest.mark.parametrize("is_urgent", [False, True])
def test_the_positive_part_of_a_linear_map_is_as_apart(is_urgent):
    """Also where the weight's gradient is computed first, as for other hosts."""
    inputs, grad = inputs_of(6, 4, 3)
    weight = inputs[1]
    if is_urgent:
        attach(weight, GradHome(torch.empty(4, 3), sink_of(weight), is_urgent=True))

    def apart(x, weight, bias):
        return torch.relu(torch.addmm(bias, x, weight))

    found = linalg.linear_relu.fn(*inputs)
    assert (found == 0).any()
    assert torch.equal(found, apart(*inputs))
    both = (gradients(function, inputs, grad) for function in (linalg.linear_relu.fn, apart))
    for ours, theirs in zip(*both, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("is_urgent", [False, True])
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("rows", [(), (6,), (2, 3), (2, 1, 3), (0, 3)], ids=str)
def test_the_gradient_of_a_weight_is_written_where_it_is_wanted(rows, has_bias, is_urgent):
    """Whatever the axes before the last, but for a vector."""
    (_, weight, bias), _ = inputs_of(6, 4, 3)
    x, grad = torch.randn(*rows, 4, requires_grad=True), torch.randn(*rows, 3)
    inputs = [x, weight, *([bias] if has_bias else [])]
    expected = gradients(lambda x, w, *b: sum(b, x @ w), inputs, grad, create_graph=True)
    home = GradHome(torch.full((4, 3), 7.0), sink_of(weight), is_urgent)
    attach(weight, home)
    home.is_open = True
    found = linalg.linear.fn(*inputs)
    assert torch.equal(found, linalg.linear.fn(*(t.detach() for t in inputs)))
    found.backward(grad)
    assert (weight.grad.data_ptr() == home.view.data_ptr()) == (len(rows) > 0)
    for tensor, wanted in zip(inputs, expected, strict=True):
        torch.testing.assert_close(tensor.grad, wanted.detach())
    again = gradients(linalg.linear.fn, inputs, grad, create_graph=True)
    if rows and 0 not in rows:
        [second], [wanted] = (torch.autograd.grad(of[0].sum(), weight) for of in (again, expected))
        torch.testing.assert_close(second, wanted)


def at_home(weight):
    home = GradHome(torch.empty(weight.shape), sink_of(weight))
    attach(weight, home)
    home.is_open = True
    return home


@pytest.mark.filterwarnings("ignore:`torch.jit.script`:DeprecationWarning")  # of forward_ad
@pytest.mark.parametrize("is_urgent", [False, True])
@pytest.mark.parametrize("kind", ["autocast", "vmap", "forward", "wide bias", "narrow bias", "3-D"])
def test_calls_whose_weight_gradient_is_no_such_product(kind, is_urgent):
    """They are as without a home, which stays free."""
    torch.manual_seed(0)
    x, weight = torch.randn(2, 3, 4), torch.randn(4, 5, requires_grad=True)
    bias = torch.randn({"wide bias": (3, 5), "narrow bias": (1, 5)}.get(kind, (5,)))
    if kind == "3-D":
        weight = torch.randn(2, 4, 5, requires_grad=True)
    x.requires_grad_()
    bias.requires_grad_()

    def run():
        linear = linalg.linear.fn
        if kind == "vmap":
            return torch.vmap(linear, (0, None, None))(x, weight, bias)
        if kind == "forward":
            with torch.autograd.forward_ad.dual_level():
                dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
                out = linear(dual, weight, bias)
                return torch.autograd.forward_ad.unpack_dual(out).tangent
        with torch.autocast("cpu", torch.bfloat16, enabled=kind == "autocast"):
            return linear(x, weight, bias)

    wanted = torch.autograd.grad(run().float().sum(), weight)
    home = at_home(weight)
    home.is_urgent = is_urgent
    found = torch.autograd.grad(run().float().sum(), weight)
    assert torch.equal(*found, *wanted)
    assert home.is_open
