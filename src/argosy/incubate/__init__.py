"""What Paddle keeps under ``paddle.incubate``."""

from argosy.incubate import autotune, optimizer
from argosy.incubate.optimizer import LookAhead, ModelAverage

__all__ = ["LookAhead", "ModelAverage"]
