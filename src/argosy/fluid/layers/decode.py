"""Decoding of 1.x: helpers that choose tokens and make the inputs of the next step, the decoder
that asks them, and beam search as 1.x has it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from argosy import nn
from argosy import tensor as T
from argosy.fluid.layers.selection import sampling_id
from argosy.foundation import dtypes
from argosy.nn import functional as F
from argosy.nn.decode import Decoder
from argosy.utils.layers_utils import map_structure

__all__ = [
    "BasicDecoder",
    "BeamSearchDecoder",
    "DecodeHelper",
    "Decoder",
    "GreedyEmbeddingHelper",
    "SampleEmbeddingHelper",
    "TrainingHelper",
    "dynamic_decode",
]


class BeamSearchDecoder(nn.BeamSearchDecoder):
    """Beam search over a cell. As in 1.x, a place among the beams whose sequence was finished stays
    finished, and lengths count the steps of a place, whichever sequences it held.
    """

    @property
    def tracks_own_finished(self) -> bool:
        return False


class _OneFlag(Decoder):
    """A beam search without gradients: there the flags among its states and those of the loop are
    one variable in 1.x, so that the search itself takes a place for finished that once was.
    """

    def __init__(self, search: BeamSearchDecoder) -> None:
        self._search = search

    def initialize(self, inits: Any) -> Any:
        return self._search.initialize(inits)

    def finalize(self, outputs: Any, final_states: Any, sequence_lengths: Any) -> Any:
        return self._search.finalize(outputs, final_states, sequence_lengths)

    def step(self, time: Any, inputs: Any, states: Any, **kwargs: Any) -> Any:
        outputs, new, inputs, finished = self._search.step(time, inputs, states, **kwargs)
        finished = T.logical_or(finished, states.finished)
        return outputs, new._replace(finished=finished), inputs, finished


def dynamic_decode(
    decoder: Any,
    inits: Any = None,
    max_step_num: int | None = None,
    output_time_major: bool = False,
    impute_finished: bool = False,
    is_test: bool = False,
    return_length: bool = False,
    **kwargs: Any,
) -> Any:
    """``paddle.nn.dynamic_decode``. As in 1.x, a beam search may find other sequences with
    ``is_test``: a place among the beams that was finished then continues with end tokens only.
    """
    if is_test and isinstance(decoder, BeamSearchDecoder):
        decoder = _OneFlag(decoder)
    return nn.dynamic_decode(
        decoder,
        inits,
        max_step_num,
        output_time_major,
        impute_finished,
        is_test,
        return_length,
        **kwargs,
    )


class DecodeHelper:
    """What ``BasicDecoder`` asks: first inputs, the tokens of a step, and the inputs after it."""

    def initialize(self) -> Any:
        """(first inputs, which sequences are finished at the start)"""

    def sample(self, time: Any, outputs: Any, states: Any) -> Any:
        """The tokens that the outputs of a step mean."""

    def next_inputs(self, time: Any, outputs: Any, states: Any, sample_ids: Any) -> Any:
        """(which sequences are finished, the next inputs, the next states)"""


class TrainingHelper(DecodeHelper):
    """Feeds the steps of ``inputs``, [batch, steps, ...] or with ``time_major`` [steps, batch,
    ...], whatever the tokens are; a sequence ends after its ``sequence_length``.
    """

    def __init__(self, inputs: Any, sequence_length: Any, time_major: bool = False) -> None:
        self.inputs = inputs
        self.sequence_length = sequence_length
        self.time_major = time_major
        # The last step makes inputs too, though nobody reads them.
        self.inputs_ = map_structure(self._with_one_more, inputs)

    @property
    def _axis(self) -> int:
        return 0 if self.time_major else 1

    def _with_one_more(self, x: Any) -> Any:
        first = x[:1] if self.time_major else x[:, :1]
        return T.concat([x, T.zeros_like(first)], self._axis)

    def initialize(self) -> Any:
        first = map_structure(lambda x: x[0] if self.time_major else x[:, 0], self.inputs)
        return first, T.equal(self.sequence_length, T.zeros_like(self.sequence_length))

    def sample(self, time: Any, outputs: Any, states: Any) -> Any:
        return T.argmax(outputs, axis=-1)

    def next_inputs(self, time: Any, outputs: Any, states: Any, sample_ids: Any) -> Any:
        following = T.cast(time, dtypes.name_of(self.sequence_length.raw.dtype)) + 1

        def entry(x: Any) -> Any:
            return T.squeeze(T.gather(x, following, axis=self._axis), self._axis)

        finished = T.less_equal(self.sequence_length, following)
        return finished, map_structure(entry, self.inputs_), states


class GreedyEmbeddingHelper(DecodeHelper):
    """Takes the likeliest token of each step and feeds what ``embedding_fn`` makes of it, from
    ``start_tokens`` [batch] until ``end_token``.
    """

    def __init__(self, embedding_fn: Any, start_tokens: Any, end_token: int) -> None:
        self.embedding_fn = embedding_fn
        self.start_tokens = start_tokens
        self.end_token = T.full([1], end_token, "int64")

    def initialize(self) -> Any:
        finished = T.zeros_like(self.start_tokens, "bool")
        return self.embedding_fn(self.start_tokens), finished

    def sample(self, time: Any, outputs: Any, states: Any) -> Any:
        return T.argmax(outputs, axis=-1)

    def next_inputs(self, time: Any, outputs: Any, states: Any, sample_ids: Any) -> Any:
        return T.equal(sample_ids, self.end_token), self.embedding_fn(sample_ids), states


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Draws the token of each step by its probability; a ``softmax_temperature`` below 1 favours
    likely ones.
    """

    def __init__(
        self,
        embedding_fn: Any,
        start_tokens: Any,
        end_token: int,
        softmax_temperature: float | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding_fn, start_tokens, end_token)
        self.softmax_temperature = softmax_temperature
        self.seed = seed

    def sample(self, time: Any, outputs: Any, states: Any) -> Any:
        if self.softmax_temperature is not None:
            outputs = outputs / self.softmax_temperature
        dtype = dtypes.name_of(self.start_tokens.raw.dtype)
        return sampling_id(F.softmax(outputs), seed=self.seed or 0, dtype=dtype)


class BasicDecoder(Decoder):
    """Calls a cell in each step and lets a helper choose tokens and next inputs; ``output_fn`` maps
    the cell's outputs to logits.
    """

    class OutputWrapper(NamedTuple):
        """What one step put out."""

        cell_outputs: Any
        sample_ids: Any

    def __init__(self, cell: Any, helper: Any, output_fn: Any = None) -> None:
        self.cell = cell
        self.helper = helper
        self.output_fn = output_fn

    def initialize(self, initial_cell_states: Any) -> Any:
        inputs, finished = self.helper.initialize()
        return inputs, initial_cell_states, finished

    def step(self, time: Any, inputs: Any, states: Any, **kwargs: Any) -> Any:
        outputs, states = self.cell(inputs, states, **kwargs)
        if self.output_fn is not None:
            outputs = self.output_fn(outputs)
        tokens = self.helper.sample(time=time, outputs=outputs, states=states)
        tokens.stop_gradient = True
        finished, inputs, states = self.helper.next_inputs(
            time=time, outputs=outputs, states=states, sample_ids=tokens
        )
        return self.OutputWrapper(outputs, tokens), states, inputs, finished
