"""How golden cases of ``paddle.fluid`` run: functions, layers and training steps. Works on Python
3.7, which Paddle 1.8.5 needs.
"""

import numpy as np


def shown(value):
    """A result as plain arrays with the names of their dtypes."""
    if isinstance(value, (list, tuple)):
        return [shown(v) for v in value]
    array = value.numpy() if hasattr(value, "stop_gradient") else np.asarray(value)
    return {"dtype": str(array.dtype), "value": array}


def _variables(value):
    return (
        [v for item in value for v in _variables(item)]
        if isinstance(value, (list, tuple))
        else [value]
    )


def _backward(fluid, outputs):
    """Start backward from a weighted sum of the floating outputs."""
    rng = np.random.RandomState(7)
    total = None
    for out in _variables(outputs):
        array = out.numpy()
        weight = rng.uniform(0.5, 1.5, array.shape).astype(array.dtype)
        if array.dtype.kind == "f" and not out.stop_gradient:
            term = fluid.layers.reduce_sum(out * fluid.dygraph.to_variable(weight))
            total = term if total is None else total + term
    if total is not None:
        total.backward()


def _inputs(fluid, arrays, grad):
    def one(value):
        if isinstance(value, list):
            return [one(v) for v in value]
        if not isinstance(value, np.ndarray):
            return value
        variable = fluid.dygraph.to_variable(value)
        variable.stop_gradient = not (grad and value.dtype.kind == "f")
        return variable

    return [one(a) for a in (arrays if isinstance(arrays, tuple) else (arrays,))]


def function(cases, name, fn, inputs, grad=True, rtol=1e-6):
    """Compare ``fn(fluid.layers, *inputs)`` and the gradients of its floating inputs."""

    def run(fluid, draw):
        variables = _inputs(fluid, inputs(draw), grad)
        out = fn(fluid.layers, *variables)
        result = {"out": shown(out)}
        if grad:
            _backward(fluid, out)
            leaves = [
                v
                for v in _variables(variables)
                if hasattr(v, "stop_gradient") and not v.stop_gradient
            ]
            result["grad"] = [leaf.gradient() for leaf in leaves]
        return result

    cases.add(name, rtol=rtol)(run)


def fill(layer, draw):
    """Give the trainable parameters values that both sides know; returns them by name."""
    named = [(n, p) for n, p in layer.named_parameters() if not p.stop_gradient]
    for _, param in named:
        param.set_value(draw.normal(*param.shape) * np.float32(0.5))
    return named


def layer(cases, name, make, inputs, rtol=1e-5, evaluate=False, num_differentiable=None):
    """Compare a layer with known parameters: outputs, gradients of the first ones, names, and its
    state afterwards.
    """

    def run(fluid, draw):
        built = make(fluid.dygraph)
        variables = _inputs(fluid, inputs(draw), True)
        built(*variables)  # some layers make their parameters now
        named = fill(built, draw)
        if evaluate:
            built.eval()
        out = built(*variables)
        result = {
            "out": shown(out),
            "names": {n: p.name for n, p in named},
            "full_name": built.full_name(),
        }
        if not evaluate:
            _backward(fluid, _variables(out)[:num_differentiable])
            result["grad"] = {n: _dense(p) for n, p in named}
            result["input grad"] = [v.gradient() for v in variables if not v.stop_gradient]
        result["state"] = {key: shown(value) for key, value in built.state_dict().items()}
        return result

    cases.add(name, rtol=rtol)(run)


def _dense(param):
    grad = param.gradient()
    if not isinstance(grad, tuple):
        return grad
    dense = np.zeros(param.shape, grad[0].dtype)
    np.add.at(dense, grad[1], grad[0])
    return dense


def training(cases, name, make_optimizer, steps=4, sparse=False, rtol=1e-5):
    """Compare some steps of a small model: losses, rates, parameters, accumulators."""

    def run(fluid, draw):
        model = fluid.dygraph.Sequential(
            ("table", fluid.dygraph.Embedding([6, 3], is_sparse=sparse)),
            ("hidden", fluid.dygraph.Linear(3, 4, act="tanh")),
            ("out", fluid.dygraph.Linear(4, 2)),
        )
        fill(model, draw)
        optimizer = make_optimizer(fluid, model.parameters())
        losses, rates = [], []
        for _ in range(steps):
            ids = fluid.dygraph.to_variable(draw.integers(5, high=5))
            target = fluid.dygraph.to_variable(draw.normal(5, 2))
            loss = fluid.layers.mean(fluid.layers.square_error_cost(model(ids), target))
            loss.backward()
            optimizer.minimize(loss)
            model.clear_gradients()
            losses.append(shown(loss))
            rates.append(float(optimizer.current_step_lr()))
        state = {
            key: value for key, value in optimizer.state_dict().items() if key != "LR_Scheduler"
        }
        return {
            "losses": losses,
            "rates": np.asarray(rates),
            "parameters": {n: shown(p) for n, p in model.named_parameters()},
            "state": {key: shown(value) for key, value in state.items()},
        }

    cases.add(name, rtol=rtol)(run)
