"""Programs of 1.x with ``While``, ``Switch``, arrays and ``StaticRNN``, compared with real Paddle
1.8.5.

Each function builds a program from its ``fluid`` and returns the variables to fetch and the list of
feeds to run it with.
"""

import numpy as np

CASES = {}


def case(build):
    CASES[build.__name__] = build
    return build


def _row(*values):
    return np.array(values, "float32")


@case
def loop(fluid):
    layers = fluid.layers
    i, n = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", 10)
    total = layers.fill_constant([2], "float32", 0.0)
    cond = layers.less_than(i, n)
    while_op = layers.While(cond)
    with while_op.block():
        layers.assign(total + 1.5, total)
        layers.increment(i)
        layers.less_than(i, n, cond=cond)
    return [i, total], [{}]


@case
def arrays_in_a_loop(fluid):
    layers = fluid.layers
    i, n = layers.fill_constant([1], "int64", 0), layers.fill_constant([1], "int64", 4)
    x = fluid.data("x", [2], "float32")
    x.stop_gradient = False
    array = layers.array_write(x, i)
    cond = layers.less_than(i, n)
    with layers.While(cond).block():
        product = layers.array_read(array, i) * x
        layers.increment(i)
        layers.array_write(product, i, array=array)
        layers.less_than(i, n, cond=cond)
    last = layers.array_read(array, n)
    grads = fluid.gradients([layers.reduce_sum(last)], [x])
    return [layers.array_length(array), last] + grads, [{"x": _row(2, 0.5)}]


@case
def switch(fluid):
    layers = fluid.layers
    step = fluid.data("step", [1], "float32")
    rate = layers.create_global_var([1], 0.0, "float32", persistable=True)
    one, two = layers.fill_constant([1], "float32", 1.0), layers.fill_constant([1], "float32", 2.0)
    with layers.Switch() as chosen:
        with chosen.case(layers.less_than(step, one)):
            layers.assign(one, rate)
        with chosen.case(layers.less_than(step, two)):
            layers.assign(two, rate)
        with chosen.default():
            layers.assign(step * 10.0, rate)
    return [rate, rate + 1.0], [{"step": _row(value)} for value in (0.5, 1.5, 2.5)]


@case
def switch_without_default(fluid):
    layers = fluid.layers
    step = fluid.data("step", [1], "float32")
    rate = layers.create_global_var([1], 5.0, "float32", persistable=True)
    one = layers.fill_constant([1], "float32", 1.0)
    with layers.Switch() as chosen, chosen.case(layers.less_than(step, one)):
        layers.assign(one, rate)
    return [rate], [{"step": _row(value)} for value in (1.5, 0.5, 2.5)]


@case
def static_rnn(fluid):
    layers = fluid.layers
    x = fluid.data("x", [3, 2, 4], "float32")
    x.stop_gradient = False
    weights = [
        fluid.ParamAttr(initializer=fluid.initializer.Constant(value)) for value in (0.1, 0.2)
    ]
    rnn = layers.StaticRNN()
    with rnn.step():
        word = rnn.step_input(x)
        before = rnn.memory(shape=[-1, 5], batch_ref=word)
        hidden = layers.fc([word, before], 5, act="tanh", param_attr=weights, bias_attr=False)
        rnn.update_memory(before, hidden)
        rnn.step_output(hidden)
        rnn.step_output(word)
    states, words = rnn()
    loss = layers.mean(states)
    grads = sorted(fluid.backward.append_backward(loss), key=lambda pair: pair[0].name)
    return [states, words, loss] + [g for _, g in grads], [
        {"x": np.arange(24, dtype="float32").reshape(3, 2, 4) / 10}
    ]


@case
def branches(fluid):
    layers = fluid.layers
    x = fluid.data("x", [2], "float32")
    x.stop_gradient = False
    zero = layers.fill_constant([1], "float32", 0.0)
    out = layers.cond(layers.reduce_sum(x) > zero, lambda: x * 2.0, lambda: x * x)
    return [out] + fluid.gradients([out], [x]), [{"x": _row(2, 0.5)}, {"x": _row(-2, 0.5)}]


def run(fluid, name):
    """What a case fetches, run by run."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        fetches, feeds = CASES[name](fluid)
    exe = fluid.Executor(fluid.CPUPlace())
    with fluid.scope_guard(fluid.Scope() if hasattr(fluid, "Scope") else fluid.core.Scope()):
        exe.run(startup)
        return [
            [np.asarray(v) for v in exe.run(main, feed=feed, fetch_list=fetches)] for feed in feeds
        ]
