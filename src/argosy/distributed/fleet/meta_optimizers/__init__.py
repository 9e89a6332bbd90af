"""``fleet.meta_optimizers``: Paddle's program rewriters. What they do is asked for with the
switches of DistributedStrategy.
"""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import NotSupported, nearest

_SWITCHES = {
    "AMPOptimizer": "amp",
    "ASPOptimizer": "asp",
    "AdaptiveLocalSGDOptimizer": "adaptive_localsgd",
    "DGCMomentumOptimizer": "dgc",
    "DGCOptimizer": "dgc",
    "FP16AllReduceOptimizer": "fp16_allreduce",
    "GradientMergeOptimizer": "gradient_merge",
    "HeterParallelOptimizer": "heter_ccl_mode",
    "HybridParallelGradScaler": "hybrid_configs",
    "HybridParallelOptimizer": "hybrid_configs",
    "DygraphShardingOptimizer": "sharding",
    "LambOptimizer": "lamb",
    "LarsOptimizer": "lars",
    "LocalSGDOptimizer": "localsgd",
    "ParameterServerOptimizer": "a_sync",
    "PipelineOptimizer": "pipeline",
    "QATOptimizer": "qat",
    "RawProgramOptimizer": "without_graph_optimization",
    "RecomputeOptimizer": "recompute",
    "ShardingOptimizer": "sharding",
    "TensorParallelOptimizer": "tensor_parallel",
}


def __getattr__(name: str) -> Any:
    if name in _SWITCHES:
        raise NotSupported(
            f"paddle.distributed.fleet.meta_optimizers.{name} is not there; set "
            f"DistributedStrategy.{_SWITCHES[name]} "
            "and call fleet.distributed_optimizer"
        )
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}.{nearest(name, _SWITCHES)}"
    )
