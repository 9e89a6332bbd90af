"""The model wrappers of sharding: data parallelism in which gradients may stay with their owners."""

from __future__ import annotations

from typing import Any

import torch

from argosy.distributed._data_parallel import DataParallel, sync_params_buffers
from argosy.distributed._group import Group
from argosy.distributed.sharding._optimizer import ShardedOptimizer
from argosy.nn import Layer
from argosy.runtime.parallel.broadcast import broadcast_values
from argosy.runtime.parallel.reducer import Reducer
from argosy.runtime.parallel.sharded_optimizer import owners_of
from argosy.runtime.parallel.sharded_reducer import ShardedReducer

_MEGABYTE = 1 << 20


class ShardedLayer(DataParallel):
    """Stage 1: gradients are averaged on every rank of ``group``."""

    def __init__(
        self,
        layers: Layer,
        optimizer: ShardedOptimizer,
        group: Group,
        sync_buffers: bool = False,
        bucket_bytes: int = 25 * _MEGABYTE,
        replicas: Group | None = None,
    ) -> None:
        self._sharded_optimizer = optimizer
        self._replicas = replicas
        if replicas is not None:
            sync_params_buffers(layers, replicas, replicas.ranks[0])
        super().__init__(layers, comm_buffer_size=bucket_bytes / _MEGABYTE, group=group)  # type: ignore[arg-type]
        self.group = group
        self._syncs_buffers = sync_buffers

    @property
    def _layer(self) -> Layer:
        return self._layers

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if self._syncs_buffers and self.training and self.group is not None:
            inner = self.group._inner
            inner.run(broadcast_values, [b._t for b in self._layers.buffers()], inner.backend, 0)
        return super().forward(*inputs, **kwargs)


class ShardedGradientsLayer(ShardedLayer):
    """Stage 2: a gradient is averaged on the rank that owns its parameter, and None on the others.

    ``replicas`` are the ranks, one of each sharding group, that own the same parameters.
    """

    def _make_reducer(self, raws: list[torch.Tensor], names: list[str], sparse: list[bool]) -> Reducer | ShardedReducer:
        assert self.group is not None
        owners = owners_of(raws, names, sparse, self._sharded_optimizer._shards)
        replicas = None if self._replicas is None else self._replicas._inner
        return ShardedReducer(raws, names, owners, self.group._inner, self.comm_buffer_size, replicas)
