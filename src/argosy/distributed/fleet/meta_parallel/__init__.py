"""``fleet.meta_parallel``: of tensor and pipeline parallelism only the named generators and
micro-batches, which models of one rank use too.
"""

from __future__ import annotations

from typing import Any

from argosy.distributed.fleet.meta_parallel._random import (
    RNGStatesTracker,
    get_rng_state_tracker,
    model_parallel_random_seed,
)
from argosy.foundation.errors import NotSupported, nearest

__all__ = ["RNGStatesTracker", "get_rng_state_tracker", "model_parallel_random_seed"]

# what is not there, and what does the same on one rank
_INSTEAD = {
    "ColumnParallelLinear": "paddle.nn.Linear",
    "LayerDesc": "the layer itself",
    "ParallelCrossEntropy": 'paddle.nn.CrossEntropyLoss(reduction="none")',
    "PipelineLayer": "paddle.nn.Sequential",
    "PipelineParallel": "fleet.distributed_model",
    "RowParallelLinear": "paddle.nn.Linear",
    "SegmentParallel": "fleet.distributed_model",
    "SharedLayerDesc": "one layer that is called twice",
    "ShardingParallel": "fleet.distributed_model",
    "TensorParallel": "fleet.distributed_model",
    "VocabParallelEmbedding": "paddle.nn.Embedding",
}


def __getattr__(name: str) -> Any:
    if name in _INSTEAD:
        raise NotSupported(
            f"paddle.distributed.fleet.meta_parallel.{name}: tensor and pipeline parallelism are "
            "not supported; "
            f"on one rank use {_INSTEAD[name]}"
        )
    raise AttributeError(
        f"module 'paddle.distributed.fleet.meta_parallel' has no attribute {name!r}."
        f"{nearest(name, [*_INSTEAD, *__all__])}"
    )
