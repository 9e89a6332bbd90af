"""The nets that files are exchanged of: by name, what builds them, under real Paddle as under
argosy. They run under Python 3.7 too, which Paddle 1.8.5 needs.

A layer comes with examples of its inputs. A network of 1.x is a function that records it and
returns what is fed and what is fetched (``goldens/model_networks.py``).
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "goldens"))

import model_networks
import vision_models

FLUID = list(model_networks.FLUID)
SMALL = ["perceptron", "pictures", "words", "recurrent", "attention", "shapes", "branches"]
OTHERS = ["lstm", "transformer", "clicks_wide_deep"]
VISION = {}
for _name, _options, _shape in vision_models.RUNS:
    if _options.get("num_classes", 10) and _name in vision_models.NETS and _name not in VISION:
        VISION[_name] = (_options, _shape)
for _name in vision_models.VGGS:  # the heads of these take 224 pixels
    VISION.setdefault(_name, ({"num_classes": 10}, (1, 3, 224, 224)))
LAYERS = [*SMALL, *OTHERS, *VISION]


def layer(paddle, name):
    """A layer of ``LAYERS``, the shapes and dtypes of its inputs, and examples of them."""
    if name in SMALL:
        return model_networks.layers(paddle)[name]
    if name in OTHERS:
        return _other(paddle, name)
    options, shape = VISION[name]
    net = getattr(paddle.vision.models, name)(**options)
    image = np.random.RandomState(3).uniform(0.0, 1.0, shape).astype("float32")
    return net, [([None, *shape[1:]], "float32")], [image]


def _other(paddle, name):
    nn, rng = paddle.nn, np.random.RandomState(5)
    words = rng.randint(0, 50, (3, 7)).astype("int64")
    if name == "clicks_wide_deep":
        dense = rng.uniform(0.0, 1.0, (3, 5)).astype("float32")
        specs = [([None, 7], "int64"), ([None, 5], "float32")]
        return _wide_deep(paddle), specs, [words, dense]
    inner = {
        "lstm": lambda: nn.LSTM(8, 6, num_layers=2),
        "transformer": lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, normalize_before=True), 2
        ),
    }[name]()

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.table, self.inner = nn.Embedding(50, 8), inner

        def forward(self, ids):
            return self.inner(self.table(ids))

    return Net(), [([None, 7], "int64")], [words]


def _wide_deep(paddle):
    nn = paddle.nn

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.wide, self.deep = nn.Embedding(50, 1), nn.Embedding(50, 4)
            self.tower = nn.Sequential(nn.Linear(33, 16), nn.ReLU(), nn.Linear(16, 1))
            self.chance = nn.Sigmoid()

        def forward(self, ids, dense):
            rows = paddle.concat([paddle.flatten(self.deep(ids), 1), dense], axis=1)
            return self.chance(self.tower(rows) + self.wide(ids).sum(axis=1))

    return Net()
