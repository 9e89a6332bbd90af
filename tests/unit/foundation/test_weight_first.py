import pytest
import torch

from argosy.foundation import gradients
from argosy.foundation.weight_first import weight_first


def gradient_of_x(grad, x, weight):
    return grad @ weight


def gradient_of_weight(grad, x, weight):
    return gradients.product(weight, grad.t(), x)


def layer(x, weight, bias):
    linear = torch.nn.functional.linear
    return weight_first(x, weight, bias, linear, gradient_of_x, gradient_of_weight)


def leaves():
    generator = torch.Generator().manual_seed(3)
    return [
        torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)
        for shape in ([4, 3], [5, 3], [5])
    ]


def test_values_and_gradients_are_those_of_linear():
    mine, theirs = leaves(), leaves()
    out, expected = layer(*mine), torch.nn.functional.linear(*theirs)
    out.square().sum().backward()
    expected.square().sum().backward()
    assert torch.equal(out, expected)
    assert all(torch.equal(a.grad, b.grad) for a, b in zip(mine, theirs, strict=True))


def test_second_derivatives():
    assert torch.autograd.gradgradcheck(layer, leaves())


def test_the_weight_s_gradient_is_there_before_the_input_s_is_begun():
    seen = []
    x, weight, bias = leaves()
    weight.register_post_accumulate_grad_hook(lambda _: seen.append("weight has its gradient"))

    def noted(grad, x, weight):
        seen.append("gradient of x")
        return gradient_of_x(grad, x, weight)

    linear = torch.nn.functional.linear
    weight_first(x, weight, bias, linear, noted, gradient_of_weight).sum().backward()
    assert seen == ["weight has its gradient", "gradient of x"]


def test_a_weight_that_is_used_twice_waits_for_both():
    seen = []
    (x, _, _), weight = leaves(), torch.eye(3, dtype=torch.float64, requires_grad=True)
    weight.register_post_accumulate_grad_hook(lambda w: seen.append(w.grad.clone()))
    layer(layer(x, weight, None), weight, None).sum().backward()
    (plain,) = torch.autograd.grad((x @ weight.t() @ weight.t()).sum(), [weight])
    assert len(seen) == 1
    torch.testing.assert_close(seen[0], plain)


def test_a_weight_that_changes_before_backward_is_an_error():
    x, weight, bias = leaves()
    out = layer(x, weight, bias).sum()
    with torch.no_grad():
        weight.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward()
