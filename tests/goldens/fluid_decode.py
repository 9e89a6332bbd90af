"""Programs of 1.x that decode step by step, compared with real Paddle 1.8.5.

Each function builds a program from its ``fluid`` and returns the variables to fetch and the list of
feeds to run it with.
"""

import numpy as np

CASES = {}

VOCABULARY, WIDTH, BATCH, END = 7, 4, 3, 1


def case(build):
    CASES[build.__name__] = build
    return build


def _values(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape).astype("float32")


def _attr(fluid, name, *shape, seed=0):
    values = _values(*shape, seed=seed)
    return fluid.ParamAttr(name=name, initializer=fluid.initializer.NumpyArrayInitializer(values))


def _model(fluid):
    """An embedding, a cell whose weights are functions of their shapes, and logits."""
    layers = fluid.layers

    def embed(ids):
        size = [VOCABULARY, WIDTH]
        return fluid.embedding(ids, size, param_attr=_attr(fluid, "words", *size, seed=1))

    class Cell(layers.RNNCell):
        def call(self, inputs, states, bonus=None):
            hidden, total = states
            joined = layers.concat([inputs, hidden], 1)
            weight = _attr(fluid, "mix", 2 * WIDTH, WIDTH, seed=2)
            new = layers.fc(joined, WIDTH, param_attr=weight, bias_attr=False, act="tanh")
            if bonus is not None:
                new = new + bonus
            return new, [new, total + new]

        @property
        def state_shape(self):
            return [[WIDTH], [WIDTH]]

    def logits(x):
        weight = _attr(fluid, "out", WIDTH, VOCABULARY, seed=3)
        axes = len(x.shape) - 1
        return layers.fc(x, VOCABULARY, num_flatten_dims=axes, param_attr=weight, bias_attr=False)

    return embed, Cell(), logits


def _start(fluid):
    first = fluid.data("first", [None, WIDTH])
    first.stop_gradient = False
    return first, [first, first * 0.5], {"first": _values(BATCH, WIDTH, seed=4)}


def _grads(fluid, loss, extra):
    program = fluid.default_main_program()
    params = [program.global_block().var(name) for name in ("words", "mix", "out")]
    return fluid.gradients([loss], params + extra)


def _trained(fluid, impute, time_major):
    layers = fluid.layers
    embed, cell, logits = _model(fluid)
    first, states, feed = _start(fluid)
    ids = fluid.data("ids", [None, None], "int64")
    lengths = fluid.data("lengths", [None], "int64")
    words = embed(ids)
    if time_major:
        words = layers.transpose(words, [1, 0, 2])
    helper = layers.TrainingHelper(words, lengths, time_major)
    outputs, last, counted = layers.dynamic_decode(
        layers.BasicDecoder(cell, helper, logits),
        states,
        impute_finished=impute,
        output_time_major=time_major,
        return_length=True,
    )
    loss = layers.reduce_sum(outputs.cell_outputs * outputs.cell_outputs)
    loss = loss + layers.reduce_sum(last[0] * last[1])
    feed.update(ids=np.arange(BATCH * 5).reshape(BATCH, 5) % VOCABULARY)
    feed.update(lengths=np.array([2, 5, 3]))
    fetched = [outputs.cell_outputs, outputs.sample_ids, last[0], last[1], counted]
    return fetched + _grads(fluid, loss, [first]), [feed]


@case
def teacher_forcing(fluid):
    return _trained(fluid, False, False)


@case
def teacher_forcing_that_keeps_finished_states(fluid):
    return _trained(fluid, True, True)


@case
def greedy(fluid):
    layers = fluid.layers
    embed, cell, logits = _model(fluid)
    first, states, feed = _start(fluid)
    tokens = layers.fill_constant_batch_size_like(first, [-1], "int64", 0)
    helper = layers.GreedyEmbeddingHelper(embed, tokens, END)
    outputs, last, counted = layers.dynamic_decode(
        layers.BasicDecoder(cell, helper, logits),
        states,
        max_step_num=6,
        impute_finished=True,
        return_length=True,
        bonus=first * 0.1,
    )
    loss = layers.reduce_sum(outputs.cell_outputs * outputs.cell_outputs)
    fetched = [outputs.cell_outputs, outputs.sample_ids, last[0], last[1], counted]
    return fetched + _grads(fluid, loss, [first]), [feed]


def _searched(fluid, is_test, steps, seed=4):
    layers = fluid.layers
    embed, cell, logits = _model(fluid)
    first, states, feed = _start(fluid)
    bonus = layers.BeamSearchDecoder.tile_beam_merge_with_batch(first * 0.1, 3)
    decoder = layers.BeamSearchDecoder(cell, 0, END, 3, embed, logits)
    ids, last, counted = layers.dynamic_decode(
        decoder,
        states,
        max_step_num=steps,
        is_test=is_test,
        return_length=True,
        bonus=bonus,
    )
    feeds = [feed, {"first": _values(2, WIDTH, seed=seed)}]
    return [ids, counted, last.log_probs, last.lengths, last.cell_states[0]], feeds


@case
def beam_search(fluid):
    return _searched(fluid, False, 5)


@case
def beam_search_of_many_steps(fluid):
    return _searched(fluid, False, 12, seed=8)


@case
def beam_search_without_gradients(fluid):
    return _searched(fluid, True, 8, seed=9)


def run(fluid, name):
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()):
        with fluid.unique_name.guard():
            fetched, feeds = CASES[name](fluid)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        return [
            [np.array(value) for value in exe.run(main, feed=feed, fetch_list=fetched)]
            for feed in feeds
        ]
