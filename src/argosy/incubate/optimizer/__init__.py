"""Optimizers of ``paddle.incubate``: LARS and the lookahead wrapper."""

from argosy.incubate.optimizer.lookahead import LookAhead
from argosy.optimizer.lars import LarsMomentumOptimizer

__all__ = ["LarsMomentumOptimizer", "LookAhead"]
