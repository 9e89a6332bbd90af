"""Ops on sequences of unequal lengths (LoD), and the step of beam search."""

from argosy.ops.sequences import (
    beam,
    crf,
    rank,
    sequence,
    sequence_rnn,
    sequence_shape,
    viterbi,
)
