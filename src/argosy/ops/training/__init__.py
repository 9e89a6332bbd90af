"""What a training step does with gradients and parameters."""

from argosy.ops.training import (
    adam_updates,
    averaging,
    clipping,
    loss_scaling,
    older_updates,
    pure_updates,
    row_updates,
    updates,
)
