"""Models that are saved and run by a predictor: from one text by real Paddle and by argosy."""

from __future__ import annotations

import os

import numpy as np


def fill(net):
    """Give every parameter and buffer values that follow from its place and shape."""
    for number, (name, value) in enumerate(net.state_dict().items()):
        rng = np.random.RandomState(100 + number)
        low = 0.5 if "variance" in name else -0.5
        value.set_value(rng.uniform(low, 1.0, value.shape).astype("float32"))
    net.eval()
    return net


def _mlp(paddle):
    class Net(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.first = paddle.nn.Linear(4, 8)
            self.second = paddle.nn.Linear(8, 2)

        def forward(self, x, y):
            hidden = paddle.nn.functional.relu(self.first(x) + y)
            return self.second(hidden), hidden

    return Net(), {"x": ([-1, 4], "float32"), "y": ([-1, 8], "float32")}


def _convolution(paddle):
    nn = paddle.nn
    layers = [nn.Conv2D(3, 4, 3, padding=1), nn.BatchNorm2D(4), nn.ReLU(), nn.MaxPool2D(2)]
    layers += [nn.Flatten(), nn.Linear(4 * 3 * 3, 5), nn.Dropout(0.5), nn.Softmax()]
    return nn.Sequential(*layers), {"image": ([-1, 3, 6, 6], "float32")}


def _embedding(paddle):
    class Net(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.table = paddle.nn.Embedding(10, 6)
            self.out = paddle.nn.Linear(6, 3)

        def forward(self, ids):
            return paddle.argmax(self.out(self.table(ids).mean(axis=1)), axis=-1), self.table(ids)

    return Net(), {"ids": ([-1, 4], "int64")}


MODELS = {"mlp": _mlp, "convolution": _convolution, "embedding": _embedding}
ROWS = (3, 1)


def feeds(inputs, rows):
    """What the inputs are fed, for a batch of ``rows``."""
    rng = np.random.RandomState(rows)
    shapes = {name: [rows, *shape[1:]] for name, (shape, _) in inputs.items()}
    return {
        name: rng.randint(0, 10, shapes[name]).astype(dtype)
        if dtype == "int64"
        else rng.randn(*shapes[name]).astype(dtype)
        for name, (_, dtype) in inputs.items()
    }


def saved(paddle, name, folder):
    """Save the model ``name``; returns its files and inputs."""
    net, inputs = MODELS[name](paddle)
    spec = [
        paddle.static.InputSpec([None, *shape[1:]], dtype, key)
        for key, (shape, dtype) in inputs.items()
    ]
    prefix = os.path.join(folder, name)
    paddle.jit.save(fill(net), prefix, input_spec=spec)
    model = f"{prefix}.pdmodel"
    return (model if os.path.exists(model) else f"{prefix}.json", f"{prefix}.pdiparams"), inputs


def run(paddle, name, folder):
    """The outputs of a predictor for each batch, in order."""
    (model, params), inputs = saved(paddle, name, folder)
    config = paddle.inference.Config(model, params)
    config.disable_glog_info()
    predictor = paddle.inference.create_predictor(config)
    assert predictor.get_input_names() == list(inputs)
    found = []
    for rows in ROWS:
        for key, value in feeds(inputs, rows).items():
            handle = predictor.get_input_handle(key)
            handle.reshape(value.shape)
            handle.copy_from_cpu(value)
        predictor.run()
        for key in predictor.get_output_names():
            found.append(predictor.get_output_handle(key).copy_to_cpu())
    return found
