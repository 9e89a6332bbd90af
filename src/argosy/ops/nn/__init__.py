"""What layers of networks compute."""

from argosy.ops.nn import (
    activation,
    attention,
    continuous_value,
    conv,
    data_norm,
    deform,
    dropout,
    embedding,
    multihead,
    norm,
    pooling,
    recurrent,
    reparameterization,
    row_convolution,
    softmax,
)
