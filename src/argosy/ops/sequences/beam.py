"""One step of beam search: over a batch of equally many beams, and over sequences as 1.x has them;
and the way back through all steps.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor

from argosy.foundation.errors import UsageError
from argosy.ops.nn.softmax import log_softmax
from argosy.ops.table import op
from argosy.ops.traits import Rows

MINUS_INFINITY = -1e9  # Paddle's: finite, so that sums of it stay ordered


@op("beam_search_step")
def beam_search_step(
    logits: Tensor, log_probs: Tensor, finished: Tensor, lengths: Tensor, end_token: int
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Choose the best continuations of [batch, beam] sequences from logits [batch, beam,
    vocabulary].

    Returns scores, tokens, parents (which beam each continues), and which are finished and how long
    they are. A finished sequence continues with the end token only, at no cost.
    """
    batch, beam, vocabulary = logits.shape
    only_end = torch.full([vocabulary], MINUS_INFINITY, dtype=logits.dtype, device=logits.device)
    only_end[end_token] = 0.0
    step = torch.where(finished.unsqueeze(2), only_end, log_softmax(logits, -1))
    total = (step + log_probs.unsqueeze(2)).reshape(batch, beam * vocabulary)
    scores, chosen = total.topk(beam)
    parents = torch.div(chosen, vocabulary, rounding_mode="floor")
    tokens = chosen % vocabulary
    finished = finished.gather(1, parents)
    lengths = lengths.gather(1, parents) + (~finished).to(lengths.dtype)
    return scores, tokens, parents, finished | (tokens == end_token), lengths


@op("gather_beams")
def gather_beams(x: Tensor, parents: Tensor) -> Tensor:
    """For each beam of [batch, beam, ...], the entry of the beam it continues."""
    index = parents.reshape(list(parents.shape) + [1] * (x.ndim - 2)).expand(
        list(parents.shape) + list(x.shape[2:])
    )
    return x.gather(1, index)


@op("tile_beams")
def tile_beams(x: Tensor, beam_size: int) -> Tensor:
    """[batch, ...] to [batch, beam, ...]."""
    return x.unsqueeze(1).expand(x.shape[0], beam_size, *x.shape[1:]).contiguous()


@op("merge_beams")
def merge_beams(x: Tensor) -> Tensor:
    """[batch, beam, ...] to [batch x beam, ...]."""
    return x.flatten(0, 1)


@op("split_beams")
def split_beams(x: Tensor, beam_size: int) -> Tensor:
    """[batch x beam, ...] to [batch, beam, ...]."""
    return x.reshape(-1, beam_size, *x.shape[1:])


@op("beam_search_start")
def beam_search_start(
    state: Tensor, beam_size: int, start_token: int, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """First tokens, log-probabilities (only the first beam counts), finished flags and lengths for
    the batch of ``state``.
    """
    shape = [state.shape[0], beam_size]
    log_probs = torch.full(shape, MINUS_INFINITY, dtype=dtype, device=state.device)
    log_probs[:, 0] = 0.0
    tokens = torch.full(shape, start_token, dtype=torch.int64, device=state.device)
    return (
        tokens,
        log_probs,
        torch.zeros(shape, dtype=torch.bool, device=state.device),
        torch.zeros_like(tokens),
    )


@op("beam_search", rows=Rows.OTHER)
def beam_search(
    pre_ids: Tensor,
    pre_scores: Tensor,
    ids: Tensor | None,
    scores: Tensor,
    sources: Tensor,
    beam_size: int,
    end_id: int,
    is_accumulated: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The best ``beam_size`` continuations of the prefixes of each source, whose rows begin at
    ``sources``: ids and scores [chosen, 1], the prefix that each continues, and where the
    continuations of each prefix begin.

    A prefix that has ended goes on with ``end_id`` only; a source whose prefixes all have is left
    out.
    """
    if scores.is_meta:
        rows = scores.shape[0]
        return (
            pre_ids.new_empty([rows, 1]),
            pre_scores.new_empty([rows, 1]),
            pre_ids.new_empty([rows], dtype=torch.int32),
            sources.new_empty([rows + 1]),
        )
    rows = pre_ids.numel()
    before, totals = pre_ids.reshape(-1).tolist(), pre_scores.reshape(rows, 1)
    given = scores.reshape(rows, -1)
    every = (given if is_accumulated else totals + torch.log(given)).tolist()
    names = None if ids is None else ids.reshape(rows, -1).tolist()
    chosen: list[list[tuple[float, int, int]]] = [[] for _ in range(rows)]
    for start, end in pairwise(sources.tolist()):
        found: list[tuple[float, int, int]] = []  # score, prefix, id
        for row in range(start, end):
            if before[row] == end_id:
                found.append((float(totals[row]), row, end_id))
            else:
                known = range(len(every[row])) if names is None else names[row]
                found += [(s, row, i) for s, i in zip(every[row], known, strict=True)]
        # Of equal ones the later prefix is better, and the earlier id.
        found.sort(key=lambda item: (item[0], item[1]), reverse=True)
        best = found[:beam_size]
        if not all(i == end_id == before[row] for _, row, i in best):
            for item in best:
                chosen[item[1]].append(item)
    flat = [item for items in chosen for item in items]
    counts = torch.tensor([0, *map(len, chosen)]).cumsum(0)
    return (
        torch.tensor([i for _, _, i in flat], dtype=pre_ids.dtype).reshape(-1, 1),
        torch.tensor([s for s, _, _ in flat], dtype=pre_scores.dtype).reshape(-1, 1),
        torch.tensor([row for _, row, _ in flat], dtype=torch.int32),
        counts,
    )


def backtraced(
    ids: list[Tensor],
    scores: list[Tensor],
    lods: list[list[Tensor]],
    beam_size: int,
    end_id: int,
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """The full sequences that the steps of a beam search lead to, the best of each source first,
    with their scores after each step and the offsets of sources and sequences.

    ``lods`` has the offsets of each step: of sources over prefixes, of prefixes over what is
    chosen.
    """
    if not ids or len(ids) != len(scores) or len(lods) != 2:
        raise UsageError(
            "beam_search_decode: ids and scores must be arrays of as many steps, at least one, "
            f"with two levels of sequences, but have {len(ids)} and {len(scores)} steps and "
            f"{len(lods)} levels"
        )
    sources, prefixes = ([level.tolist() for level in steps] for steps in lods)
    words: list[int] = []
    values: list[float] = []
    source_offsets, sentence_offsets = [0], [0]
    flat = [
        (i.reshape(-1).tolist(), s.reshape(-1).tolist()) for i, s in zip(ids, scores, strict=True)
    ]
    for source in range(len(sources[0]) - 1):
        sentences = _sentences(source, flat, sources, prefixes, end_id)
        sentences.sort(key=lambda sentence: sentence[1][-1], reverse=True)
        for sentence, marks in sentences:
            words += sentence
            values += marks
            sentence_offsets.append(len(words))
        source_offsets.append(len(sentence_offsets) - 1)
    return (
        torch.tensor(words, dtype=ids[0].dtype),
        torch.tensor(values, dtype=scores[0].dtype),
        [torch.tensor(source_offsets), torch.tensor(sentence_offsets)],
    )


def _sentences(
    source: int,
    steps: list[tuple[list[int], list[float]]],
    sources: list[list[int]],
    prefixes: list[list[int]],
    end_id: int,
) -> list[tuple[list[int], list[float]]]:
    """The sequences of one source and their scores."""
    places: list[int] = []  # of each sentence in the step before; empty until the source goes on
    found: list[tuple[list[int], list[float]]] = []
    for (words, scores), starts, offsets in reversed(
        list(zip(steps, sources, prefixes, strict=True))
    ):
        first, last = starts[source], starts[source + 1]
        owners = [p for p in range(first, last) for _ in range(offsets[p], offsets[p + 1])]
        if not places:  # here it ended, or all ends
            chosen = range(offsets[first], offsets[last])
            found = [([words[i]], [scores[i]]) for i in chosen]
        else:
            chosen = places  # type: ignore[assignment]
            for i, (sentence, marks) in zip(chosen, found, strict=True):
                if words[i] != end_id or not sentence:  # more than one end says nothing
                    sentence.insert(0, words[i])
                    marks.insert(0, scores[i])
        places = [owners[i - offsets[first]] for i in chosen]
    return found
