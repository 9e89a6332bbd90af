"""Decoding: beam search against exhaustive search, and the loop's bookkeeping."""

import itertools

import numpy as np
import pytest

import paddle
from paddle import nn
from paddle.nn.decode import Decoder

END = 1


class Chain(nn.Layer):
    """A cell whose logits depend on the last token only."""

    def __init__(self, logits):
        super().__init__()
        self.logits = paddle.to_tensor(logits)

    def forward(self, inputs, states):
        return self.logits[inputs], states + 1


def search(logits, beam_size, steps):
    decoder = nn.BeamSearchDecoder(Chain(logits), start_token=0, end_token=END, beam_size=beam_size)
    return nn.dynamic_decode(
        decoder, inits=paddle.zeros([1, 1]), max_step_num=steps - 1, return_length=True
    )


def exhaustive(logits, steps):
    """The most probable sequence of at most ``steps`` tokens, padded with the end token, and its
    log-probability.
    """
    log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    best = (-np.inf, None)
    for tokens in itertools.product(range(logits.shape[1]), repeat=steps):
        score, last, ended = 0.0, 0, False
        for token in tokens:
            if ended and token != END:
                score = -np.inf
            elif not ended:
                score += log_probs[last, token]
            ended = ended or token == END
            last = token
        best = max(best, (score, tokens))
    return best


@pytest.mark.parametrize("seed", range(4))
def test_wide_beam_finds_the_best_sequence(seed):
    logits = np.random.RandomState(seed).randn(4, 4).astype("float32") * 2
    ids, final, _ = search(logits, 16, 3)
    score, tokens = exhaustive(logits, 3)
    found = ids[0, :, 0].tolist()
    assert found == list(tokens)[: len(found)]
    assert np.isclose(final.log_probs[0, 0].item(), score, atol=1e-5)


def test_wide_beam_beats_greedy():
    # token 2 looks best at first, but what follows 3 is almost certain
    logits = np.log(
        np.array(
            [[1e-9, 0.1, 0.5, 0.4], [0.25] * 4, [0.25] * 4, [0.01, 0.97, 0.01, 0.01]], "float32"
        )
    )
    assert search(logits, 1, 2)[0][0, :, 0].tolist()[0] == 2
    assert search(logits, 3, 2)[0][0, :, 0].tolist() == [3, END]


def test_stops_when_every_beam_has_ended():
    logits = np.full((4, 4), -20.0, "float32")
    logits[:, END] = 20.0
    ids, final, lengths = search(logits, 1, 50)
    assert ids.shape == [1, 1, 1]
    assert lengths.tolist() == [[1]]
    assert final.finished.tolist() == [[True]]


class Counter(Decoder):
    """Sequence i ends at step i; outputs the step."""

    def initialize(self, inits):
        return paddle.zeros([3]), {"total": inits}, paddle.zeros([3], "bool")

    def step(self, time, inputs, states, offset=0):
        return (
            time + paddle.zeros([3], "int64") + offset,
            {"total": states["total"] + 1},
            inputs,
            paddle.arange(3) <= time,
        )


def test_keyword_arguments_reach_every_step():
    out, _ = nn.dynamic_decode(Counter(), inits=paddle.zeros([3, 2]), offset=10)
    assert out.tolist() == [[10, 11, 12]] * 3


@pytest.mark.parametrize(
    ("impute", "expected"), [(False, [3.0, 3.0, 3.0]), (True, [0.0, 1.0, 2.0])]
)
def test_impute_finished_keeps_states(impute, expected):
    _, states = nn.dynamic_decode(Counter(), inits=paddle.zeros([3, 2]), impute_finished=impute)
    assert states["total"][:, 0].tolist() == expected


def test_lengths_that_are_not_tracked_are_mentioned():
    class Own(Counter):
        tracks_own_finished = True

    with pytest.warns(UserWarning, match="no `lengths`"):
        nn.dynamic_decode(Own(), inits=paddle.zeros([3, 2]))


def test_decoder_must_define_its_steps():
    with pytest.raises(NotImplementedError, match=r"Decoder does not define initialize\(\)"):
        nn.dynamic_decode(Decoder())
