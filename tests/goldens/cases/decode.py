"""Beam search and dynamic_decode. Log-probabilities are summed in another order: 1e-5."""

import functools

import numpy as np

from goldens.harness import Cases

cases = Cases("decode")
add = functools.partial(cases.add, rtol=1e-5)


def model(paddle, draw, kind="GRUCell", vocabulary=6, hidden=4):
    parts = [
        paddle.nn.Embedding(vocabulary, 3),
        getattr(paddle.nn, kind)(3, hidden),
        paddle.nn.Linear(hidden, vocabulary),
    ]
    for part in parts:
        for p in part.parameters():
            p.set_value(draw.normal(*[int(n) for n in p.shape]))
    return parts


def add_search(name, kind="GRUCell", beam=3, steps=5, **options):
    @add(name)
    def _(paddle, draw):
        embedding, cell, output = model(paddle, draw, kind)
        decoder = paddle.nn.BeamSearchDecoder(
            cell, 0, 1, beam, embedding_fn=embedding, output_fn=output
        )
        state = paddle.to_tensor(draw.normal(2, 4))
        inits = (state, state * 0.5) if kind == "LSTMCell" else state
        ids, final, lengths = paddle.nn.dynamic_decode(
            decoder, inits=inits, max_step_num=steps, return_length=True, **options
        )
        return {
            "ids": ids,
            "log_probs": final.log_probs,
            "finished": final.finished,
            "lengths": lengths,
        }


add_search("beam_search")
add_search("beam_search_lstm", kind="LSTMCell")
add_search("beam_search_one_beam", beam=1)
add_search("beam_search_time_major", output_time_major=True)
add_search("beam_search_long", steps=12)


@add("tile_beams")
def _(paddle, draw):
    return paddle.nn.BeamSearchDecoder.tile_beam_merge_with_batch(
        paddle.to_tensor(draw.normal(2, 3, 2)), 2
    )


def add_greedy(name, impute):
    @add(name)
    def _(paddle, draw):
        from paddle.nn.decode import Decoder

        embedding, cell, output = model(paddle, draw)

        class Greedy(Decoder):
            def initialize(self, inits):
                return embedding(paddle.zeros([3], "int64")), inits, paddle.zeros([3], "bool")

            def step(self, time, inputs, states, **kwargs):
                out, states = cell(inputs, states)
                tokens = output(out).argmax(axis=-1)
                finished = (tokens == 1) | (time.astype("int64") + paddle.arange(3) >= 4)
                return tokens, states, embedding(tokens), finished

        tokens, states, lengths = paddle.nn.dynamic_decode(
            Greedy(),
            inits=paddle.to_tensor(draw.normal(3, 4)),
            max_step_num=9,
            impute_finished=impute,
            return_length=True,
        )
        return {"tokens": tokens, "states": states, "lengths": lengths}


add_greedy("own_decoder", False)
add_greedy("own_decoder_impute", True)


@add("without_length")
def _(paddle, draw):
    embedding, cell, output = model(paddle, draw)
    decoder = paddle.nn.BeamSearchDecoder(cell, 0, 1, 2, embedding, output)
    result = paddle.nn.dynamic_decode(
        decoder, inits=paddle.to_tensor(np.zeros((1, 4), "float32")), max_step_num=2
    )
    return {"count": len(result), "ids": result[0]}
