"""Optimizer state, and gradients too, split over the ranks of a group (ZeRO)."""

from argosy.distributed.sharding.group_sharded import (
    group_sharded_parallel,
    save_group_sharded_model,
)

__all__ = ["group_sharded_parallel", "save_group_sharded_model"]
