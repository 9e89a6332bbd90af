"""``fluid.transpiler``: programs of 1.x for several processes."""

from argosy.fluid._memory import memory_optimize, release_memory
from argosy.fluid.transpiler import distribute_transpiler, geo_sgd_transpiler, ps_dispatcher
from argosy.fluid.transpiler.distribute_transpiler import (
    DistributeTranspiler,
    DistributeTranspilerConfig,
)
from argosy.fluid.transpiler.ps_dispatcher import HashName, RoundRobin

__all__ = [
    "DistributeTranspiler",
    "DistributeTranspilerConfig",
    "HashName",
    "RoundRobin",
    "memory_optimize",
    "release_memory",
]
