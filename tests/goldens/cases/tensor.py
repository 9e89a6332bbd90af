"""Tensor itself: attributes, conversion, gradients, hooks, indexing of gradients, names, errors."""

import numpy as np

from goldens.harness import Cases

cases = Cases("tensor")

PYTHON_DATA = {
    "int": 3,
    "float": 1.5,
    "bool": True,
    "complex": 1 + 2j,
    "ints": [1, 2],
    "floats": [[1.0, 2.5]],
    "mixed": [1, 2.5],
    "bools": [True, False],
    "empty": [],
    "tuple": (1.0, 2.0),
    "numpy_scalars": [np.float64(1.5), np.float64(2)],
    "float64_scalar": np.float64(1.5),
    "int32_scalar": np.int32(4),
}
for _name, _data in PYTHON_DATA.items():
    cases.add(f"to_tensor/{_name}")(lambda paddle, d, data=_data: paddle.to_tensor(data))
for _dtype in (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
):
    cases.add(f"to_tensor/array_{_dtype}")(
        lambda paddle, d, dtype=_dtype: paddle.to_tensor(np.array([[0, 1, 2]]).astype(dtype))
    )
    cases.add(f"to_tensor/as_{_dtype}")(
        lambda paddle, d, dtype=_dtype: paddle.to_tensor([0, 1, 2], dtype=dtype)
    )


@cases.add("to_tensor/from_tensors")
def _(paddle, d):
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = paddle.to_tensor(x)
    return [y, y.stop_gradient, paddle.to_tensor([x[0], x[1]])]


@cases.add("attributes")
def _(paddle, d):
    x = paddle.to_tensor(d.normal(2, 3))
    return [
        list(x.shape),
        x.ndim,
        int(x.size),
        x.dim(),
        x.is_leaf,
        x.stop_gradient,
        x.element_size(),
        list(x.strides),
        x.persistable,
    ]


@cases.add("numbers")
def _(paddle, d):
    x = paddle.to_tensor([[1.5, 2.5]])
    one = x[0, 0]
    return [
        float(one),
        int(one),
        bool(one),
        x.tolist(),
        x.item(1),
        x.item(0, 1),
        f"{one:.3f}",
        "%.2f" % one,  # noqa: UP031
        len(x),
    ]


@cases.add("numpy_is_a_copy")
def _(paddle, d):
    x = paddle.to_tensor([1.0, 2.0])
    before = x.numpy()
    x.add_(paddle.to_tensor(1.0))
    return [before, x]


@cases.add("bfloat16_as_bits")
def _(paddle, d):
    return paddle.to_tensor([1.0, -2.5, 3.25]).astype("bfloat16").numpy().astype("int64")


@cases.add("augmented_assignment_makes_a_new_tensor")
def _(paddle, d):
    x = paddle.to_tensor([1.0, 2.0])
    alias = x
    x += 1
    x *= 3
    return [x, alias]


@cases.add("views_share_memory")
def _(paddle, d):
    x = paddle.zeros([2, 2])
    x.reshape([4]).add_(paddle.to_tensor(1.0))
    x[0].add_(paddle.to_tensor(2.0))
    x.astype("float32").add_(paddle.to_tensor(4.0))
    return x


@cases.add("backward/accumulates_and_clears")
def _(paddle, d):
    x = paddle.to_tensor(d.normal(3), stop_gradient=False)
    (x * x).sum().backward()
    first = x.grad.numpy()
    (x * x).sum().backward()
    second = x.grad.numpy()
    x.clear_grad()
    zeros = x.grad.numpy()
    x.clear_gradient(False)
    return [first, second, zeros, x.grad, x.gradient()]


@cases.add("backward/non_scalar_and_grad_tensor")
def _(paddle, d):
    x = paddle.to_tensor(d.normal(2, 3), stop_gradient=False)
    (x * 3).backward()
    implicit = x.grad.numpy()
    x.clear_grad()
    (x * 3).backward(paddle.to_tensor(d.normal(2, 3)))
    return [implicit, x.grad]


@cases.add("backward/retain_graph")
def _(paddle, d):
    x = paddle.to_tensor(d.normal(3), stop_gradient=False)
    y = (x**2).sum()
    y.backward(retain_graph=True)
    y.backward()
    return x.grad


@cases.add("backward/stops_where_told")
def _(paddle, d):
    x = paddle.to_tensor(d.normal(3), stop_gradient=False)
    middle = x * 2
    middle.stop_gradient = True
    y = middle * x
    y.sum().backward()
    return [x.grad, middle.stop_gradient, y.stop_gradient]


@cases.add("backward/retain_grads_and_detach")
def _(paddle, d):
    x = paddle.to_tensor(d.normal(3), stop_gradient=False)
    h = x * 2
    h.retain_grads()
    (h * h.detach()).sum().backward()
    return [h.grad, x.grad, h.detach().stop_gradient]


@cases.add("hooks")
def _(paddle, d):
    x = paddle.to_tensor(d.normal(3), stop_gradient=False)
    h = x * 2
    handle = h.register_hook(lambda g: g * 10)
    seen = []
    h.register_hook(lambda g: seen.append(g.numpy()))
    h.sum().backward()
    with_hook = x.grad.numpy()
    removed = [handle.remove()]
    x.clear_grad()
    (x * 2).sum().backward()
    return [with_hook, seen, removed, x.grad]


@cases.add("set_value")
def _(paddle, d):
    x = paddle.to_tensor(d.normal(2, 2), stop_gradient=False)
    x.set_value(np.ones((2, 2), "float32"))
    return [x, x.stop_gradient, x.is_leaf]


@cases.add("in_place/inside_the_graph")
def _(paddle, d):
    x = paddle.to_tensor(d.normal(3), stop_gradient=False)
    y = x * 2
    y.add_(x)
    y.exp_()
    y.sum().backward()
    return [y, x.grad]


@cases.add("setitem/gradient")
def _(paddle, d):
    x = paddle.to_tensor(d.normal(3, 2), stop_gradient=False)
    v = paddle.to_tensor(d.normal(2), stop_gradient=False)
    y = x * 2
    y[1] = v
    (y * y).sum().backward()
    return [y, x.grad, v.grad]


@cases.add("free_attributes")
def _(paddle, d):
    x = paddle.nn.Linear(2, 2).weight
    x.no_sync = True
    return [x.no_sync, x.trainable, x.persistable]


cases.error("error/float_of_many", lambda paddle: float(paddle.ones([2])))
cases.error("error/bool_of_many", lambda paddle: bool(paddle.ones([2])))
cases.error("error/len_of_0d", lambda paddle: len(paddle.ones([])))
cases.error("error/item_of_many", lambda paddle: paddle.ones([2]).item())
cases.error("error/index", lambda paddle: paddle.ones([2])[5])
cases.error("error/index_type", lambda paddle: paddle.ones([2])["a"])
cases.error("error/zero_step", lambda paddle: paddle.ones([2])[::0])
cases.error("error/broadcast", lambda paddle: paddle.ones([2]) + paddle.ones([3]))
cases.error("error/list_operand", lambda paddle: paddle.ones([2]) + [1.0, 2.0])
cases.error("error/promotion", lambda paddle: paddle.ones([2], "int32") + paddle.ones([2], "int64"))
cases.error(
    "error/in_place_on_leaf", lambda paddle: paddle.nn.Linear(2, 2).weight.add_(paddle.ones([2, 2]))
)
cases.error(
    "error/set_value_shape", lambda paddle: paddle.ones([2]).set_value(np.ones(3, "float32"))
)
cases.error(
    "error/set_value_dtype", lambda paddle: paddle.ones([2]).set_value(np.ones(2, "float64"))
)
cases.error("error/hook_on_stopped", lambda paddle: paddle.ones([2]).register_hook(lambda g: g))
cases.error("error/ragged", lambda paddle: paddle.to_tensor([[1], [1, 2]]))
cases.error("error/unknown_dtype", lambda paddle: paddle.to_tensor([1], dtype="float33"))
cases.error("error/none", lambda paddle: paddle.to_tensor(None))
cases.error("error/strings", lambda paddle: paddle.to_tensor(["a"]))
