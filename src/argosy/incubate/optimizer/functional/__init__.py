"""Quasi-Newton minimisers of a function of one vector."""

from argosy.incubate.optimizer.functional.bfgs import minimize_bfgs
from argosy.incubate.optimizer.functional.lbfgs import minimize_lbfgs

__all__ = ["minimize_bfgs", "minimize_lbfgs"]
