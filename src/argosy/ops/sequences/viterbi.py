"""The best path of tags through scores."""

from __future__ import annotations

import torch
from torch import Tensor

from argosy.ops.table import op


@op("viterbi_decode", types=("viterbi_decode(Input, Transition, Length, include_bos_eos_tag) "
    "-> Scores, Path",))  # fmt: skip
def viterbi_decode(
    potentials: Tensor, transitions: Tensor, lengths: Tensor, include_bos_eos_tag: bool
) -> tuple[Tensor, Tensor]:
    """The score of the best path of each sequence, and the path, as long as the longest sequence
    and 0 behind the end.

    ``potentials`` [batch, length, tags], ``transitions`` [tags, tags] from one tag to the next.
    With ``include_bos_eos_tag`` the last tag begins each sequence and the one before it ends it.
    """
    # while a program is recorded there are no values: the longest may be as long as the batch
    num_steps = potentials.shape[1] if lengths.is_meta else int(lengths.max())
    ends = lengths.to(torch.int64)
    zero = torch.zeros((), dtype=torch.int64, device=ends.device)
    score = potentials[:, 0]
    if include_bos_eos_tag:
        score = score + transitions[-1]
        score = torch.where((ends == 1)[:, None], score + transitions[-2], score)
    came_from = []
    for step in range(1, num_steps):
        best, origin = (score[:, :, None] + transitions).max(1)
        new = best + potentials[:, step]
        if include_bos_eos_tag:
            new = torch.where((ends == step + 1)[:, None], new + transitions[-2], new)
        score = torch.where((ends > step)[:, None], new, score)
        came_from.append(origin)
    scores, tag = score.max(1)
    path = []
    for step in range(num_steps - 1, 0, -1):
        path.append(torch.where(ends > step, tag, zero))
        previous = came_from[step - 1].gather(1, tag[:, None])[:, 0]
        tag = torch.where(ends > step, previous, tag)
    path.append(torch.where(ends > 0, tag, zero))
    return scores, torch.stack(path[::-1], 1)
