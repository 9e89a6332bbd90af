"""The model wrappers of sharding: data parallelism in which gradients may stay with their
owners.
"""

from __future__ import annotations

from typing import Any

import torch

from argosy.distributed.parallel import DataParallel, sync_params_buffers
from argosy.distributed.sharding.sharded_optimizer import ShardedOptimizer
from argosy.distributed.sharding.split_layer import SplitLayer
from argosy.foundation.errors import NotSupported
from argosy.nn import Layer
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.broadcast import broadcast_values
from argosy.runtime.parallel.reducer import Reducer, ReducerOptions
from argosy.runtime.parallel.sharded_optimizer import owners_of
from argosy.runtime.parallel.sharded_reducer import ReplicatedReducer, ShardedReducer

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
        if self._syncs_buffers and self.training:
            for group in (self.group, self._replicas):
                if group is not None:
                    group.run(
                        broadcast_values,
                        [b.raw for b in self._layers.buffers()],
                        group.transport,
                        0,
                    )
        return super().forward(*inputs, **kwargs)

    def __getattr__(self, name: str) -> Any:
        """What the wrapper does not have is the layer's."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            if "_layers" not in self.__dict__.get("_sub_layers", ()):
                raise
            return getattr(self._layers, name)


class ShardedGradientsLayer(ShardedLayer):
    """Stage 2: a gradient is averaged on the rank that owns its parameter, and None on the others.

    ``replicas`` are the ranks, one of each sharding group, that own the same parameters.
    """

    def _make_reducer(
        self, raws: list[torch.Tensor], names: list[str], sparse: list[bool]
    ) -> Reducer | ShardedReducer:
        assert self.group is not None
        owners = owners_of(raws, names, sparse, self._sharded_optimizer._shards)
        return ShardedReducer(
            raws, names, owners, self.group, self.comm_buffer_size, self._replicas
        )


class ShardedParametersLayer(SplitLayer, ShardedLayer):
    """Stage 3: parameters are split, and each rank has the gradients of its parts.
    ``split_parameters`` completes it.
    """

    _is_to_split = True

    def _make_reducer(
        self, raws: list[torch.Tensor], names: list[str], sparse: list[bool]
    ) -> Reducer | ShardedReducer:
        if self._replicas is None:
            return super()._make_reducer(raws, names, sparse)
        if any(sparse):
            name = names[sparse.index(True)]
            raise NotSupported(
                f"sharding stage 3 with dp_group: parameter {name!r} has row-sparse gradients"
            )
        assert self.group is not None
        options = ReducerOptions(
            bucket_bytes=self.comm_buffer_size, last_bucket_bytes=self.last_comm_buffer_size
        )
        return ReplicatedReducer(raws, names, sparse, self.group, options, self._replicas)
