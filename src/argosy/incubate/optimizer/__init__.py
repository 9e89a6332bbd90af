"""Optimizers of ``paddle.incubate``: LARS, and the wrappers that average or slow down another one's
parameters.
"""

from argosy.incubate.optimizer.gradient_merge import GradientMergeOptimizer
from argosy.incubate.optimizer.lookahead import LookAhead
from argosy.incubate.optimizer.modelaverage import ModelAverage
from argosy.incubate.optimizer.recompute import RecomputeOptimizer
from argosy.optimizer.lars import LarsMomentumOptimizer
from argosy.optimizer.lbfgs import LBFGS

__all__ = ["LBFGS", "LarsMomentumOptimizer", "LookAhead", "ModelAverage"]
