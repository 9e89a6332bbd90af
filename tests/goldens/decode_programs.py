"""Programs that run cells and decoders of ``paddle.nn`` step by step, compared with real Paddle
2.6.2.

Each function builds a program in the current guard from its ``paddle`` and returns the variables to
fetch and the list of feeds to run it with.
"""

from __future__ import annotations

import numpy as np

CASES = {}

VOCABULARY, WIDTH, BATCH = 7, 4, 3


def case(build):
    CASES[build.__name__] = build
    return build


def _values(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape).astype("float32")


def _attr(paddle, *shape, seed=0, scale=0.5):
    return paddle.ParamAttr(
        initializer=paddle.nn.initializer.Assign(_values(*shape, seed=seed) * scale)
    )


def _lstm_cell(paddle):
    shapes = {"weight_ih": [4 * WIDTH, WIDTH], "weight_hh": [4 * WIDTH, WIDTH]}
    shapes |= {"bias_ih": [4 * WIDTH], "bias_hh": [4 * WIDTH]}
    attrs = {
        f"{name}_attr": _attr(paddle, *shape, seed=i)
        for i, (name, shape) in enumerate(shapes.items())
    }

    return paddle.nn.LSTMCell(WIDTH, WIDTH, **attrs)


def _simple_cell(paddle):
    class Cell(paddle.nn.SimpleRNNCell):
        def forward(self, inputs, states):
            out, states = super().forward(inputs, states)
            return out * 2.0, states

    attrs = {"weight_ih_attr": _attr(paddle, WIDTH, WIDTH), "bias_ih_attr": _attr(paddle, WIDTH)}
    attrs["weight_hh_attr"] = _attr(paddle, WIDTH, WIDTH, seed=1)
    attrs["bias_hh_attr"] = _attr(paddle, WIDTH, seed=1)
    return Cell(WIDTH, WIDTH, **attrs)


def _unrolled(paddle, is_reverse, time_major, has_lengths):
    x = paddle.static.data("x", [None, None, WIDTH])
    lengths = paddle.static.data("lengths", [None], "int64") if has_lengths else None
    rnn = paddle.nn.RNN(_simple_cell(paddle), is_reverse=is_reverse, time_major=time_major)
    outputs, last = rnn(x, sequence_length=lengths)
    loss = (outputs * outputs).sum() + (last * last * last).sum()
    gradients = [gradient for _, gradient in paddle.static.append_backward(loss)]
    shape = [5, BATCH] if time_major else [BATCH, 5]
    feed = {"x": _values(*shape, WIDTH)}
    if has_lengths:
        feed["lengths"] = np.array([1, 5, 2])
    return [outputs, last, *gradients], [feed]


@case
def own_cell(paddle):
    return _unrolled(paddle, False, False, False)


@case
def own_cell_with_lengths(paddle):
    return _unrolled(paddle, False, False, True)


@case
def own_cell_backwards(paddle):
    return _unrolled(paddle, True, False, True)


@case
def own_cell_time_major(paddle):
    return _unrolled(paddle, True, True, True)


def _model(paddle):
    embedding = paddle.nn.Embedding(
        VOCABULARY, WIDTH, weight_attr=_attr(paddle, VOCABULARY, WIDTH, seed=5, scale=1.0)
    )
    output = paddle.nn.Linear(
        WIDTH,
        VOCABULARY,
        weight_attr=_attr(paddle, WIDTH, VOCABULARY, seed=6, scale=2.0),
        bias_attr=False,
    )
    return embedding, _lstm_cell(paddle), output


def _start(paddle):
    h, c = (paddle.static.data(name, [None, WIDTH]) for name in "hc")
    return [h, c], {"h": _values(BATCH, WIDTH, seed=7), "c": _values(BATCH, WIDTH, seed=8)}


def _searched(paddle, is_test, steps):
    embedding, cell, output = _model(paddle)
    states, feed = _start(paddle)
    decoder = paddle.nn.BeamSearchDecoder(cell, 0, 1, 3, embedding, output)
    ids, last, lengths = paddle.nn.dynamic_decode(
        decoder, states, max_step_num=steps, is_test=is_test, return_length=True
    )
    return [ids, lengths, last.log_probs, last.finished, last.cell_states[0]], [feed]


@case
def beam_search(paddle):
    return _searched(paddle, False, 4)


@case
def beam_search_without_gradients(paddle):
    return _searched(paddle, True, 12)


def _decoded(paddle, impute):
    embedding, cell, output = _model(paddle)
    states, feed = _start(paddle)
    limits = paddle.to_tensor(np.array([2, 6, 3], "int64"))

    class Greedy(paddle.nn.decode.Decoder):
        def initialize(self, inits):
            tokens = paddle.zeros_like(limits)
            return embedding(tokens), inits, limits == 0

        def step(self, time, inputs, states, **kwargs):
            out, states = cell(inputs, states, **kwargs)
            scores = output(out)
            tokens = scores.argmax(-1)
            return (scores, tokens), states, embedding(tokens), limits <= time + 1

    (scores, tokens), last, lengths = paddle.nn.dynamic_decode(
        Greedy(), states, impute_finished=impute, return_length=True
    )
    return [scores, tokens, *last, lengths], [feed]


@case
def own_decoder(paddle):
    return _decoded(paddle, False)


@case
def own_decoder_that_keeps_finished_states(paddle):
    return _decoded(paddle, True)


def run(paddle, name):
    """What a case fetches, run by run."""
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
        fetches, feeds = CASES[name](paddle)
    exe = paddle.static.Executor(paddle.CPUPlace())
    exe.run(startup)
    return [[np.asarray(v) for v in exe.run(main, feed=feed, fetch_list=fetches)] for feed in feeds]
