"""``paddle.incubate.layers``: functions of models that recommend."""

from argosy.incubate.layers.nn import (
    batch_fc,
    partial_concat,
    partial_sum,
    pow2_decay_with_linear_warmup,
    rank_attention,
    shuffle_batch,
)
