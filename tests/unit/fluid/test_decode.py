"""Decoding of 1.x, and what it draws and counts with. Numbers are compared with real Paddle's in
``conformance/test_decode.py``.
"""

from __future__ import annotations

import numpy as np
import pytest

import paddle
from paddle import fluid

VOCABULARY, WIDTH = 5, 4


@pytest.fixture
def programs(static_mode):
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()):
        yield main, startup


def run(programs, feed, fetched):
    main, startup = programs
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    return [np.array(value) for value in exe.run(main, feed=feed, fetch_list=fetched)]


# -- sampling_id


def test_a_certain_id_is_drawn(programs):
    x = fluid.data("x", [None, 3])
    chances = np.eye(3, dtype="float32")[[2, 0, 1, 1]]
    (ids,) = run(programs, {"x": chances}, [fluid.layers.sampling_id(x)])
    assert ids.dtype == np.int64
    np.testing.assert_array_equal(ids, [2, 0, 1, 1])


def test_ids_are_drawn_by_their_probability():
    paddle.seed(3)
    with fluid.dygraph.guard():
        chances = np.tile(np.array([[0.1, 0.6, 0.3]], "float32"), [4000, 1])
        ids = fluid.layers.sampling_id(fluid.dygraph.to_variable(chances)).numpy()
    np.testing.assert_allclose(np.bincount(ids) / 4000, [0.1, 0.6, 0.3], atol=0.03)


def test_a_range_of_the_drawn_number_leaves_out_ids(programs):
    x = fluid.data("x", [None, 4])
    feed = {"x": np.full([50, 4], 0.25, "float32")}
    (ids,) = run(programs, feed, [fluid.layers.sampling_id(x, min=0.3, max=0.7)])
    assert set(ids) == {1, 2}


def test_a_seed_draws_the_same_in_each_run(programs):
    x = fluid.data("x", [None, 4])
    ids = fluid.layers.sampling_id(x, seed=7)
    feed = {"x": np.full([50, 4], 0.25, "float32")}
    first, second = run(programs, feed, [ids])[0], run(programs, feed, [ids])[0]
    np.testing.assert_array_equal(first, second)
    assert len(set(first)) == 4


@pytest.mark.parametrize("x", [np.zeros([2, 2], "float32"), 3])
def test_probabilities_must_be_a_variable(x):
    with pytest.raises(TypeError, match="sampling_id: x must be a Variable"):
        fluid.layers.sampling_id(x)


# -- unique


def test_distinct_elements_come_in_the_order_of_their_first_occurrence(programs):
    x = fluid.data("x", [None], "int32")
    fetched = [*fluid.layers.unique_with_counts(x), *fluid.layers.unique(x, "int64")]
    values, places, counts, again, where = run(
        programs, {"x": np.array([5, 1, 1, 5, 2, 9, 5], "int32")}, fetched
    )
    np.testing.assert_array_equal(values, [5, 1, 2, 9])
    np.testing.assert_array_equal(places, [0, 1, 1, 0, 2, 3, 0])
    np.testing.assert_array_equal(counts, [3, 2, 1, 1])
    np.testing.assert_array_equal(again, values)
    np.testing.assert_array_equal(where, places)
    assert (places.dtype, counts.dtype, where.dtype) == (np.int32, np.int32, np.int64)


def test_unique_takes_vectors_only(programs):
    with pytest.raises(ValueError, match=r"one dimension, but its shape is \[2, 3\]"):
        fluid.layers.unique_with_counts(fluid.data("m", [2, 3], "int32"))
    with pytest.raises(TypeError, match="int32 or int64, but is 'float32'"):
        fluid.layers.unique_with_counts(fluid.data("v", [2], "int32"), "float32")


# -- lstm


@pytest.mark.parametrize(("layers", "is_bidirectional"), [(1, False), (2, True), (3, False)])
def test_lstm_has_its_weights_in_one_parameter(programs, layers, is_bidirectional):
    stacks = layers * (2 if is_bidirectional else 1)
    draw = np.random.RandomState(0)
    given = {"x": draw.randn(5, 2, 3), "h": draw.randn(stacks, 2, WIDTH)}
    given["c"] = draw.randn(stacks, 2, WIDTH)
    given = {name: value.astype("float32") for name, value in given.items()}
    x, h, c = (fluid.data(name, value.shape) for name, value in given.items())
    results = fluid.layers.lstm(x, h, c, 5, WIDTH, layers, is_bidirec=is_bidirectional)
    (weight,) = programs[0].all_parameters()
    *got, flat = run(programs, given, [*results, weight])
    paddle.disable_static()
    direction = "bidirect" if is_bidirectional else "forward"
    lstm = paddle.nn.LSTM(3, WIDTH, layers, direction, time_major=True)
    _unpack(flat, lstm, stacks)
    tensors = {name: paddle.to_tensor(value) for name, value in given.items()}
    out, (last_h, last_c) = lstm(tensors["x"], (tensors["h"], tensors["c"]))
    for value, wanted in zip(got, (out, last_h, last_c), strict=True):
        np.testing.assert_allclose(value, wanted.numpy(), rtol=1e-5, atol=1e-6)


def _unpack(flat, lstm, stacks):
    """Give ``lstm`` the weights of cuDNN's order: matrices of all layers, then biases."""
    names = [name for name, _ in lstm.named_parameters() if "_l" in name]
    matrices = [name for name in names if "weight" in name]
    assert len(matrices) == 2 * stacks
    start = 0
    for name in [*matrices, *(name.replace("weight", "bias") for name in matrices)]:
        parameter = getattr(lstm, name)
        size = int(np.prod(parameter.shape))
        parameter.set_value(flat[start : start + size].reshape(parameter.shape))
        start += size
    assert start == flat.size


def test_an_lstm_without_its_weights_is_refused():
    from argosy.ops.nn.recurrent import packed_lstm

    x, state = paddle.ones([2, 1, 3]).raw, paddle.ones([1, 1, WIDTH]).raw
    with pytest.raises(ValueError, match="need 144 weights, but there are 3"):
        packed_lstm.fn(x, state, state, paddle.ones([3]).raw, WIDTH, 1, False, 0.0, True)


# -- decoding


def test_a_sampling_decoder_obeys_its_temperature(programs):
    layers = fluid.layers
    start = fluid.data("start", [None], "int64")
    first = fluid.data("first", [None, VOCABULARY])

    class Cell(layers.RNNCell):
        def call(self, inputs, states):
            return states, states

    def embed(ids):
        return layers.cast(ids, "float32")

    cold = layers.SampleEmbeddingHelper(embed, start, 0, softmax_temperature=1e-3, seed=5)
    warm = layers.SampleEmbeddingHelper(embed, start, 0, softmax_temperature=1e3)
    ids = [
        layers.dynamic_decode(layers.BasicDecoder(Cell(), helper), first, max_step_num=40)[0]
        for helper in (cold, warm)
    ]
    feed = {"start": np.array([1, 1]), "first": np.array([[0, 1, 2, 3, 4]] * 2, "float32")}
    certain, any_of_all = run(programs, feed, [one.sample_ids for one in ids])
    assert set(certain.ravel()) == {4}
    assert certain.shape == (2, 41)
    assert len(set(any_of_all.ravel())) > 2


def test_a_decoder_may_leave_out_finalize_and_lengths(programs):
    layers = fluid.layers
    first = fluid.data("first", [None, 2])

    class Counting(layers.Decoder):
        def initialize(self, inits):
            return inits, inits, layers.reduce_sum(inits, dim=1) < -100.0

        def step(self, time, inputs, states):
            total = states + 1.0
            return total, total, inputs, layers.reduce_sum(total, dim=1) > 5.0

    outputs, last = layers.dynamic_decode(Counting(), first, output_time_major=True)
    got, end = run(programs, {"first": np.zeros([1, 2], "float32")}, [outputs, last])
    np.testing.assert_array_equal(got[:, 0, 0], [1, 2, 3])
    np.testing.assert_array_equal(end, [[3, 3]])


# -- what recurrent layers refuse


@pytest.mark.parametrize(
    "call",
    [
        lambda x, h, wrong: fluid.layers.gru_unit(wrong, h, 12),
        lambda x, h, wrong: fluid.layers.gru_unit(x, wrong, 12),
        lambda x, h, wrong: fluid.layers.lstm_unit(wrong, h, h),
        lambda x, h, wrong: fluid.layers.lstm_unit(x, h, wrong),
        lambda x, h, wrong: fluid.layers.dynamic_gru(wrong, 4),
        lambda x, h, wrong: fluid.layers.dynamic_lstm(x, 12, h_0=wrong),
        lambda x, h, wrong: fluid.layers.dynamic_lstmp(x, 12, 2, c_0=wrong),
        lambda x, h, wrong: fluid.layers.lstm(x, h, wrong, 1, 4, 1),
        lambda x, h, wrong: fluid.dygraph.GRUUnit(12)(x, wrong),
    ],
)
@pytest.mark.parametrize("kind", ["array", "integers"])
def test_inputs_of_recurrent_layers_are_floating_variables(programs, call, kind):
    x, h = fluid.data("x", [None, 12]), fluid.data("h", [None, 4])
    wrong = np.ones([2, 4]) if kind == "array" else fluid.data("wrong", [None, 4], "int32")
    with pytest.raises(TypeError, match=r"must be (Variable|one of float32)"):
        call(x, h, wrong)
