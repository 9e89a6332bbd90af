"""Small networks whose files are read from real Paddle and written for it; they run under Paddle
2.6.2 and 1.8.5 as under argosy.

A network of ``LAYERS`` is a Layer with the specs of its inputs and examples of them; one of
``FLUID`` is a function that records it and returns what is fed, and what is fetched. Sequences are
(rows, lengths).
"""

import numpy as np


def _rows(*shape):
    return (np.arange(np.prod(shape)).reshape(shape) % 7 / 7.0 + 0.1).astype("float32")


def _ids(*shape):
    return (np.arange(np.prod(shape)).reshape(shape) * 3 % 11).astype("int64")


def layers(paddle):
    """The networks of 2.x by name: Layer, specs, inputs."""
    nn = paddle.nn

    class Words(nn.Layer):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(11, 4, padding_idx=0)
            self.out = nn.Linear(4, 2)

        def forward(self, ids):
            rows = self.table(ids)
            return self.out(rows.sum(axis=1)), paddle.max(rows, axis=-1)

    class Shapes(nn.Layer):
        def forward(self, x):
            n = paddle.shape(x)[0]
            return paddle.reshape(x, [n, 2, 2]), paddle.zeros([n, 3]) + x[:, 1:4] * 2.0

    class Branches(nn.Layer):
        def forward(self, x):
            y = paddle.static.nn.cond(paddle.mean(x) > 0.5, lambda: x * 2.0, lambda: x - 1.0)
            i = paddle.full([1], 0, "int64")
            _, y = paddle.static.nn.while_loop(
                lambda i, y: i < 3, lambda i, y: [i + 1, y + 1.0], [i, y]
            )
            return y

    picture = [([None, 3, 8, 8], "float32")]
    steps = [([None, 3, 4], "float32")]
    return {
        "perceptron": (
            nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3)),
            [([None, 4], "float32")],
            [_rows(5, 4)],
        ),
        "pictures": (
            nn.Sequential(
                nn.Conv2D(3, 4, 3, padding=1), nn.BatchNorm2D(4), nn.ReLU(), nn.MaxPool2D(2, 2),
                nn.Conv2D(4, 4, 3, groups=4), nn.AdaptiveAvgPool2D(1), nn.Flatten(),
                nn.Linear(4, 5), nn.Softmax(),
            ),
            picture,
            [_rows(2, 3, 8, 8)],
        ),
        "words": (Words(), [([None, 6], "int64")], [_ids(3, 6)]),
        "recurrent": (nn.LSTM(4, 3, direction="bidirect"), steps, [_rows(2, 3, 4)]),
        "attention": (
            nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, dropout=0.1), 1),
            steps,
            [_rows(2, 3, 4)],
        ),
        "shapes": (Shapes(), [([None, 4], "float32")], [_rows(5, 4)]),
        "branches": (Branches(), [([None, 4], "float32")], [_rows(5, 4)]),
    }  # fmt: skip


def _line(fluid, L):
    return {"x": _rows(4, 13)}, [L.fc(L.data("x", [13]), 1)]


def _digits(fluid, L):
    image = L.data("image", [1, 8, 8])
    first = fluid.nets.simple_img_conv_pool(image, 3, 3, 2, 2, act="relu")
    return {"image": _rows(2, 1, 8, 8)}, [L.fc(L.batch_norm(first), 4, act="softmax")]


def _clicks(fluid, L):
    dense = L.data("dense", [5])
    slots = [L.data(f"slot{i}", [1], dtype="int64", lod_level=1) for i in range(2)]
    kinds = ("sum", "max")
    pooled = [
        L.sequence_pool(L.embedding(s, [11, 4]), kind)
        for s, kind in zip(slots, kinds)  # noqa: B905  Paddle 1.8 runs on older Pythons
    ]
    hidden = L.fc(L.concat(pooled + [dense], axis=1), 6, act="relu")
    fed = {f"slot{i}": (_ids(6, 1), [2, 3, 1]) for i in range(2)}
    return dict(fed, dense=_rows(3, 5)), [L.fc(hidden, 2, act="softmax")]


def _sentiment(fluid, L):
    words = L.data("words", [1], dtype="int64", lod_level=1)
    hidden, _ = L.dynamic_lstm(L.fc(L.embedding(words, [11, 4]), 8), 8)
    return {"words": (_ids(6, 1), [2, 3, 1])}, [L.fc(L.sequence_pool(hidden, "max"), 2)]


def _roles(fluid, L):
    words = L.data("words", [1], dtype="int64", lod_level=1)
    scores = L.fc(L.embedding(words, [11, 4]), 3, act="tanh")
    labels = L.data("labels", [1], dtype="int64", lod_level=1)
    L.linear_chain_crf(scores, labels, param_attr=fluid.ParamAttr(name="moves"))
    best = L.crf_decoding(scores, param_attr=fluid.ParamAttr(name="moves"))
    return {"words": (_ids(6, 1), [2, 3, 1])}, [
        L.sequence_pool(L.cast(best, "float32"), "sqrt"),
        L.reverse(scores, 1),
    ]


def _loop(fluid, L):
    x = L.data("x", [4])
    i, n = L.fill_constant([1], "int64", 0), L.fill_constant([1], "int64", 3)
    array = L.array_write(L.fc(x, 4), i)
    condition = L.less_than(i, n)
    loop = L.While(condition)
    with loop.block():
        new = L.elementwise_add(L.array_read(array, i), x)
        i = L.increment(i, in_place=True)
        L.array_write(new, i, array=array)
        L.less_than(i, n, cond=condition)
    return {"x": _rows(2, 4)}, [L.array_read(array, i)]


FLUID = {
    "line": _line,
    "digits": _digits,
    "clicks": _clicks,
    "sentiment": _sentiment,
    "roles": _roles,
    "loop": _loop,
}
