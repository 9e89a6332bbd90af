"""Decoding step by step: the Decoder contract, beam search, and the loop that runs a decoder."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any, NamedTuple

from argosy.framework.mode import switch
from argosy.nn import functional as F
from argosy.ops.sequences import beam as ops
from argosy.tensor import creation, logic, manipulation, reduction, search
from argosy.tensor.engine import apply, defaults
from argosy.utils.layers_utils import flatten, map_structure, pack_sequence_as

__all__ = ["BeamSearchDecoder", "dynamic_decode"]


class Decoder:
    """What ``dynamic_decode`` calls. Subclasses define ``initialize`` and ``step``, and
    ``finalize`` if they need it.
    """

    def initialize(self, inits: Any) -> Any:
        """Return (first inputs, first states, finished flags)."""
        raise NotImplementedError(f"{type(self).__name__} does not define initialize()")

    def step(self, time: Any, inputs: Any, states: Any, **kwargs: Any) -> Any:
        """Return (outputs, next states, next inputs, finished flags)."""
        raise NotImplementedError(f"{type(self).__name__} does not define step()")

    def finalize(self, outputs: Any, final_states: Any, sequence_lengths: Any) -> Any:
        """Turn the stacked outputs of all steps into the result."""
        raise NotImplementedError

    @property
    def tracks_own_finished(self) -> bool:
        """Whether ``step`` itself keeps finished sequences finished."""
        return False


class BeamSearchDecoder(Decoder):
    """Beam search over a cell; ``embedding_fn`` maps tokens to the cell's inputs, ``output_fn`` its
    outputs to logits.

    Other tensors that a call of the cell takes must be laid out by ``tile_beam_merge_with_batch``.
    """

    class OutputWrapper(NamedTuple):
        """What one step chose."""

        scores: Any
        predicted_ids: Any
        parent_ids: Any

    class StateWrapper(NamedTuple):
        """What one step hands to the next."""

        cell_states: Any
        log_probs: Any
        finished: Any
        lengths: Any

    def __init__(
        self,
        cell: Any,
        start_token: int,
        end_token: int,
        beam_size: int,
        embedding_fn: Any = None,
        output_fn: Any = None,
    ) -> None:
        self.cell = cell
        self.start_token = start_token
        self.end_token = end_token
        self.beam_size = beam_size
        self.embedding_fn = embedding_fn
        self.output_fn = output_fn

    @staticmethod
    def tile_beam_merge_with_batch(x: Any, beam_size: int) -> Any:
        """Repeat each row of the batch ``beam_size`` times: rows a, b become a, a, b, b."""
        return apply(ops.merge_beams, apply(ops.tile_beams, x, beam_size))

    def _embedded(self, tokens: Any) -> Any:
        return self.embedding_fn(tokens) if self.embedding_fn else tokens

    def initialize(self, initial_cell_states: Any) -> Any:
        reference = flatten(initial_cell_states)[0]
        tokens, log_probs, finished, lengths = apply(
            ops.beam_search_start, reference, self.beam_size, int(self.start_token), defaults.dtype
        )
        states = map_structure(
            lambda x: apply(ops.tile_beams, x, self.beam_size), initial_cell_states
        )
        return (
            self._embedded(tokens),
            self.StateWrapper(states, log_probs, finished, lengths),
            finished,
        )

    def step(self, time: Any, inputs: Any, states: Any, **kwargs: Any) -> Any:
        def merge(x: Any) -> Any:
            return apply(ops.merge_beams, x)

        def split(x: Any) -> Any:
            return apply(ops.split_beams, x, self.beam_size)

        outputs, cell_states = self.cell(
            map_structure(merge, inputs), map_structure(merge, states.cell_states), **kwargs
        )
        outputs = map_structure(split, outputs)
        if self.output_fn is not None:
            outputs = self.output_fn(outputs)
        scores, tokens, parents, finished, lengths = apply(
            ops.beam_search_step,
            outputs,
            states.log_probs,
            states.finished,
            states.lengths,
            int(self.end_token),
        )
        cell_states = map_structure(
            lambda x: apply(ops.gather_beams, split(x), parents), cell_states
        )
        next_states = self.StateWrapper(cell_states, scores, finished, lengths)
        return (
            self.OutputWrapper(scores, tokens, parents),
            next_states,
            self._embedded(tokens),
            finished,
        )

    def finalize(self, outputs: Any, final_states: Any, sequence_lengths: Any) -> Any:
        """Follow the parents back: token ids of whole sequences, [time, batch, beam]."""
        return F.gather_tree(outputs.predicted_ids, outputs.parent_ids), final_states

    @property
    def tracks_own_finished(self) -> bool:
        return True


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
    """Call ``decoder.step`` until every sequence is finished, at most ``max_step_num + 1`` times.

    Returns (outputs, final states), with ``return_length`` also the lengths. ``impute_finished``
    keeps the states of finished sequences; ``kwargs`` go to every step. ``is_test`` only saves
    memory in Paddle's static graphs.
    """
    start = decoder.initialize(inits)
    run = _run_recorded if switch.is_static else _run_eager
    result, states, lengths = run(_Step(decoder, impute_finished, kwargs), start, max_step_num)
    with contextlib.suppress(NotImplementedError):
        result, states = decoder.finalize(result, states, lengths)
    if not output_time_major:
        result = map_structure(
            lambda x: manipulation.transpose(x, [1, 0, *range(2, x.ndim)]), result
        )
    return (result, states, lengths) if return_length else (result, states)


class _Step(NamedTuple):
    """One call of ``decoder.step`` with the rules for sequences that are finished."""

    decoder: Any
    impute_finished: bool
    kwargs: dict[str, Any]

    def __call__(
        self, time: Any, inputs: Any, states: Any, finished: Any, lengths: Any
    ) -> tuple[Any, Any, Any, Any, Any]:
        """What the step put out, and the inputs, states, flags and lengths of the next."""
        outputs, new, inputs, ended = self.decoder.step(time, inputs, states, **self.kwargs)
        if self.decoder.tracks_own_finished:
            if not hasattr(new, "lengths"):
                warnings.warn(
                    "dynamic_decode: the states have no `lengths`, so the returned lengths are "
                    "all zero"
                )
            return outputs, inputs, new, ended, getattr(new, "lengths", lengths)
        ended = logic.logical_or(ended, finished)
        # As in Paddle: the step that ends a sequence counts in a program, but not in dygraph.
        over = finished if switch.is_static else ended
        lengths = lengths + logic.logical_not(over).astype(lengths.dtype)
        if self.impute_finished:
            new = _keep_finished(over, states, new)
        return outputs, inputs, new, ended, lengths


def _run_eager(step: _Step, start: Any, max_step_num: int | None) -> tuple[Any, Any, Any]:
    inputs, states, finished = start
    lengths = creation.zeros_like(finished, dtype="int64")
    steps: list[Any] = []
    while not bool(finished.all()):
        time = creation.full([1], len(steps), "int64")
        outputs, inputs, states, finished, lengths = step(time, inputs, states, finished, lengths)
        steps.append(outputs)
        if max_step_num is not None and len(steps) > max_step_num:
            break
    result = map_structure(lambda *parts: manipulation.stack(list(parts), axis=0), *steps)
    return result, states, lengths


def _run_recorded(step: _Step, start: Any, max_step_num: int | None) -> tuple[Any, Any, Any]:
    """The same as a loop of a program."""
    finished = start[2]
    carried = [*start, creation.zeros_like(finished, dtype="int64")]
    made: list[Any] = []

    def body(time: Any, leaves: list[Any]) -> Any:
        outputs, *following = step(time, *pack_sequence_as(carried, leaves))
        made[:] = outputs, following
        again = logic.logical_not(reduction.all(following[2]))
        if max_step_num is not None:
            again = logic.logical_and(again, time + 1 <= max_step_num)
        return flatten(outputs), flatten(following), again

    again = logic.logical_not(reduction.all(finished))
    stacked, last = switch.repeat(body, flatten(carried), again)
    outputs, following = made
    _, states, _, lengths = pack_sequence_as(following, last)
    return pack_sequence_as(outputs, stacked), states, lengths


def _keep_finished(finished: Any, states: Any, next_states: Any) -> Any:
    """The old states of finished sequences, the new ones of the rest."""

    def keep(old: Any, new: Any) -> Any:
        mask = manipulation.reshape(finished, [*finished.shape, *[1] * (new.ndim - finished.ndim)])
        return search.where(manipulation.expand_as(mask, new), old, new)

    return map_structure(keep, states, next_states)
