"""Activations that are computed again in backward instead of being kept."""

from argosy.distributed.fleet.recompute.recompute import (
    custom_state_manager,
    recompute,
    recompute_sequential,
)
from argosy.distributed.fleet.recompute.recompute_hybrid import recompute_hybrid

__all__ = ["custom_state_manager", "recompute", "recompute_hybrid", "recompute_sequential"]
