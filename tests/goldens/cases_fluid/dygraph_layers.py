"""``fluid.dygraph.nn``: layers with 1.x defaults. Sums in convolutions and normalisations are taken
in another order.
"""

import functools

import numpy as np

from goldens.fluid_runs import layer, shown
from goldens.harness import Cases

cases = Cases("fluid_layers")
case = functools.partial(layer, cases)


def image(d):
    return d.normal(2, 4, 6, 6)


case("Linear", lambda nn: nn.Linear(4, 3), lambda d: d.normal(2, 4))
case("Linear act", lambda nn: nn.Linear(4, 3, act="softmax"), lambda d: d.normal(2, 5, 4))
case(
    "Linear no bias",
    lambda nn: nn.Linear(4, 3, bias_attr=False, act="relu"),
    lambda d: d.normal(2, 4),
)
case("Conv2D", lambda nn: nn.Conv2D(4, 6, 3), image)
case(
    "Conv2D options",
    lambda nn: nn.Conv2D(4, 6, [3, 1], stride=2, padding=[1, 0], dilation=1, groups=2, act="relu"),
    image,
)
case(
    "Conv2D depthwise",
    lambda nn: nn.Conv2D(4, 4, 3, groups=4, use_cudnn=False, bias_attr=False),
    image,
)
case(
    "Conv2DTranspose",
    lambda nn: nn.Conv2DTranspose(4, 6, 3, stride=2, padding=1, act="tanh"),
    image,
)
case(
    "Conv2DTranspose size",
    lambda nn: nn.Conv2DTranspose(4, 2, 3, output_size=[12, 12], stride=2, padding=1),
    image,
)
case("Pool2D max", lambda nn: nn.Pool2D(2, "max", 2), lambda d: d.distinct(2, 4, 6, 6))
case("Pool2D stride 1", lambda nn: nn.Pool2D(3), lambda d: d.distinct(2, 4, 6, 6))
case("Pool2D avg", lambda nn: nn.Pool2D(3, "avg", 2, 1), image)
case("Pool2D global", lambda nn: nn.Pool2D(pool_type="avg", global_pooling=True), image)
case("BatchNorm", lambda nn: nn.BatchNorm(4), image)
case(
    "BatchNorm act",
    lambda nn: nn.BatchNorm(4, act="relu", momentum=0.7, epsilon=1e-3),
    lambda d: d.normal(5, 4),
)
case("BatchNorm eval", lambda nn: nn.BatchNorm(4), image, evaluate=True)
case("Embedding", lambda nn: nn.Embedding([7, 3]), lambda d: d.integers(2, 4, high=7))
case(
    "Embedding sparse",
    lambda nn: nn.Embedding([7, 3], is_sparse=True),
    lambda d: d.integers(2, 4, high=7),
)
case(
    "Embedding padding",
    lambda nn: nn.Embedding([7, 3], padding_idx=-2),
    lambda d: d.integers(3, 4, high=7),
)
case("LayerNorm", lambda nn: nn.LayerNorm([6, 6]), image)
case(
    "LayerNorm plain",
    lambda nn: nn.LayerNorm(6, scale=False, shift=False, epsilon=1e-3, act="relu"),
    image,
)
# Paddle 1.8 passes nothing back through the second and third output.
case(
    "GRUUnit",
    lambda nn: nn.GRUUnit(15),
    lambda d: (d.normal(2, 15), d.normal(2, 5)),
    num_differentiable=1,
)
case(
    "GRUUnit relu",
    lambda nn: nn.GRUUnit(15, activation="relu", gate_activation="tanh"),
    lambda d: (d.normal(2, 15), d.normal(2, 5)),
    num_differentiable=1,
)
case("Dropout eval", lambda nn: nn.Dropout(0.25), image, evaluate=True)
case(
    "Dropout upscale eval",
    lambda nn: nn.Dropout(0.25, dropout_implementation="upscale_in_train"),
    image,
    evaluate=True,
)
case("PRelu all", lambda nn: nn.PRelu("all"), image)
case("PRelu channel", lambda nn: nn.PRelu("channel", channel=4), image)
case("PRelu element", lambda nn: nn.PRelu("element", input_shape=[2, 4, 6, 6]), image)
case(
    "Sequential",
    lambda nn: nn.Sequential(nn.Linear(4, 3, act="tanh"), ("last", nn.Linear(3, 2))[1]),
    lambda d: d.normal(2, 4),
)


@cases.add("dropout function")
def _(fluid, draw):
    ones = fluid.dygraph.to_variable(np.ones([2, 3], "float32"))
    model = fluid.dygraph.Linear(3, 2)
    model.eval()
    downgraded = fluid.layers.dropout(ones, 0.25)
    model.train()
    with fluid.dygraph.no_grad():
        quiet = fluid.layers.dropout(ones, 0.25)
    return {"eval": shown(downgraded), "no_grad": shown(quiet)}


@cases.add("names")
def _(fluid, draw):
    class Net(fluid.dygraph.Layer):
        def __init__(self, name_scope):
            super().__init__(name_scope)
            self.norm = fluid.dygraph.BatchNorm(2)
            self.parts = fluid.dygraph.LayerList([fluid.dygraph.Linear(2, 2) for _ in range(2)])
            self.free = self.create_parameter([2], is_bias=True)
            self.listed = fluid.dygraph.ParameterList([self.create_parameter([1])])

    net = Net("net")
    named = fluid.dygraph.Linear(
        2, 2, param_attr=fluid.ParamAttr(name="w", learning_rate=0.5), bias_attr="b"
    )
    return {
        "keys": list(net.state_dict()),
        "names": [p.name for p in net.parameters()],
        "full name": net.full_name(),
        "sublayers": [n for n, _ in net.named_sublayers()],
        "own names": [p.name for p in named.parameters()],
        "trainable": [str(p.trainable) for p in net.parameters()],
    }


cases.error("Pool2D without size", lambda fluid: fluid.dygraph.Pool2D())
cases.error("Pool2D type", lambda fluid: fluid.dygraph.Pool2D(2, "median"))
cases.error("Conv2D groups", lambda fluid: fluid.dygraph.Conv2D(3, 4, 3, groups=2))
cases.error("Conv2D attr", lambda fluid: fluid.dygraph.Conv2D(3, 4, 3, param_attr=False))
cases.error("PRelu mode", lambda fluid: fluid.dygraph.PRelu("some"))
cases.error(
    "set_dict missing",
    lambda fluid: fluid.dygraph.Linear(2, 2).set_dict({"weight": np.zeros([2, 2], "float32")}),
)
cases.error("to_variable of a string", lambda fluid: fluid.dygraph.to_variable("text"))
