"""Programs with branches, loops and Python functions whose values and gradients are compared with
real Paddle's.

Each function builds a program in the current guard from its ``paddle`` and returns the variables to
fetch and the list of feeds to run it with.
"""

from __future__ import annotations

import numpy as np

CASES = {}


def case(build):
    CASES[build.__name__] = build
    return build


def _data(paddle, name, shape, dtype="float32"):
    x = paddle.static.data(name, shape, dtype)
    x.stop_gradient = False
    return x


def _values(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape).astype("float32")


def _attr(paddle, *shape, seed=0):
    return paddle.ParamAttr(
        initializer=paddle.nn.initializer.Assign(_values(*shape, seed=seed) * 0.5)
    )


def _fc(paddle, x, size, seed, activation=None):
    return paddle.static.nn.fc(
        x, size, weight_attr=_attr(paddle, x.shape[-1], size, seed=seed),
        bias_attr=_attr(paddle, size, seed=seed + 1),
        activation=activation,
    )  # fmt: skip


def _grads(paddle, out, inputs):
    return paddle.static.gradients([paddle.sum(out * out)], inputs)


@case
def cond_of_elements(paddle):
    x, y = _data(paddle, "x", [2, 3]), _data(paddle, "y", [2, 3])
    out = paddle.static.nn.cond(paddle.mean(x) > 0, lambda: x * x + y, lambda: paddle.sin(x) * y)
    value = _values(2, 3)
    feeds = [{"x": sign * np.abs(value), "y": value + 1} for sign in (1, -1)]
    return [out, *_grads(paddle, out, [x, y])], feeds


@case
def cond_of_structures(paddle):
    x = _data(paddle, "x", [2, 3])
    first, rest = paddle.static.nn.cond(
        x[0, 0] > 0,
        lambda: (x * 2, {"a": x + 1, "b": [x.sum()]}),
        lambda: (x * 3, {"a": x - 1, "b": [x.mean()]}),
    )
    total = first.sum() * rest["b"][0] + rest["a"].sum()
    feeds = [{"x": np.abs(_values(2, 3))}, {"x": -np.abs(_values(2, 3))}]
    return [first, rest["a"], rest["b"][0], *paddle.static.gradients([total], [x])], feeds


@case
def nested_cond(paddle):
    x = _data(paddle, "x", [1])
    cond = paddle.static.nn.cond

    def positive():
        doubled = x * 2
        return cond(doubled > 4, lambda: doubled * x, lambda: doubled + x)

    out = cond(x > 0, positive, lambda: cond(x < -2, lambda: paddle.exp(x), lambda: x * x * x))
    feeds = [{"x": np.array([value], "float32")} for value in (3.0, 1.0, -3.0, -1.0)]
    return [out, *_grads(paddle, out, [x])], feeds


@case
def cond_of_shapes(paddle):
    x = _data(paddle, "x", [None, 4])
    out = paddle.static.nn.cond(x.sum() > 0, lambda: x[:1] * 2, lambda: x)
    feeds = [{"x": np.abs(_values(3, 4))}, {"x": -np.abs(_values(3, 4))}]
    return [out, paddle.cast(paddle.shape(out), "int64"), *_grads(paddle, out, [x])], feeds


@case
def cond_that_assigns(paddle):
    x = paddle.static.data("x", [2], "float32")
    kept = paddle.zeros([2])

    def keep():
        paddle.assign(x + 1, kept)

    paddle.static.nn.cond(x.sum() > 0, keep)
    return [kept * 2], [{"x": np.array([1, 2], "float32")}, {"x": np.array([-1, -2], "float32")}]


@case
def case_of_three(paddle):
    x = _data(paddle, "x", [1])
    pairs = [(x < 1, lambda: x * 2), (x < 2, lambda: x * x), (x < 3, lambda: paddle.tanh(x))]
    out = paddle.static.nn.case(pairs, default=lambda: x - 5)
    last = paddle.static.nn.case(pairs)
    feeds = [{"x": np.array([value], "float32")} for value in (0.5, 1.5, 2.5, 3.5)]
    return [out, last, *_grads(paddle, out + last, [x])], feeds


@case
def switch_of_three(paddle):
    x, index = _data(paddle, "x", [2]), paddle.static.data("index", [1], "int32")
    functions = {1: lambda: x * 2, 4: lambda: x * x, 7: lambda: paddle.exp(x)}
    out = paddle.static.nn.switch_case(index, functions, default=lambda: -x)
    last = paddle.static.nn.switch_case(index, list(functions.items()))
    feeds = [{"x": _values(2), "index": np.array([n], "int32")} for n in (1, 4, 7, 5, -1)]
    return [out, last, *_grads(paddle, out + last, [x])], feeds


@case
def loop_of_powers(paddle):
    x, count = _data(paddle, "x", [3]), paddle.static.data("count", [1], "int64")
    i = paddle.zeros([1], "int64")
    start = paddle.ones([3])
    start.stop_gradient = False
    _, out = paddle.static.nn.while_loop(
        lambda i, y: i < count, lambda i, y: [i + 1, y * x], [i, start]
    )
    feeds = [{"x": _values(3), "count": np.array([n], "int64")} for n in (0, 1, 4)]
    return [out, *_grads(paddle, out, [x])], feeds[1:]


@case
def loop_of_nested_variables(paddle):
    x = _data(paddle, "x", [2, 2])
    state = {"a": x * 1.0, "b": [x * 2.0, (x + 1.0,)]}

    def body(i, state):
        a, (b, (c,)) = state["a"], state["b"]
        return [i + 1, {"a": a * 0.5 + b, "b": [paddle.tanh(b * c), (c + a,)]}]

    i, state = paddle.static.nn.while_loop(
        lambda i, state: i < 3, body, [paddle.zeros([1], "int64"), state]
    )
    outs = [state["a"], state["b"][0], state["b"][1][0]]
    return [i, *outs, *_grads(paddle, outs[0] * outs[1] + outs[2], [x])], [{"x": _values(2, 2)}]


@case
def loop_with_weights(paddle):
    x = _data(paddle, "x", [None, 3])
    i = paddle.zeros([1], "int64")

    def body(i, hidden):
        return [i + 1, paddle.tanh(_fc(paddle, hidden, 3, 4) + x)]

    _, out = paddle.static.nn.while_loop(lambda i, hidden: i < 3, body, [i, x * 1.0])
    loss = paddle.mean(out)
    grads = paddle.static.append_backward(loss)
    return [out, loss, *[grad for _, grad in sorted(grads, key=lambda pair: pair[0].name)]], [
        {"x": _values(2, 3)}
    ]


@case
def cond_in_a_loop(paddle):
    x = _data(paddle, "x", [2])
    i = paddle.zeros([1], "int64")

    def body(i, y):
        return [i + 1, paddle.static.nn.cond(i % 2 == 0, lambda: y * x, lambda: y + x)]

    _, out = paddle.static.nn.while_loop(lambda i, y: i < 5, body, [i, x * 1.0])
    return [out], [{"x": _values(2)}]  # its gradient is wrong in Paddle 2.6


@case
def loop_in_a_cond(paddle):
    x = _data(paddle, "x", [2])

    def powers():
        i = paddle.zeros([1], "int64")
        return paddle.static.nn.while_loop(
            lambda i, y: i < 2, lambda i, y: [i + 1, y * x], [i, x * 1.0]
        )[1]

    out = paddle.static.nn.cond(x.sum() > 0, powers, lambda: x * 3)
    return [out, *_grads(paddle, out, [x])], [{"x": np.abs(_values(2))}, {"x": -np.abs(_values(2))}]


@case
def training_of_branches(paddle):
    x, y = paddle.static.data("x", [None, 4]), paddle.static.data("y", [None, 1])
    flag = paddle.static.data("flag", [1], "bool")
    hidden = _fc(paddle, x, 5, 1, "tanh")
    out = paddle.static.nn.cond(
        flag, lambda: _fc(paddle, hidden, 1, 3), lambda: _fc(paddle, hidden, 1, 5) * 2
    )
    loss = paddle.mean((out - y) ** 2)
    paddle.optimizer.Momentum(0.1, 0.9).minimize(loss)
    feeds = [
        {"x": _values(6, 4, seed=n), "y": _values(6, 1, seed=n + 50), "flag": np.array([n % 3 > 0])}
        for n in range(8)
    ]
    return [loss], feeds


@case
def training_in_branches(paddle):
    x, index = paddle.static.data("x", [None, 4]), paddle.static.data("index", [1], "int64")

    def task(seed, optimizer):
        def function():
            loss = paddle.mean(_fc(paddle, x, 2, seed) ** 2)
            optimizer.minimize(loss)
            return loss

        return function

    tasks = [task(1, paddle.optimizer.SGD(0.1)), task(3, paddle.optimizer.Adam(0.05))]
    loss = paddle.static.nn.switch_case(index, tasks)
    return [loss], [
        {"x": _values(5, 4, seed=n), "index": np.array([n % 2], "int64")} for n in range(8)
    ]


@case
def python_function(paddle):
    x = _data(paddle, "x", [None, 3])
    block = paddle.static.default_main_program().current_block()
    y = block.create_var(name="y", dtype="float32", shape=[-1, 3])

    def backward(y, dy):
        return np.array(dy) * (1 - np.square(np.array(y)))

    doubled = x * 2
    paddle.static.py_func(
        lambda x: np.tanh(np.array(x)), doubled, y, backward, skip_vars_in_backward_input=doubled
    )
    return [y, *_grads(paddle, y, [x])], [{"x": _values(2, 3)}]


@case
def python_function_of_two(paddle):
    a, b = _data(paddle, "a", [2, 3]), _data(paddle, "b", [2, 3])
    block = paddle.static.default_main_program().current_block()
    total = block.create_var(name="total", dtype="float32", shape=[2, 3])
    product = block.create_var(name="product", dtype="float32", shape=[2, 3])

    def forward(a, b):
        return np.array(a) + np.array(b), np.array(a) * np.array(b)

    def backward(a, b, total, product, dtotal, dproduct):
        a, b, dtotal, dproduct = (np.array(v) for v in (a, b, dtotal, dproduct))
        return dtotal + dproduct * b, dtotal + dproduct * a

    paddle.static.nn.py_func(forward, [a, b], [total, product], backward)
    out = paddle.sin(total) * product
    return [total, product, *_grads(paddle, out, [a, b])], [
        {"a": _values(2, 3), "b": _values(2, 3, seed=1)}
    ]


def run(paddle, name):
    """What a case fetches, run by run."""
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
        fetches, feeds = CASES[name](paddle)
    exe = paddle.static.Executor(paddle.CPUPlace())
    exe.run(startup)
    return [[np.asarray(v) for v in exe.run(main, feed=feed, fetch_list=fetches)] for feed in feeds]
