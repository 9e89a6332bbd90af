"""Layer: names, state dicts, walking, hooks, modes, errors."""

import numpy as np

from goldens.harness import Cases

cases = Cases("layer")


def _model(paddle):
    nn = paddle.nn

    class Block(nn.Layer):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 4)
            self.scale = self.create_parameter(
                [4], default_initializer=nn.initializer.Constant(2.0)
            )
            self.register_buffer("steps", paddle.zeros([1]))
            self.register_buffer("scratch", paddle.zeros([2]), persistable=False)

        def forward(self, x):
            return self.fc(x) * self.scale

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.a = Block()
            self.b = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
            self.shared = self.b[0]

        def forward(self, x):
            return self.shared(self.b(self.a(x)))

    with paddle.utils.unique_name.guard():
        return Net()


@cases.add("names")
def _(paddle, d):
    net = _model(paddle)
    return {
        "state": list(net.state_dict()),
        "static_state": list(net.to_static_state_dict()),
        "parameters": [n for n, _ in net.named_parameters()],
        "own_parameters": [n for n, _ in net.a.named_parameters(include_sublayers=False)],
        "prefix": [n for n, _ in net.named_parameters(prefix="x")],
        "variables": [p.name for p in net.parameters()],
        "sublayers": [n for n, _ in net.named_sublayers()],
        "with_self": [n for n, _ in net.named_sublayers(include_self=True)],
        "children": [n for n, _ in net.named_children()],
        "buffers": [n for n, _ in net.named_buffers()],
        "full": [layer.full_name() for layer in net.sublayers(include_self=True)],
        "counts": [len(net.parameters()), len(net.sublayers()), len(net.buffers())],
    }


@cases.add("repr")
def _(paddle, d):
    return repr(_model(paddle))


@cases.add("set_state_dict")
def _(paddle, d):
    net = _model(paddle)
    state = {k: d.normal(*v.shape) for k, v in net.state_dict().items()}
    state["stranger"] = np.ones(1, "float32")
    state["a.scale"] = np.ones(7, "float32")
    del state["a.fc.bias"]
    missing, unexpected = net.set_state_dict(state)
    return [missing, sorted(unexpected), net.a.fc.weight, net.a.scale]


@cases.add("set_state_dict/by_variable_name")
def _(paddle, d):
    with paddle.utils.unique_name.guard():
        layer = paddle.nn.Linear(2, 2)
    layer.set_state_dict(
        {"linear_0.w_0": d.normal(2, 2), "linear_0.b_0": d.normal(2)}, use_structured_name=False
    )
    return [layer.weight, layer.bias]


@cases.add("forward_and_gradients")
def _(paddle, d):
    net = _model(paddle)
    net.set_state_dict({k: d.normal(*v.shape) for k, v in net.state_dict().items()})
    y = net(paddle.to_tensor(d.normal(2, 3)))
    y.sum().backward()
    return [y, [p.grad for p in net.parameters()]]


@cases.add("hooks")
def _(paddle, d):
    layer = paddle.nn.Linear(2, 2)
    layer.set_state_dict({"weight": d.normal(2, 2), "bias": d.normal(2)})
    x = paddle.to_tensor(d.normal(1, 2))
    pre = layer.register_forward_pre_hook(lambda layer, inputs: (inputs[0] * 2,))
    post = layer.register_forward_post_hook(lambda layer, inputs, out: out + 1)
    both = layer(x)
    pre.remove()
    only_post = layer(x)
    post.remove()
    return [both, only_post, layer(x)]


@cases.add("modes")
def _(paddle, d):
    net = _model(paddle)
    net.eval()
    off = [layer.training for layer in net.sublayers(include_self=True)]
    net.a.train()
    return [off, [layer.training for layer in net.sublayers(include_self=True)]]


@cases.add("apply_order")
def _(paddle, d):
    seen = []
    _model(paddle).apply(lambda layer: seen.append(type(layer).__name__))
    return seen


@cases.add("to_dtype")
def _(paddle, d):
    net = _model(paddle)
    net.to(dtype="float64")
    return [str(p.dtype) for p in net.parameters()] + [str(b.dtype) for b in net.buffers()]


@cases.add("clear_gradients")
def _(paddle, d):
    layer = paddle.nn.Linear(2, 2)
    layer(paddle.ones([1, 2])).sum().backward()
    layer.clear_gradients()
    return [layer.weight.grad, layer.bias.grad]


@cases.add("param_attr")
def _(paddle, d):
    attr = paddle.ParamAttr(
        name="my_weight",
        initializer=paddle.nn.initializer.Constant(0.5),
        learning_rate=0.1,
        trainable=False,
    )
    layer = paddle.nn.Linear(2, 3, weight_attr=attr, bias_attr=False)
    return [
        layer.weight,
        layer.weight.name,
        layer.weight.trainable,
        layer.weight.optimize_attr["learning_rate"],
        layer.bias,
    ]


@cases.add("attributes")
def _(paddle, d):
    layer = paddle.nn.Layer()
    layer.plain = 3
    layer.weight = paddle.create_parameter(
        [2], "float32", default_initializer=paddle.nn.initializer.Constant(1.0)
    )
    layer.extra = paddle.ones([2])
    layer.child = paddle.nn.ReLU()
    layer.weight = None
    return [
        layer.weight,
        layer.plain,
        sorted(layer._buffers),
        sorted(layer._sub_layers),
        sorted(layer.state_dict()),
    ]


@cases.add("get_and_set_sublayer")
def _(paddle, d):
    net = _model(paddle)
    net.set_sublayer("a.fc", paddle.nn.Linear(3, 4, bias_attr=False))
    return [type(net.get_sublayer("b.1")).__name__, list(net.state_dict())]


cases.error("error/missing_attribute", lambda paddle: paddle.nn.Linear(2, 2).wieght)
cases.error(
    "error/parameter_replaced_by_number",
    lambda paddle: setattr(paddle.nn.Linear(2, 2), "weight", 1.0),
)
cases.error("error/buffer_not_tensor", lambda paddle: paddle.nn.Layer().register_buffer("b", 1.0))
cases.error(
    "error/buffer_dotted_name",
    lambda paddle: paddle.nn.Layer().register_buffer("a.b", paddle.ones([1])),
)
cases.error("error/add_parameter_type", lambda paddle: paddle.nn.Layer().add_parameter("w", 3))
cases.error(
    "error/parameter_exists", lambda paddle: paddle.nn.Linear(2, 2).add_parameter("training", None)
)
cases.error("error/strict_loading", lambda paddle: paddle.nn.Linear(2, 2).load_state_dict({}))
cases.error("error/no_forward", lambda paddle: paddle.nn.Layer()(1))
cases.error("error/wrong_input_width", lambda paddle: paddle.nn.Linear(2, 2)(paddle.ones([1, 3])))
