"""Small networks whose files are read from real Paddle and written for it; they run under Paddle
2.6.2 and 1.8.5 as under argosy.

A network of ``LAYERS`` is a Layer with the specs of its inputs and examples of them; one of
``FLUID`` is a function that records it and returns what is fed, and what is fetched. Sequences are
(rows, lengths), or (rows, lengths of the outer sequences, lengths of the inner).
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


def _summary(fluid, L):
    words = L.data("source", [1], dtype="int64", lod_level=1)
    rows = L.embedding(words, [11, 4], param_attr=fluid.ParamAttr(name="source_words"))
    hidden, _ = L.dynamic_lstm(L.fc(rows, 12, act="tanh"), 12)
    return {"source": (_ids(6, 1), [2, 3, 1])}, hidden


def _translation(fluid, L):
    """What the book's chapter on translation trains: a step for each word of the target."""
    fed, hidden = _summary(fluid, L)
    words = L.data("target", [1], dtype="int64", lod_level=1)
    rows, context = L.embedding(words, [11, 4]), L.sequence_last_step(hidden)
    rnn = L.DynamicRNN()
    with rnn.block():
        word, before = rnn.step_input(rows), rnn.memory(init=context)
        state = L.fc([word, before], 3, act="tanh")
        rnn.update_memory(before, state)
        rnn.output(L.fc(state, 11, act="softmax"))
    return dict(fed, target=(_ids(7, 1), [2, 1, 4])), [rnn()]


def _attended(fluid, L):
    """A decoder that looks at all words of its source in each step."""
    fed, hidden = _summary(fluid, L)
    words = L.data("target", [1], dtype="int64", lod_level=1)
    rows, first = L.embedding(words, [11, 4]), L.sequence_first_step(hidden)
    rnn = L.DynamicRNN()
    with rnn.block():
        word, source = rnn.step_input(rows), rnn.static_input(hidden)
        before = rnn.memory(init=first, need_reorder=True)
        count = rnn.memory(shape=[1], value=1.0)
        weights = L.sequence_softmax(L.fc([source, L.sequence_expand(before, source)], 1))
        seen = L.sequence_pool(L.elementwise_mul(source, weights, axis=0), "sum")
        state = L.fc([word, seen, before, count], 3, act="tanh")
        rnn.update_memory(before, state)
        rnn.update_memory(count, L.scale(count, 0.5))
        rnn.output(state, L.reduce_sum(seen, 1, keep_dim=True))
    last, sums = rnn()
    return dict(fed, target=(_ids(7, 1), [2, 1, 4])), [L.sequence_pool(last, "last"), sums]


def _beams(fluid, L, width=2, end=4):
    """How the book's chapter translates: a search with beams, in a loop over arrays."""
    fed, hidden = _summary(fluid, L)
    count = L.zeros([1], "int64", force_cpu=True)
    most = L.fill_constant([1], "int64", 5)
    states = L.array_write(L.sequence_last_step(hidden), count)
    first = L.data("first", [1], dtype="int64", lod_level=2)
    marks = L.data("marks", [1], dtype="float32", lod_level=2)
    ids, scores = L.create_array("int64"), L.create_array("float32")
    L.array_write(first, count, array=ids)
    L.array_write(marks, count, array=scores)
    goes_on = L.less_than(count, most)
    loop = L.While(goes_on)
    with loop.block():
        word, score = L.array_read(ids, count), L.array_read(scores, count)
        before = L.sequence_expand(L.array_read(states, count), score)
        rows = L.embedding(word, [11, 4], param_attr=fluid.ParamAttr(name="target_words"))
        state = L.fc([before, rows], 3, act="tanh")
        chances = L.fc(L.lod_reset(state, score), 11, act="softmax")
        best, places = L.topk(chances, 4)
        total = L.elementwise_add(L.log(best), L.reshape(score, [-1]), axis=0)
        chosen, totals = L.beam_search(word, score, places, total, width, end, level=0)
        L.increment(count, value=1, in_place=True)
        L.array_write(state, count, array=states)
        L.array_write(chosen, count, array=ids)
        L.array_write(totals, count, array=scores)
        L.logical_and(L.less_than(count, most), L.logical_not(L.is_empty(chosen)), out=goes_on)
    found, values = L.beam_search_decode(ids, scores, width, end)
    ones = [[1, 1, 1], [1, 1, 1]]
    starts = np.full((3, 1), 2, "int64"), np.zeros((3, 1), "float32")
    return dict(fed, first=(starts[0],) + tuple(ones), marks=(starts[1],) + tuple(ones)), [
        found,
        values,
    ]


def _cells(fluid, L):
    """The chapter's later form: cells that ``rnn`` runs over padded words."""
    words = L.data("words", [3], dtype="int64")
    sizes = L.data("sizes", [1], dtype="int64", append_batch_size=True)
    rows = fluid.embedding(words, [11, 4])
    outputs, last = L.rnn(L.GRUCell(3), rows, sequence_length=L.reshape(sizes, [-1]))
    back, _ = L.rnn(L.GRUCell(3, name="back"), rows, is_reverse=True)
    return {"words": _ids(2, 3), "sizes": np.array([[2], [3]], "int64")}, [outputs, last, back]


def _decoding(fluid, L):
    """The same, with ``dynamic_decode``."""
    state = L.data("state", [3])
    cell = L.GRUCell(3)

    def rows(ids):
        return fluid.embedding(ids, [11, 4], param_attr=fluid.ParamAttr(name="decoded_words"))

    def scores(x):
        return L.fc(x, 11, num_flatten_dims=len(x.shape) - 1, bias_attr=False)

    decoder = L.BeamSearchDecoder(cell, 2, 1, 2, embedding_fn=rows, output_fn=scores)
    outputs, _ = L.dynamic_decode(decoder, inits=state, max_step_num=4)
    return {"state": _rows(2, 3)}, [outputs]


def _fork(fluid, L):
    """Rows that a condition divides."""
    x = L.data("x", [3])
    large = L.greater_than(L.reduce_sum(x, 1, keep_dim=True), L.fill_constant([1], "float32", 1.4))
    fork = L.IfElse(large)
    with fork.true_block():
        rows = fork.input(x)
        fork.output(L.fc(rows, 2, act="relu"), L.scale(rows, 10.0))
    with fork.false_block():
        rows = fork.input(x)
        fork.output(L.fc(rows, 2, act="tanh"), L.scale(rows, -1.0))
    return {"x": _rows(5, 3)}, list(fork())


def _steps(fluid, L):
    """A step for each entry of the first dimension."""
    x, start = L.data("x", [4, 2, 3], append_batch_size=False), L.data("start", [2])
    rnn = L.StaticRNN()
    with rnn.step():
        entry = rnn.step_input(x)
        before, total = rnn.memory(init=start), rnn.memory(shape=[-1, 3], batch_ref=entry)
        state = L.fc([entry, before], 2, act="tanh")
        new = L.elementwise_add(total, entry)
        rnn.update_memory(before, state)
        rnn.update_memory(total, new)
        rnn.step_output(state)
        rnn.step_output(new)
    states, totals = rnn()
    return {"x": _rows(4, 2, 3), "start": _rows(2, 2)}, [states, L.reduce_sum(totals, 0)]


def _cases(fluid, L):
    """Branches that give values, and cases that write one."""
    x = L.data("x", [3])
    mean = L.reduce_mean(x)
    half = L.fill_constant([1], "float32", 0.45)
    chosen = L.cond(L.less_than(mean, half), lambda: L.scale(x, 2.0), lambda: L.fc(x, 3))
    rate = L.fill_constant([1], "float32", 0.0)
    with L.Switch() as switch:
        with switch.case(L.less_than(half, mean)):
            L.assign(half, rate)
        with switch.default():
            L.assign(L.fill_constant([1], "float32", 7.0), rate)
    return {"x": _rows(5, 3)}, [chosen, rate]


FLUID = {
    "line": _line,
    "digits": _digits,
    "clicks": _clicks,
    "sentiment": _sentiment,
    "roles": _roles,
    "loop": _loop,
    "translation": _translation,
    "attended": _attended,
    "beams": _beams,
    "cells": _cells,
    "decoding": _decoding,
    "fork": _fork,
    "steps": _steps,
    "cases": _cases,
}
