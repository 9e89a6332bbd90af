"""Linear chains of tags: what a labelling costs, the best labelling, and how well chunks are found.

Emissions are [sequences, steps, tags], of which each sequence uses as many steps as its length
says; ``from_rows`` makes them of sequences that lie one after the other. Row 0 of ``transition``
has the weights of first tags, row 1 those of last tags, row 2 + i those from tag i to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from argosy.foundation.errors import OutOfRange, UsageError
from argosy.ops.sequences.sequence import count_of, lengths_of
from argosy.ops.sequences.sequence_shape import offsets_of
from argosy.ops.table import op
from argosy.ops.traits import Rows


def _places(lengths: Tensor, steps: int) -> Tensor:
    """Which [sequences, steps] belong to their sequence."""
    return torch.arange(steps, device=lengths.device) < lengths.unsqueeze(1)


@op("padded_from_rows", rows=Rows.OTHER)
def padded_from_rows(x: Tensor, offsets: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of sequences as [sequences, steps, ...] with zeros behind each end, and the lengths."""
    lengths = lengths_of(offsets)
    if x.is_meta:
        return x.new_empty([count_of(offsets), x.shape[0], *x.shape[1:]]), lengths
    steps = int(lengths.max()) if lengths.numel() else 0
    out = x.new_zeros([count_of(offsets), steps, *x.shape[1:]])
    return out.index_put((_places(lengths, steps),), x), lengths


@op("rows_from_padded", rows=Rows.OTHER)
def rows_from_padded(x: Tensor, offsets: Tensor, like: Tensor) -> Tensor:
    """What ``padded_from_rows`` padded, as many rows as ``like`` has."""
    if x.is_meta:
        return x.new_empty([like.shape[0], *x.shape[2:]])
    return x[_places(lengths_of(offsets), x.shape[1])]


@op("rows_of_lengths", rows=Rows.OTHER)
def rows_of_lengths(x: Tensor, y: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The first ``lengths`` numbers of each row of two matrices, one after the other, and their
    offsets.
    """
    if x.is_meta:
        return x.new_empty([x.numel()]), y.new_empty([y.numel()]), lengths.new_empty([len(x) + 1])
    inside = _places(lengths.reshape(-1), x.shape[1])
    return x[inside], y[inside], offsets_of(lengths.reshape(-1))


@op("linear_chain_crf", rows=Rows.OTHER)
def linear_chain_crf(x: Tensor, transition: Tensor, label: Tensor, lengths: Tensor) -> Tensor:
    """The negative logarithm of the likelihood of each labelling, [sequences, 1]; 0 for an empty
    sequence.
    """
    if x.is_meta:
        return x.new_empty([x.shape[0], 1])
    lengths, label = lengths.reshape(-1), label.reshape(x.shape[:2])
    inside = _places(lengths, x.shape[1])
    if bool((label[inside] >= x.shape[2]).any()):
        raise OutOfRange("An invalid tag label that execesses the largest tag number.")
    label = label.masked_fill(~inside, 0)
    cost = _partition(x, transition, inside) - _score(x, transition, label, inside, lengths)
    return cost.masked_fill(lengths == 0, 0.0).unsqueeze(1)


def _partition(x: Tensor, transition: Tensor, inside: Tensor) -> Tensor:
    """The logarithm of the sum over all labellings."""
    total = transition[0] + x[:, 0]
    for step in range(1, x.shape[1]):
        new = torch.logsumexp(total.unsqueeze(2) + transition[2:], 1) + x[:, step]
        total = torch.where(inside[:, step, None], new, total)
    return torch.logsumexp(total + transition[1], 1)


def _score(x: Tensor, transition: Tensor, label: Tensor, inside: Tensor, lengths: Tensor) -> Tensor:
    emitted = x.gather(2, label.unsqueeze(2)).squeeze(2)
    moved = transition[2:][label[:, :-1], label[:, 1:]]
    last = label.gather(1, (lengths - 1).clamp(min=0).unsqueeze(1)).squeeze(1)
    steps = (emitted * inside).sum(1) + (moved * inside[:, 1:]).sum(1)
    return steps + transition[0][label[:, 0]] + transition[1][last]


@op(
    "crf_decoding",
    rows=Rows.OTHER,
    types=("crf_decoding(Emission, Transition, Length) -> ViterbiPath",),
)
def crf_decoding(x: Tensor, transition: Tensor, lengths: Tensor) -> Tensor:
    """The best tag for each step, [sequences, steps]; 0 behind the end of a sequence."""
    if x.is_meta:
        return x.new_empty(x.shape[:2], dtype=torch.int64)
    lengths = lengths.reshape(-1)
    inside = _places(lengths, x.shape[1])
    total = transition[0] + x[:, 0]
    backs = []
    for step in range(1, x.shape[1]):
        best, back = (total.unsqueeze(2) + transition[2:]).max(1)
        backs.append(back)
        total = torch.where(inside[:, step, None], best + x[:, step], total)
    tag = (total + transition[1]).argmax(1)
    tags = [tag]
    for step in range(x.shape[1] - 1, 0, -1):
        before = backs[step - 1].gather(1, tag.unsqueeze(1)).squeeze(1)
        tag = torch.where(inside[:, step], before, tag)
        tags.append(tag)
    return torch.stack(tags[::-1], 1).masked_fill(~inside, 0)


@op(
    "crf_decoding_of_rows",
    rows=Rows.OTHER,
    types=("crf_decoding(Emission, -, Transition) -> ViterbiPath",),
)
def crf_decoding_of_rows(x: Tensor, offsets: Tensor, transition: Tensor) -> Tensor:
    """The best tag for each row of sequences, [rows, 1]."""
    if x.is_meta:
        return x.new_empty([x.shape[0], 1], dtype=torch.int64)
    padded, lengths = padded_from_rows.fn(x, offsets)
    best = crf_decoding.fn(padded, transition, lengths)
    tags: Tensor = rows_from_padded.fn(best, offsets, x)
    return tags.unsqueeze(1)


# -- chunks

# The numbers of the tags that begin, go on in, end, and alone make up a chunk; -1: none does.
_SCHEMES = {
    "IOB": (0, 1, -1, -1),
    "IOE": (-1, 0, 1, -1),
    "IOBES": (0, 1, 2, 3),
    "plain": (-1, -1, -1, -1),
}
CHUNK_SCHEMES = tuple(_SCHEMES)


@op("chunk_eval", rows=Rows.OTHER)
def chunk_eval(
    found: Tensor,
    label: Tensor,
    offsets: Tensor,
    scheme: str,
    num_types: int,
    excluded: Sequence[int],
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Precision, recall and F1 of the chunks found, and how many were found, are there and are
    both, of tags in the rows of sequences.
    """
    if scheme not in _SCHEMES:
        raise UsageError(f"chunk_eval: Unknown chunk scheme {scheme!r}; there are {CHUNK_SCHEMES}")
    if found.is_meta:
        rate, count = torch.empty([1], device="meta"), offsets.new_empty([1])
        return rate, rate.clone(), rate.clone(), count, count.clone(), count.clone()
    counts = [0, 0, 0]
    tags, truth = found.reshape(-1).tolist(), label.reshape(-1).tolist()
    for start, end in pairwise(offsets.tolist()):
        chunks, wanted = (
            {c for c in _chunks(values[start:end], scheme, num_types) if c[2] not in excluded}
            for values in (tags, truth)
        )
        for i, group in enumerate((chunks, wanted, chunks & wanted)):
            counts[i] += len(group)
    num_found, num_wanted, num_right = counts
    precision = num_right / num_found if num_found else 0.0
    recall = num_right / num_wanted if num_wanted else 0.0
    f1 = 2 * precision * recall / (precision + recall) if num_right else 0.0
    rates = [torch.tensor([rate]) for rate in (precision, recall, f1)]
    return (*rates, *(torch.tensor([count]) for count in counts))  # type: ignore[return-value]


def _chunks(tags: list[int], scheme: str, num_types: int) -> Iterator[tuple[int, int, int]]:
    """First and last step and type of each chunk."""
    size = 1 if scheme == "plain" else len([tag for tag in _SCHEMES[scheme] if tag >= 0])
    first, before = -1, (-1, num_types)
    for i, value in enumerate(tags):
        if value > num_types * size:
            raise OutOfRange(
                "(InvalidArgument) The value of Input(Label) should be less than the number of "
                f"chunk types times the number of tag types, but received {value} (Label) vs "
                f"{num_types} (chunk types) * {size} (tag types)."
            )
        now = value % size, value // size
        if first >= 0 and _ends(before, now, scheme, num_types):
            yield first, i - 1, before[1]
            first = -1
        if _begins(before, now, scheme, num_types):
            first = i
        before = now
    if first >= 0:
        yield first, len(tags) - 1, before[1]


def _ends(before: tuple[int, int], now: tuple[int, int], scheme: str, other: int) -> bool:
    begin, inside, end, single = _SCHEMES[scheme]
    if before[1] == other or now[1] != before[1]:
        return before[1] != other
    if before[0] in (begin, inside):
        return now[0] in (begin, single)
    return before[0] in (end, single)


def _begins(before: tuple[int, int], now: tuple[int, int], scheme: str, other: int) -> bool:
    begin, inside, end, single = _SCHEMES[scheme]
    if before[1] == other or now[1] != before[1]:
        return now[1] != other
    if now[0] == begin:
        return True
    if now[0] in (inside, end):
        return before[0] in (end, single)
    return now[0] == single
