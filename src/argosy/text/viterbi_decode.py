"""The best path of tags through scores."""

from __future__ import annotations

from typing import Any

from argosy.nn import Layer
from argosy.ops.sequences import viterbi as ops
from argosy.tensor.engine import apply

__all__ = ["ViterbiDecoder", "viterbi_decode"]


def viterbi_decode(
    potentials: Any,
    transition_params: Any,
    lengths: Any,
    include_bos_eos_tag: bool = True,
    name: str | None = None,
) -> tuple[Any, Any]:
    """The scores [batch] and the tags [batch, longest] of the best paths, 0 behind their ends.

    ``potentials`` [batch, length, tags] are the scores of tags, ``transition_params`` [tags, tags]
    those of going from one to the next. With ``include_bos_eos_tag`` the last tag begins each
    sequence and the one before it ends it.

    Example:
        >>> scores = paddle.to_tensor([[[0.0, 1.0], [2.0, 0.0]]])
        >>> same = paddle.to_tensor([[3.0, 0.0], [0.0, 3.0]])
        >>> best, tags = paddle.text.viterbi_decode(scores, same, paddle.to_tensor([2]), False)
        >>> best.tolist(), tags.tolist()
        ([5.0], [[0, 0]])
    """
    best, tags = apply(
        ops.viterbi_decode, potentials, transition_params, lengths, include_bos_eos_tag
    )
    return best, tags


class ViterbiDecoder(Layer):
    """``viterbi_decode`` with given ``transitions``."""

    def __init__(
        self, transitions: Any, include_bos_eos_tag: bool = True, name: str | None = None
    ) -> None:
        super().__init__()
        self.transitions = transitions
        self.include_bos_eos_tag = include_bos_eos_tag
        self.name = name

    def forward(self, potentials: Any, lengths: Any) -> tuple[Any, Any]:
        return viterbi_decode(
            potentials, self.transitions, lengths, self.include_bos_eos_tag, self.name
        )
