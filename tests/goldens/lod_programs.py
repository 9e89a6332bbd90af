"""Programs on sequences whose results, lods and gradients are compared with real Paddle's: built
from one text, by either implementation.

Importable by Python 3.7, for Paddle 1.8. A case is a function of a ``Builder`` that returns the
variables to fetch.
"""

from __future__ import annotations

import zlib

import numpy as np

CASES = {}
OLD_ONLY = set()  # Paddle 2.6 has these no more


def case(fn):
    CASES[fn.__name__] = fn
    return fn


class Builder:
    """Declares inputs, remembers what to feed for them, and calls the layers under their names of
    1.x (``is_old``) or 2.x.
    """

    def __init__(self, paddle, name, is_old):
        self.paddle = paddle
        self.is_old = is_old
        self.rng = np.random.RandomState(zlib.crc32(name.encode()))
        self.feed = {}
        self.inputs = []
        if self.is_old:
            import paddle.fluid as fluid

            self.static, self.nn, self.gradients = fluid, fluid.layers, fluid.gradients
            self.make = fluid.create_lod_tensor
            self.reduce_sum, self.relu, self.softmax = (
                fluid.layers.reduce_sum,
                fluid.layers.relu,
                fluid.layers.softmax,
            )
            self.concat, self.cast, self.reshape = (
                fluid.layers.concat,
                fluid.layers.cast,
                fluid.layers.reshape,
            )
            self.split, self.assign = fluid.layers.split, fluid.layers.assign
            self.place, self.data = fluid.CPUPlace(), fluid.data
        else:
            self.static, self.nn, self.gradients = (
                paddle.static,
                paddle.static.nn,
                paddle.static.gradients,
            )
            from paddle.base import create_lod_tensor

            self.make = create_lod_tensor
            self.reduce_sum, self.relu, self.softmax = (
                paddle.sum,
                paddle.nn.functional.relu,
                paddle.nn.functional.softmax,
            )
            self.concat, self.cast, self.reshape = paddle.concat, paddle.cast, paddle.reshape
            self.split, self.assign = paddle.split, paddle.assign
            self.place, self.data = paddle.CPUPlace(), paddle.static.data

    def lod(self, name, array, *lengths):
        """An input of sequences; ``lengths`` are given level by level."""
        value = (
            self.make(array, [list(level) for level in lengths], self.place) if lengths else array
        )
        variable = self.data(
            name, [None] + list(array.shape[1:]), str(array.dtype), lod_level=len(lengths)
        )
        self.feed[name] = value
        if array.dtype.kind == "f":
            variable.stop_gradient = False
            self.inputs.append(variable)
        return variable

    def normal(self, *shape):
        return self.rng.randn(*shape).astype("float32")

    def x(self, *lengths, width=3):
        """The usual input."""
        return self.lod("x", self.normal(sum(lengths), width), lengths)

    def ids(self, *lengths, high=9):
        return self.lod(
            "ids", self.rng.randint(0, high, (sum(lengths), 1)).astype("int64"), lengths
        )

    def constant(self, value, *shape):
        return self.assign(np.full(shape, value, "float32"))

    def fc(self, x, size, act=None):
        return self.nn.fc(x, size, act=act) if self.is_old else self.nn.fc(x, size, activation=act)

    def fill(self, program):
        """Give the parameters values that do not depend on the implementation."""
        scope = self.static.global_scope()
        for parameter in sorted(program.global_block().all_parameters(), key=lambda p: p.name):
            scope.find_var(parameter.name).get_tensor().set(
                self.normal(*parameter.shape) * np.float32(0.5), self.place
            )


def run(paddle, name, is_old):
    """Everything that a case computes, by name."""
    b = Builder(paddle, name, is_old)
    main, startup = b.static.Program(), b.static.Program()
    guard = b.static.unique_name.guard if b.is_old else paddle.utils.unique_name.guard
    with b.static.scope_guard(
        getattr(b.static, "Scope", b.static.core.Scope if b.is_old else None)()
    ):
        with b.static.program_guard(main, startup), guard():
            out = CASES[name](b)
            out = list(out) if isinstance(out, (list, tuple)) else [out]
            floats = [v for v in out if str(v.dtype).lower().endswith(("float32", "fp32"))]
            grads = []
            wanted = b.inputs + main.global_block().all_parameters()
            if floats and wanted:
                terms = [b.reduce_sum(v * v) for v in floats]
                grads = b.gradients([sum(terms[1:], terms[0])], wanted)
        exe = b.static.Executor(b.place)
        exe.run(startup)
        b.fill(main)
        fetched = exe.run(
            main,
            feed=b.feed,
            fetch_list=out + [g for g in grads if g is not None],
            return_numpy=False,
        )
    result = {}
    labels = [f"out{i}" for i in range(len(out))] + [
        f"grad{i}" for i, g in enumerate(grads) if g is not None
    ]
    for label, value in zip(labels, fetched):  # noqa: B905 - Python 3.7
        result[label] = np.array(value)
        if label.startswith("out"):
            lod = value.lod() if hasattr(value, "lod") else []
            result.update(
                (f"{label}.lod{i}", np.array(level, "int64")) for i, level in enumerate(lod)
            )
    return result


def _pool(kind):
    def build(b):
        return b.nn.sequence_pool(b.x(2, 0, 3, 1), kind, pad_value=7.0)

    CASES["pool_" + kind] = build


for _kind in ("sum", "average", "sqrt", "max", "first", "last"):
    _pool(_kind)


@case
def pool_of_equal_rows(b):
    return b.nn.sequence_pool(b.lod("x", np.ones((5, 2), "float32"), [3, 2]), "max")


@case
def pool_of_matrices(b):
    return b.nn.sequence_pool(b.lod("x", b.normal(6, 2, 3), [4, 2]), "average")


@case
def pool_of_two_levels(b):
    x = b.lod("x", b.normal(7, 2), [2, 0, 2], [1, 2, 0, 4])
    inner = b.nn.sequence_pool(x, "sum")
    return inner, b.nn.sequence_pool(inner, "average")


@case
def first_and_last_step(b):
    x = b.x(1, 4, 2)
    return b.nn.sequence_first_step(x), b.nn.sequence_last_step(x)


@case
def softmax_of_a_column(b):
    return b.nn.sequence_softmax(b.x(2, 0, 4, 1, width=1))


@case
def softmax_of_a_vector(b):
    return b.nn.sequence_softmax(b.lod("x", b.normal(6), [4, 2]))


@case
def conv(b):
    return b.nn.sequence_conv(b.x(3, 1, 4), 5, act="tanh")


@case
def conv_with_empty_sequences(b):
    return b.nn.sequence_conv(b.x(0, 3, 0, 2), 2, filter_size=2, bias_attr=False)


@case
def conv_wider_than_the_sequences(b):
    return b.nn.sequence_conv(b.x(2, 1), 2, filter_size=5)


@case
def conv_from_the_row_on(b):
    return b.nn.sequence_conv(b.x(4, 2), 2, filter_size=3, padding_start=0)


@case
def conv_of_later_rows(b):
    return b.nn.sequence_conv(b.x(4, 2), 2, filter_size=2, padding_start=1)


@case
def conv_of_earlier_rows(b):
    return b.nn.sequence_conv(b.x(4, 2), 2, filter_size=2, padding_start=-1)


@case
def expand_rows(b):
    return b.nn.sequence_expand(b.lod("x", b.normal(3, 2)), b.lod("y", b.normal(5, 1), [2, 0, 3]))


@case
def expand_sequences(b):
    return b.nn.sequence_expand(b.x(2, 1, 2), b.lod("y", b.normal(5, 1), [2, 0, 3]))


@case
def expand_by_the_outer_level(b):
    return b.nn.sequence_expand(
        b.x(2, 2), b.lod("y", b.normal(5, 1), [2, 1], [2, 1, 2]), ref_level=0
    )


@case
def expand_by_the_inner_level(b):
    return b.nn.sequence_expand(
        b.lod("x", b.normal(3, 2)), b.lod("y", b.normal(5, 1), [2, 1], [2, 1, 2])
    )


@case
def expand_as(b):
    return b.nn.sequence_expand_as(
        b.lod("x", b.normal(3, 2)), b.lod("y", b.normal(5, 1), [2, 0, 3])
    )


@case
def pad(b):
    return b.nn.sequence_pad(b.x(2, 3, 1), b.constant(7.0, 1))


@case
def pad_to_a_length(b):
    return b.nn.sequence_pad(b.x(2, 0, 3), b.constant(-1.0, 3), maxlen=5)


@case
def pad_matrices(b):
    return b.nn.sequence_pad(b.lod("x", b.normal(4, 2, 2), [1, 3]), b.constant(0.5, 1), maxlen=3)


@case
def unpad(b):
    return b.nn.sequence_unpad(
        b.lod("x", b.normal(3, 4, 2)), b.lod("n", np.array([2, 1, 4], "int64"))
    )


@case
def unpad_numbers(b):
    return b.nn.sequence_unpad(b.lod("x", b.normal(3, 4)), b.lod("n", np.array([2, 0, 3], "int64")))


@case
def concat_sequences(b):
    y = b.lod("y", b.normal(6, 3), [1, 2, 3])
    return b.nn.sequence_concat([b.x(2, 0, 1), y, b.lod("z", b.normal(3, 3), [1, 1, 1])])


@case
def reverse(b):
    return b.nn.sequence_reverse(b.x(3, 0, 2, 1))


@case
def slice_sequences(b):
    start, length = np.array([[0], [1], [1]], "int64"), np.array([[1], [2], [0]], "int64")
    return b.nn.sequence_slice(b.x(2, 3, 2), b.lod("start", start), b.lod("length", length))


@case
def reshape_to_longer_rows(b):
    return b.nn.sequence_reshape(b.x(2, 4, width=2), 4)


@case
def reshape_to_shorter_rows(b):
    return b.nn.sequence_reshape(b.x(2, 1, width=4), 2)


@case
def enumerate_windows(b):
    return b.nn.sequence_enumerate(b.ids(3, 0, 2), 3, pad_value=-1)


@case
def scatter(b):
    index = b.lod("index", np.array([0, 1, 2, 1, 1], "int64")[:, None], [3, 2])
    return b.nn.sequence_scatter(
        b.lod("x", b.normal(2, 4)), index, b.lod("updates", b.normal(5, 1), [3, 2])
    )


@case
def lod_carried_by_other_layers(b):
    x = b.x(2, 0, 3)
    hidden = b.fc(x, 4, act="tanh")
    parts = b.split(hidden, 2, 1)
    return [
        hidden,
        b.relu(x) + x,
        x + b.lod("plain", b.normal(5, 3)),
        b.concat([x, hidden], 1),
        b.cast(x, "float64"),
        b.softmax(hidden),
        b.reshape(x, [-1, 1, 3]),
        parts[0],
        parts[1],
        b.softmax(hidden) * 2.0,
        1.0 - x,
    ]


@case
def lod_not_carried(b):
    x, plain = b.x(2, 0, 3), b.lod("plain", b.normal(5, 3))
    return [plain + x, b.concat([plain, x], 1), b.reduce_sum(x), b.nn.sequence_pool(x, "sum")]


@case
def text_network(b):
    """Embedding, convolution, two pools, attention over the words."""
    words = b.nn.embedding(b.ids(3, 5, 2), [9, 4])
    words = words if len(words.shape) == 2 else b.reshape(words, [-1, 4])
    hidden = b.nn.sequence_conv(words, 6, act="relu")
    weights = b.nn.sequence_softmax(b.fc(hidden, 1))
    attended = b.nn.sequence_pool(hidden * weights, "sum")
    best = b.nn.sequence_pool(hidden, "max")
    spread = b.nn.sequence_expand_as(attended, hidden) + hidden
    return b.fc(b.concat([attended, best, b.nn.sequence_last_step(spread)], 1), 2, act="softmax")


@case
def reset_to_a_list(b):
    return b.nn.lod_reset(b.x(2, 3), target_lod=[0, 1, 5])


@case
def reset_to_another_variable(b):
    return b.nn.lod_reset(b.lod("x", b.normal(5, 2)), y=b.lod("y", b.normal(5, 1), [2, 0], [4, 1]))


@case
def reset_to_values(b):
    return b.nn.lod_reset(b.x(2, 3), y=b.lod("y", np.array([0, 4, 5], "int32")))


@case
def append_a_level(b):
    return b.nn.lod_append(b.x(2, 3), [0, 1, 2, 3, 4, 5])


OLD_ONLY.update(name for name in CASES if name.startswith(("reset_", "append_")))
