"""Chains of tags, beam search, noise contrast and recurrent cells of 1.x."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from paddle import fluid
from paddle.fluid.contrib.layers import BasicLSTMUnit, basic_gru, basic_lstm

layers = fluid.layers

pytestmark = pytest.mark.usefixtures("static_mode")


def run(fetches, **feed):
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return exe.run(feed=feed, fetch_list=fetches, return_numpy=False)


def sequences(rows, *lengths):
    return fluid.create_lod_tensor(rows, [list(level) for level in lengths], fluid.CPUPlace())


def numbers(value):
    return np.asarray(value).reshape(-1).tolist()


def chain(weights, emissions, tags):
    """The score of one labelling."""
    moves = sum(weights[2 + a, b] for a, b in itertools.pairwise(tags))
    return (
        weights[0, tags[0]]
        + weights[1, tags[-1]]
        + moves
        + sum(e[t] for e, t in zip(emissions, tags, strict=True))
    )


def test_a_chain_costs_what_all_labellings_say():
    rng = np.random.default_rng(0)
    weights, rows = rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    tags = np.array([0, 2, 1, 1, 0])
    x = fluid.data("x", [None, 3], "float64", lod_level=1)
    label = fluid.data("label", [None, 1], "int64", lod_level=1)
    values = fluid.initializer.NumpyArrayInitializer(weights)
    attr = fluid.ParamAttr(name="chain", initializer=values)
    cost = layers.linear_chain_crf(x, label, attr)
    best = layers.crf_decoding(x, attr)
    got_cost, got_best = run(
        [cost, best], x=sequences(rows, [3, 2]), label=sequences(tags[:, None], [3, 2])
    )
    parts = [(rows[:3], tags[:3]), (rows[3:], tags[3:])]
    expected, paths = [], []
    for part, own in parts:
        scores = {
            path: chain(weights, part, path)
            for path in itertools.product(range(3), repeat=len(part))
        }
        expected.append(np.log(np.sum(np.exp(list(scores.values())))) - scores[tuple(own)])
        paths += max(scores, key=scores.get)
    np.testing.assert_allclose(numbers(got_cost), expected)
    assert numbers(got_best) == paths
    assert got_best.lod() == [[0, 3, 5]]


def test_padded_chains_have_lengths():
    x = fluid.data("x", [None, 2, 2])
    label = fluid.data("label", [None, 2], "int64")
    length = fluid.data("length", [None, 1], "int64")
    attr = fluid.ParamAttr(name="w", initializer=fluid.initializer.Constant(0.0))
    cost = layers.linear_chain_crf(x, label, attr, length)
    fed = {"x": np.zeros([2, 2, 2], "float32"), "label": np.array([[0, 1], [1, 7]])}
    right = layers.crf_decoding(x, attr, label, length)
    got = run([cost, right], **fed, length=np.array([[2], [1]]))
    np.testing.assert_allclose(numbers(got[0]), [np.log(4.0), np.log(2.0)], rtol=1e-6)
    assert numbers(got[1]) == [1, 0, 0, 0]


def test_chunks_are_counted_by_their_scheme():
    found = fluid.data("found", [None, 1], "int64", lod_level=1)
    label = fluid.data("label", [None, 1], "int64", lod_level=1)
    results = layers.chunk_eval(found, label, "IOB", 2)
    # B-0 I-0 other B-1 | B-1 I-1
    truth = np.array([[0], [1], [4], [2], [2], [3]])
    guess = np.array([[0], [1], [4], [4], [2], [2]])
    got = run(list(results), found=sequences(guess, [4, 2]), label=sequences(truth, [4, 2]))
    assert [numbers(v)[0] for v in got[3:]] == [3, 3, 1]
    np.testing.assert_allclose([numbers(v)[0] for v in got[:3]], [1 / 3] * 3, rtol=1e-6)


def test_beams_go_on_and_are_traced_back():
    names = ("pre_ids", "pre_scores", "ids", "scores")
    kinds = ("int64", "float32", "int64", "float32")
    given = [
        fluid.data(name, [None, 1 if name.startswith("pre") else 2], kind, lod_level=2)
        for name, kind in zip(names, kinds, strict=True)
    ]
    i = layers.fill_constant([1], "int64", 0)
    id_array, score_array = layers.array_write(given[0], i), layers.array_write(given[1], i)
    ids, scores, parents = layers.beam_search(*given, 2, end_id=0, return_parent_idx=True)
    layers.array_write(ids, i + 1, id_array)
    layers.array_write(scores, i + 1, score_array)
    found = layers.beam_search_decode(id_array, score_array, 2, end_id=0)
    arrays = {
        "pre_ids": np.array([[5], [6], [0], [0]]),
        "pre_scores": np.array([[0.1], [0.2], [0.3], [0.4]], "float32"),
        "ids": np.array([[1, 2], [3, 4], [1, 2], [1, 2]]),
        "scores": np.array([[0.5, 0.9], [0.7, 0.6], [0.1, 0.1], [0.1, 0.1]], "float32"),
    }
    fed = {name: sequences(array, [2, 2], [1, 1, 1, 1]) for name, array in arrays.items()}
    got = run([ids, scores, parents, *found], **fed)
    assert numbers(got[0]) == [2, 3]  # the second source has ended
    assert got[0].lod() == [[0, 2, 4], [0, 1, 2, 2, 2]]
    assert numbers(got[2]) == [0, 1]
    assert numbers(got[3]) == [5, 2, 6, 3, 0, 0]
    assert got[3].lod() == [[0, 2, 4], [0, 2, 4, 5, 6]]
    np.testing.assert_allclose(numbers(got[4]), [0.1, 0.9, 0.2, 0.7, 0.4, 0.3], rtol=1e-6)


def test_noise_contrast_of_certain_classes():
    x = fluid.data("x", [None, 1])
    label = fluid.data("label", [None, 1], "int64")
    constant = fluid.ParamAttr(initializer=fluid.initializer.Constant(0.0))
    cost = layers.nce(
        x, label, 4, None, constant, constant, 2, sampler="custom_dist", custom_dist=[0, 1, 0, 0]
    )
    got = run([cost], x=np.ones([1, 1], "float32"), label=np.array([[1]]))
    # sigmoid(0) = 0.5 against 2 classes that are drawn for sure
    expected = -(np.log(0.5 / 2.5) + 2 * np.log(2 / 2.5)) / 3
    np.testing.assert_allclose(numbers(got[0]), [expected], rtol=1e-6)


def test_a_projected_lstm_goes_on_with_its_projection():
    x = fluid.data("x", [None, 4], lod_level=1)
    one = fluid.ParamAttr(initializer=fluid.initializer.Constant(1.0))
    zero = fluid.ParamAttr(initializer=fluid.initializer.Constant(0.0))
    out, cell = layers.dynamic_lstmp(
        x, 4, 1, one, zero, False, proj_activation="identity", proj_clip=0.1
    )
    got = run([out, cell], x=sequences(np.ones([2, 4], "float32"), [2]))

    def step(before, state):
        gates = 1 / (1 + np.exp(-(1 + state)))
        new = gates * before + gates * np.tanh(1 + state)
        return new, min(gates * np.tanh(new), 0.1)

    first, state = step(0.0, 0.0)
    second, _ = step(first, state)
    np.testing.assert_allclose(numbers(got[1]), [first, second], rtol=1e-5)
    np.testing.assert_allclose(numbers(got[0]), [0.1, 0.1], rtol=1e-5)


def test_rnn_of_a_cell_is_the_basic_layer_with_its_parameters():
    x = fluid.data("x", [None, 3, 2])
    length = fluid.data("length", [None], "int64")
    constant = fluid.ParamAttr(initializer=fluid.initializer.Constant(0.5))
    cell = layers.LSTMCell(2, constant, constant)
    outputs, states = layers.rnn(cell, x, sequence_length=length)
    expected, hidden, last = basic_lstm(
        x, None, None, 2, sequence_length=length, param_attr=constant, bias_attr=constant
    )
    rows = np.random.default_rng(0).normal(size=(2, 3, 2)).astype("float32")
    got = run([outputs, expected, states[1], last, states[0], hidden], x=rows,
              length=np.array([3, 1]))  # fmt: skip
    for ours, theirs in zip(got[2::2], got[3::2], strict=True):
        np.testing.assert_allclose(numbers(ours), numbers(theirs), rtol=1e-6)
    np.testing.assert_allclose(np.asarray(got[0])[:, 0], np.asarray(got[1])[:, 0], rtol=1e-6)
    names = [p.name for p in fluid.default_main_program().all_parameters()]
    assert names[:2] == ["LSTMCell/BasicLSTMUnit_0.w_0", "LSTMCell/BasicLSTMUnit_0.b_0"]


def test_layers_in_both_directions_are_named_after_their_attributes():
    x = fluid.data("x", [None, 3, 2])
    start = fluid.data("start", [4, None, 4])
    attr = fluid.ParamAttr(name="own")
    out, hidden = basic_gru(
        x, start, 4, num_layers=2, bidirectional=True, param_attr=attr, bias_attr=attr
    )
    assert (list(out.shape), list(hidden.shape)) == ([-1, 3, 8], [4, -1, 4])
    names = {p.name for p in fluid.default_main_program().all_parameters()}
    assert {"own_fw_w_0_gate", "own_bw_b_1_candidate"} < names


def test_cells_refuse_other_dtypes():
    x, state = fluid.data("x", [None, 2], "int32"), fluid.data("state", [None, 2])
    with pytest.raises(TypeError, match="the data type of 'inputs'"):
        layers.GRUCell(2)(x, state)
    with pytest.raises(TypeError, match="dtype must be float32 or float64"):
        layers.LSTMCell(2, dtype="int32")
    with pytest.raises(AssertionError, match="the width of the input must be known"):
        BasicLSTMUnit("unit", 2)(fluid.data("y", [None, None]), state, state)
