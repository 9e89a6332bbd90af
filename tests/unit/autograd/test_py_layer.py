"""PyLayer: identity of what is saved, lifetime, nesting, messages."""

import gc
import weakref

import numpy as np
import pytest

import paddle
from paddle.autograd import PyLayer, PyLayerContext
from paddle.autograd.py_layer import once_differentiable


def leaf(*values):
    return paddle.to_tensor(list(values), stop_gradient=False)


def layer_of(forward, backward):
    return type(
        "Custom", (PyLayer,), {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    )


class Square(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensor()
        return grad * 2 * x


def test_context_is_a_py_layer_context():
    kinds = []
    layer_of(lambda ctx, x: (kinds.append(type(ctx)), x * 2)[1], None).apply(leaf(1.0))
    assert kinds == [PyLayerContext]


def test_saved_input_is_the_same_object():
    seen = []

    def backward(ctx, grad):
        seen.append(ctx.saved_tensor()[0])
        return grad

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    x = leaf(1.0)
    x.note = "mine"
    layer_of(forward, backward).apply(x).backward()
    assert seen[0] is x
    assert seen[0].note == "mine"


def test_saved_output_makes_no_cycle():
    def forward(ctx, x):
        out = x.exp()
        ctx.save_for_backward(out)
        return out

    exp = layer_of(forward, lambda ctx, grad: grad * ctx.saved_tensor()[0])
    x = leaf(1.0)
    out = exp.apply(x)
    out.backward()
    assert np.isclose(x.grad.item(), np.e)
    gc.disable()
    try:
        kept = weakref.ref(exp.apply(x))
        assert kept() is None
    finally:
        gc.enable()


def test_arguments_are_not_kept_alive():
    class Large:
        pass

    argument = Large()
    gone = weakref.ref(argument)
    out = layer_of(lambda ctx, x, large: x * 2, lambda ctx, grad: grad).apply(leaf(1.0), argument)
    del argument
    assert gone() is None
    assert not out.stop_gradient


def test_forward_runs_without_recording():
    modes = []
    layer_of(lambda ctx, x: (modes.append(paddle.is_grad_enabled()), x * 2)[1], None).apply(
        leaf(1.0)
    )
    assert modes == [False]


def test_recomputation_inside_backward():
    weight = leaf(3.0)

    def backward(ctx, grad):
        (x,) = ctx.saved_tensor()
        with paddle.enable_grad():
            again = x.detach()
            again.stop_gradient = False
            out = again * again * weight
        paddle.autograd.backward([out], [grad])
        return again.grad

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * weight

    x = leaf(2.0)
    layer_of(forward, backward).apply(x).backward()
    assert x.grad.item() == 12.0
    assert weight.grad.item() == 4.0


def test_layers_nest():
    x = leaf(2.0)
    Square.apply(Square.apply(x)).backward()
    assert x.grad.item() == 32.0


def test_one_input_twice_adds_up():
    x = leaf(2.0)
    layer_of(lambda ctx, a, b: a + b, lambda ctx, g: (g, g * 10)).apply(x, x).backward()
    assert x.grad.item() == 11.0


def test_second_backward_of_saved_tensors_is_refused():
    out = Square.apply(leaf(2.0))
    out.backward()
    with pytest.raises(RuntimeError):
        out.backward()


def test_once_differentiable_stops_the_second_order():
    cube = layer_of(Square.forward, once_differentiable(Square.backward))
    x = leaf(2.0)
    (first,) = paddle.autograd.grad(cube.apply(x), x, create_graph=True)
    assert first.item() == 4.0
    assert first.stop_gradient


def test_nested_results_keep_their_structure():
    def forward(ctx, x):
        return x * 2, [x * 3, x * 4], {"plain": 1}

    def backward(ctx, a, both):
        return a + both[0] * 10 + both[1] * 100

    x = leaf(1.0)
    a, (b, c), plain = layer_of(forward, backward).apply(x)
    (a + b + c).backward()
    assert plain == {"plain": 1}
    assert x.grad.item() == 111.0


def test_change_of_a_saved_tensor_is_noticed():
    x = leaf(2.0)
    h = x * 1
    out = Square.apply(h)
    with paddle.no_grad():
        h.raw.add_(1.0)
    with pytest.raises(RuntimeError, match="changed in place after it was used"):
        out.backward()


@pytest.mark.parametrize(
    ("backward", "message"),
    [
        (lambda ctx, g: g, "no gradient was returned for Tensor 1 of forward"),
        (
            lambda ctx, g: (g, g, g),
            "number of outputs should be 2, one for each Tensor given to forward, but received 3",
        ),
        (lambda ctx, g: (g, 1.0), "gradient 1 must be a Tensor or None, but received float"),
        (
            lambda ctx, g: (g, paddle.ones([5])),
            r"gradient 1 has shape \[5\], Tensor 1 of forward \[1\]",
        ),
    ],
)
def test_messages_about_backward(backward, message):
    out = layer_of(lambda ctx, a, b: a * b, backward).apply(leaf(1.0), leaf(2.0))
    with pytest.raises(ValueError, match=message):
        out.backward()


def test_message_about_forward():
    with pytest.raises(
        ValueError,
        match=r"Custom\.forward: at least one output must be a Tensor, but it returned str",
    ):
        layer_of(lambda ctx, x: "text", None).apply(leaf(1.0))
