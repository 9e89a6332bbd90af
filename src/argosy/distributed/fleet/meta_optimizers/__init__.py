"""``fleet.meta_optimizers``: optimizers that record what a switch of DistributedStrategy asks for.
Scripts set the switch and call ``fleet.distributed_optimizer``.
"""

from argosy.distributed.fleet.meta_optimizers.dgc_optimizer import DGCMomentumOptimizer
from argosy.distributed.fleet.meta_optimizers.planned import (
    AdaptiveLocalSGDOptimizer,
    AMPOptimizer,
    DGCOptimizer,
    FP16AllReduceOptimizer,
    GradientMergeOptimizer,
    LambOptimizer,
    LarsOptimizer,
    LocalSGDOptimizer,
    RecomputeOptimizer,
    ShardingOptimizer,
)
from argosy.distributed.fleet.meta_optimizers.raw_program_optimizer import RawProgramOptimizer

__all__: list[str] = []
