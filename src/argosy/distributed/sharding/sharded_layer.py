"""The model that ``group_sharded_parallel`` returns."""

from __future__ import annotations

from typing import Any

from argosy.distributed.parallel import sync_params_buffers
from argosy.distributed.sharding.split_layer import SplitLayer
from argosy.nn import Layer
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.broadcast import broadcast_values
from argosy.runtime.parallel.exchange import GradientExchange

_MEGABYTE = 1 << 20


class ShardedLayer(SplitLayer):
    """Data parallelism in which gradients may stay with their owners, as ``exchange`` says; None
    averages them on every rank of ``group``.

    With ``is_to_split`` parameters are split, and each rank has the gradients of its parts;
    ``split_parameters`` completes it.
    """

    def __init__(
        self,
        layers: Layer,
        exchange: GradientExchange | None,
        group: Group,
        sync_buffers: bool,
        bucket_bytes: int,
        replicas: Group | None,
        is_to_split: bool = False,
    ) -> None:
        self._replicas = replicas
        self._is_to_split = is_to_split
        if replicas is not None:
            sync_params_buffers(layers, replicas, replicas.ranks[0])
        megabytes: Any = bucket_bytes / _MEGABYTE
        super().__init__(layers, comm_buffer_size=megabytes, group=group, exchange=exchange)
        self.group = group
        self._syncs_buffers = sync_buffers

    @property
    def _layer(self) -> Layer:
        return self._layers

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if self._syncs_buffers and self.training:
            buffers = [b.raw for b in self._layers.buffers()]
            for group in (self.group, self._replicas):
                if group is not None:
                    group.run(broadcast_values, buffers, group.transport, 0)
        return super().forward(*inputs, **kwargs)

    def __getattr__(self, name: str) -> Any:
        """What the wrapper does not have is the layer's."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            if "_layers" not in self.__dict__.get("_sub_layers", ()):
                raise
            return getattr(self._layers, name)
