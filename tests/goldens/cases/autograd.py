"""paddle.autograd: grad, backward, PyLayer, hooks on saved tensors, Jacobians and Hessians."""

import numpy as np

from goldens.harness import Cases

cases = Cases("autograd")


def leaf(paddle, array, dtype="float32"):
    return paddle.to_tensor(np.asarray(array, dtype), stop_gradient=False)


def pair(paddle, draw):
    return leaf(paddle, draw.normal(3)), leaf(paddle, draw.normal(3))


# -- grad
# --------------------------------------------------------------------------------------------------


@cases.add("grad_basic")
def _(paddle, draw):
    x, y = pair(paddle, draw)
    return {
        "both": paddle.autograd.grad((x * x * y).sum(), [x, y]),
        "single": paddle.autograd.grad(x * y, x),
        "kept": x.grad,
    }


@cases.add("grad_outputs")
def _(paddle, draw):
    x, y = pair(paddle, draw)
    start = paddle.to_tensor(draw.normal(3))
    return paddle.autograd.grad([x * x, x * y], [x, y], grad_outputs=[None, start])


@cases.add("grad_unused")
def _(paddle, draw):
    x, y = pair(paddle, draw)
    return paddle.autograd.grad((x * x).sum(), [x, y], allow_unused=True)


@cases.add("grad_of_stopped")
def _(paddle, draw):
    x, y = pair(paddle, draw)
    y.stop_gradient = True
    return paddle.autograd.grad((x * y).sum(), [x, y], allow_unused=True)


@cases.add("grad_twice_without_retain")
def _(paddle, draw):
    x, y = pair(paddle, draw)
    out = (x * y).exp().sum()
    first = paddle.autograd.grad(out, x)
    second = paddle.autograd.grad(out, [x, y])
    out.backward()
    return {"first": first, "second": second, "leaf": x.grad}


@cases.add("grad_second_order")
def _(paddle, draw):
    x, y = pair(paddle, draw)
    (first,) = paddle.autograd.grad((x**3 * y).sum(), x, create_graph=True)
    second = paddle.autograd.grad(first.sum(), [x, y])
    return {"first": first, "stops": bool(first.stop_gradient), "second": second}


@cases.add("grad_penalty")
def _(paddle, draw):
    layer = paddle.nn.Linear(3, 1)
    layer.weight.set_value(draw.normal(3, 1))
    layer.bias.set_value(draw.normal(1))
    x = leaf(paddle, draw.normal(4, 3))
    (g,) = paddle.autograd.grad(paddle.tanh(layer(x)).sum(), x, create_graph=True)
    (((g * g).sum(axis=1) - 1.0) ** 2).mean().backward()
    return {"g": g, "weight": layer.weight.grad, "bias": layer.bias.grad}


@cases.add("grad_no_grad_vars")
def _(paddle, draw):
    x, _y = pair(paddle, draw)
    h = x * x
    out = (h * x).sum()
    return {
        "one": paddle.autograd.grad(out, x, no_grad_vars=h),
        "set": paddle.autograd.grad(out, [x, h], no_grad_vars={h}),
        "cut": paddle.autograd.grad((h * h).sum(), x, no_grad_vars=[h], allow_unused=True),
    }


@cases.add("grad_intermediate")
def _(paddle, draw):
    x, y = pair(paddle, draw)
    h = x * y
    return paddle.autograd.grad((h * h).sum(), [h, x])


cases.error(
    "grad_of_unused",
    lambda paddle: paddle.autograd.grad(leaf(paddle, [1.0]) * 2, leaf(paddle, [1.0])),
)
cases.error(
    "grad_outputs_count",
    lambda paddle: paddle.autograd.grad(leaf(paddle, [1.0]) * 2, leaf(paddle, [1.0]), [None, None]),
)
cases.error(
    "grad_only_inputs",
    lambda paddle: paddle.autograd.grad(
        leaf(paddle, [1.0]), leaf(paddle, [1.0]), only_inputs=False
    ),
)
cases.error("grad_of_nothing", lambda paddle: paddle.autograd.grad([], leaf(paddle, [1.0])))
cases.error("grad_of_number", lambda paddle: paddle.autograd.grad(3.0, leaf(paddle, [1.0])))
cases.error(
    "grad_flag",
    lambda paddle: paddle.autograd.grad(leaf(paddle, [1.0]), leaf(paddle, [1.0]), create_graph=1),
)
cases.error(
    "grad_constants",
    lambda paddle: paddle.autograd.grad(leaf(paddle, [1.0]), leaf(paddle, [1.0]), no_grad_vars=3),
)

# -- backward and modes
# -------------------------------------------------------------------------------------------------


@cases.add("backward_several")
def _(paddle, draw):
    x, y = pair(paddle, draw)
    start = paddle.to_tensor(draw.normal(3))
    paddle.autograd.backward([x * y, x * x], [start, None])
    return {"x": x.grad, "y": y.grad}


@cases.add("backward_retained")
def _(paddle, draw):
    x, y = pair(paddle, draw)
    out = (x * y).sum()
    paddle.autograd.backward(out, retain_graph=True)
    paddle.autograd.backward(out)
    return {"x": x.grad, "y": y.grad}


cases.error("backward_of_nothing", lambda paddle: paddle.autograd.backward([]))
cases.error("backward_of_number", lambda paddle: paddle.autograd.backward(1.0))


def _same_twice(paddle):
    out = leaf(paddle, [1.0]) * 2
    paddle.autograd.backward([out, out])


cases.error("backward_same_twice", _same_twice)
cases.error(
    "backward_starts_count",
    lambda paddle: paddle.autograd.backward([leaf(paddle, [1.0])], [None, None]),
)


@cases.add("modes")
def _(paddle, draw):
    x, _y = pair(paddle, draw)
    autograd = paddle.autograd

    @autograd.no_grad()
    def quiet(v):
        return v * 2

    seen = [bool(quiet(x).stop_gradient)]
    with autograd.no_grad():
        seen.append(bool((x * 2).stop_gradient))
        with autograd.enable_grad():
            seen.append(bool((x * 2).stop_gradient))
        with autograd.set_grad_enabled(True):
            seen.append(autograd.is_grad_enabled())
        seen.append(autograd.is_grad_enabled())
    autograd.set_grad_enabled(False)
    seen.append(autograd.is_grad_enabled())
    autograd.set_grad_enabled(True)
    seen.append(autograd.is_grad_enabled())
    return [int(v) for v in seen]


# -- PyLayer
# --------------------------------------------------------------------------------------------------


def layer_of(paddle, forward, backward, name="Custom"):
    return type(
        name,
        (paddle.autograd.PyLayer,),
        {"forward": staticmethod(forward), "backward": staticmethod(backward)},
    )


@cases.add("pylayer_saved")
def _(paddle, draw):
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    def backward(ctx, grad):
        x, y = ctx.saved_tensor()
        return grad * y * 10, grad * x * 100

    x, y = pair(paddle, draw)
    out = layer_of(paddle, forward, backward).apply(x, y)
    out.sum().backward()
    return {"out": out, "x": x.grad, "y": y.grad}


@cases.add("pylayer_mixed_arguments")
def _(paddle, draw):
    def forward(ctx, x, factor, y=None, unused="text"):
        ctx.factor = factor
        return x * factor, "middle", y + x, None

    def backward(ctx, first, second):
        return first * ctx.factor + second, second * 2

    x, y = pair(paddle, draw)
    a, text, b, nothing = layer_of(paddle, forward, backward).apply(x, 3.0, y=y)
    (a * a + b).sum().backward()
    return {"a": a, "b": b, "text": text, "nothing": nothing, "x": x.grad, "y": y.grad}


@cases.add("pylayer_none_gradient")
def _(paddle, draw):
    x, y = pair(paddle, draw)
    layer_of(paddle, lambda ctx, a, b: a * b, lambda ctx, g: (g, None)).apply(x, y).sum().backward()
    return {"x": x.grad, "y": y.grad}


@cases.add("pylayer_stopped_input")
def _(paddle, draw):
    x, y = pair(paddle, draw)
    y.stop_gradient = True
    layer_of(paddle, lambda ctx, a, b: a * b, lambda ctx, g: g * 3).apply(x, y).sum().backward()
    return {"x": x.grad, "y": y.grad}


@cases.add("pylayer_unused_output")
def _(paddle, draw):
    given = []

    def backward(ctx, a, b):
        given.append(b)
        return a * 2

    x, _y = pair(paddle, draw)
    layer_of(paddle, lambda ctx, a: (a * 2, a * 3), backward).apply(x)[0].sum().backward()
    return {"x": x.grad, "unused": given[0]}


@cases.add("pylayer_unmaterialized")
def _(paddle, draw):
    given = []

    def forward(ctx, a):
        ctx.set_materialize_grads(False)
        return a * 2, a * 3

    def backward(ctx, a, b):
        given.append(b)
        return a * 2

    x, _y = pair(paddle, draw)
    layer_of(paddle, forward, backward).apply(x)[0].sum().backward()
    return {"x": x.grad, "unused": given[0]}


@cases.add("pylayer_non_differentiable")
def _(paddle, draw):
    def forward(ctx, a):
        mask = a > 0
        sign = a * 0 + 1
        ctx.mark_non_differentiable(sign)
        return a * 2, sign, mask

    x, _y = pair(paddle, draw)
    out, sign, mask = layer_of(paddle, forward, lambda ctx, g, *rest: g * 4).apply(x)
    out.sum().backward()
    return {"x": x.grad, "stop": [int(t.stop_gradient) for t in (out, sign)], "mask": mask}


@cases.add("pylayer_list_argument")
def _(paddle, draw):
    x, y = pair(paddle, draw)
    layer_of(paddle, lambda ctx, both: both[0] * both[1], lambda ctx, g: [g, g * 2]).apply(
        [x, y]
    ).sum().backward()
    return {"x": x.grad, "y": y.grad}


@cases.add("pylayer_list_result")
def _(paddle, draw):
    x, _y = pair(paddle, draw)
    out = layer_of(paddle, lambda ctx, a: [a * 2, a * 3], lambda ctx, a, b: a + b * 10).apply(x)
    (out[0] + out[1]).sum().backward()
    return {"kind": type(out).__name__, "x": x.grad}


@cases.add("pylayer_in_place")
def _(paddle, draw):
    x, _y = pair(paddle, draw)
    h = x * 1
    out = layer_of(paddle, lambda ctx, a: a, lambda ctx, g: g * 5).apply(h)
    out.sum().backward()
    return {"same": int(out is h), "x": x.grad}


@cases.add("pylayer_second_order")
def _(paddle, draw):
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a**3

    def backward(ctx, g):
        (a,) = ctx.saved_tensor()
        return g * 3 * a * a

    x, _y = pair(paddle, draw)
    (first,) = paddle.autograd.grad(
        layer_of(paddle, forward, backward).apply(x).sum(), x, create_graph=True
    )
    return {"first": first, "second": paddle.autograd.grad(first.sum(), x)}


@cases.add("pylayer_inside_no_grad")
def _(paddle, draw):
    x, _y = pair(paddle, draw)
    with paddle.autograd.no_grad():
        out = layer_of(paddle, lambda ctx, a: a * 2, lambda ctx, g: g).apply(x)
    return {"out": out, "stop": int(out.stop_gradient)}


@cases.add("pylayer_in_a_model")
def _(paddle, draw):
    straight = layer_of(paddle, lambda ctx, a: paddle.round(a), lambda ctx, g: g)
    layer = paddle.nn.Linear(3, 2)
    layer.weight.set_value(draw.normal(3, 2))
    layer.bias.set_value(draw.normal(2))
    out = straight.apply(layer(paddle.to_tensor(3 * draw.normal(4, 3))))
    (out * out).mean().backward()
    return {"out": out, "weight": layer.weight.grad, "bias": layer.bias.grad}


def _backward_returns(count):
    def run(paddle):
        x = leaf(paddle, [1.0, 2.0])
        y = leaf(paddle, [1.0, 2.0])
        layer_of(paddle, lambda ctx, a, b: a * b, lambda ctx, g: (g,) * count).apply(
            x, y
        ).sum().backward()

    return run


cases.error("pylayer_too_few", _backward_returns(1))
cases.error("pylayer_too_many", _backward_returns(3))
cases.error(
    "pylayer_without_tensor",
    lambda paddle: layer_of(paddle, lambda ctx, a: 3, None).apply(leaf(paddle, [1.0])),
)
cases.error(
    "pylayer_without_forward", lambda paddle: paddle.autograd.PyLayer.apply(leaf(paddle, [1.0]))
)
cases.error(
    "pylayer_number_gradient",
    lambda paddle: (
        layer_of(paddle, lambda ctx, a: a * 2, lambda ctx, g: 3)
        .apply(leaf(paddle, [1.0]))
        .backward()
    ),
)
cases.error(
    "pylayer_gradient_of_stopped",
    lambda paddle: (
        layer_of(paddle, lambda ctx, a, b: a * b, lambda ctx, g: (g, g))
        .apply(leaf(paddle, [1.0]), paddle.to_tensor([1.0]))
        .backward()
    ),
)
cases.error(
    "pylayer_in_place_leaf",
    lambda paddle: layer_of(paddle, lambda ctx, a: a, lambda ctx, g: g).apply(leaf(paddle, [1.0])),
)

# -- hooks on what is saved
# ---------------------------------------------------------------------------------------------


@cases.add("saved_tensors_hooks")
def _(paddle, draw):
    x, y = pair(paddle, draw)
    with paddle.autograd.saved_tensors_hooks(
        lambda t: t.numpy(), lambda a: paddle.to_tensor(a * 2)
    ):
        out = x * y
    out.sum().backward()
    return {"x": x.grad, "y": y.grad}


@cases.add("saved_tensors_hooks_pylayer")
def _(paddle, draw):
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * 1

    x, _y = pair(paddle, draw)
    with paddle.autograd.saved_tensors_hooks(
        lambda t: t.numpy(), lambda a: paddle.to_tensor(a * 2)
    ):
        out = layer_of(paddle, forward, lambda ctx, g: g * ctx.saved_tensor()[0]).apply(x)
    out.sum().backward()
    return x.grad


# -- Jacobians
# --------------------------------------------------------------------------------------------------


def curve(paddle, x, y=None):
    z = paddle.tanh(x) * x.sum()
    return z if y is None else z * y * y


@cases.add("jacobian_vector")
def _(paddle, draw):
    x, _y = pair(paddle, draw)
    jac = paddle.autograd.jacobian(curve(paddle, x), x)
    return {
        "all": jac[:], "row": jac[1], "last": jac[-1], "cell": jac[0, 2], "part": jac[1:, :2],
        "shape": list(jac.shape),
        "sum": jac + jac, "product": jac @ jac, "method": jac.sum(),
    }  # fmt: skip


@cases.add("jacobian_scalars")
def _(paddle, draw):
    x = leaf(paddle, draw.normal())
    v, _y = pair(paddle, draw)
    return {
        "scalar": paddle.autograd.jacobian(x * x, x) * 1.0,
        "gradient": paddle.autograd.jacobian((v * v).sum(), v)[:],
        "one_of": paddle.autograd.jacobian((v * v).sum(), v)[1],
        "column": paddle.autograd.jacobian(v * x, x)[:],
    }


@cases.add("jacobian_batched")
def _(paddle, draw):
    x = leaf(paddle, draw.normal(4, 3))
    jac = paddle.autograd.jacobian(paddle.tanh(x) * x.sum(axis=1, keepdim=True), x, batch_axis=0)
    each = paddle.autograd.jacobian((x * x).sum(axis=1), x, batch_axis=0)
    return {
        "all": jac[:],
        "part": jac[:, 1, :],
        "range": jac[1:3, 0:2, 1],
        "shape": list(jac.shape),
        "each": each[:].reshape([4, 3]),
    }


@cases.add("jacobian_sequences")
def _(paddle, draw):
    x, y = pair(paddle, draw)
    by_inputs = paddle.autograd.jacobian(curve(paddle, x, y), [x, y])
    by_both = paddle.autograd.jacobian([x * y, x + y], (x, y))
    return {"inputs": [j[:] for j in by_inputs], "both": [[j[:] for j in row] for row in by_both]}


@cases.add("jacobian_unused")
def _(paddle, draw):
    x, y = pair(paddle, draw)
    return paddle.autograd.jacobian(x * x, y)[:]


@cases.add("hessian_vector")
def _(paddle, draw):
    x, _y = pair(paddle, draw)
    h = paddle.autograd.hessian((curve(paddle, x) * x).sum(), x)
    return {"all": h[:], "row": h[1], "shape": list(h.shape)}


@cases.add("hessian_sequences")
def _(paddle, draw):
    x, y = pair(paddle, draw)
    h = paddle.autograd.hessian(curve(paddle, x, y).sum(), (x, y))
    return [[part[:] for part in row] for row in h]


@cases.add("hessian_batched")
def _(paddle, draw):
    x = leaf(paddle, draw.normal(2, 3))
    return paddle.autograd.hessian((x * x * x).sum(axis=1, keepdim=True), x, batch_axis=0)[:]


cases.error(
    "jacobian_axis",
    lambda paddle: paddle.autograd.jacobian(leaf(paddle, [1.0]), leaf(paddle, [1.0]), batch_axis=1),
)
cases.error(
    "jacobian_rank",
    lambda paddle: paddle.autograd.jacobian(leaf(paddle, [[1.0]]), leaf(paddle, [1.0])),
)
cases.error(
    "hessian_of_vector",
    lambda paddle: paddle.autograd.hessian(leaf(paddle, [1.0, 2.0]), leaf(paddle, [1.0])),
)
