"""What a training step does with gradients and parameters."""

from argosy.ops.training import (
    adam_updates,
    averaging,
    clipping,
    loss_scaling,
    row_updates,
    updates,
)
