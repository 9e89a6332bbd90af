"""One step of beam search."""

from __future__ import annotations

import torch
from torch import Tensor

from argosy.ops.nn.softmax import log_softmax
from argosy.ops.table import op

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
