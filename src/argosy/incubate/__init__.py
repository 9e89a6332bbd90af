"""What Paddle keeps under ``paddle.incubate``."""

from argosy.incubate import optimizer

__all__ = ["optimizer"]
