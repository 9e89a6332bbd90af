"""``fleet.meta_parallel``: of tensor and pipeline parallelism what models of one rank use: layers,
which are plain ones then, lists of layers, named generators and micro-batches.
"""

from argosy.distributed.fleet.layers.mpu.mp_layers import (
    ColumnParallelLinear,
    ParallelCrossEntropy,
    RowParallelLinear,
    VocabParallelEmbedding,
)
from argosy.distributed.fleet.meta_parallel._random import (
    RNGStatesTracker,
    get_rng_state_tracker,
    model_parallel_random_seed,
)
from argosy.distributed.fleet.meta_parallel.pp_layers import (
    LayerDesc,
    PipelineLayer,
    SharedLayerDesc,
)

__all__ = [
    "ColumnParallelLinear",
    "LayerDesc",
    "ParallelCrossEntropy",
    "PipelineLayer",
    "RNGStatesTracker",
    "RowParallelLinear",
    "SharedLayerDesc",
    "VocabParallelEmbedding",
    "get_rng_state_tracker",
    "model_parallel_random_seed",
]
