"""What ``fleet.distributed_model`` returns: the model with those stages of the plan that work
inside it.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch

from argosy.distributed.fleet.planning.strategy_plan import Plan
from argosy.distributed.fleet.stages.precision import MixedPrecision, TorchPrecision, cast_layer
from argosy.distributed.fleet.stages.recomputed import recompute_parts
from argosy.distributed.sharding.split_layer import SplitLayer
from argosy.foundation.errors import BadArgument
from argosy.nn import Layer, SyncBatchNorm
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.batch_norm import synchronised
from argosy.runtime.parallel.broadcast import broadcast_values
from argosy.runtime.parallel.compression import half_buckets, plain_bucket
from argosy.runtime.parallel.module import DataParallelModule
from argosy.runtime.parallel.reducer import Reducer, ReducerOptions
from argosy.runtime.parallel.sharded_optimizer import owners_of
from argosy.runtime.parallel.sharded_reducer import ShardedReducer
from argosy.runtime.parallel.sharding import Shards

__all__ = ["FleetLayer", "FleetModule", "wrap"]

_MEGABYTE = 1 << 20
_half_bucket = half_buckets(torch.float16)


class FleetLayer(SplitLayer):
    """Data parallelism with the plan's precision, its form of gradients on the wire, and, once the
    optimizer is known, owners for them or split parameters.
    """

    def __init__(self, layers: Layer, plan: Plan, group: Group | None) -> None:
        self._shards: Shards | None = None
        self._shard_replicas: Group | None = None
        self._precision: MixedPrecision | None = None
        self._followed = _inside(plan)
        self._take_over(plan)
        layers = _prepared_layer(layers, plan)
        if group is None:
            with warnings.catch_warnings():
                # DataParallel says that there is one process; here that is a matter of course
                warnings.simplefilter("ignore")
                super().__init__(layers)
            return
        settings = plan.settings("data_parallel")
        super().__init__(
            layers,
            comm_buffer_size=settings["bucket_MB"],
            last_comm_buffer_size=settings["last_bucket_MB"],
            find_unused_parameters=settings["find_unused_parameters"],
            group=group,
        )
        self.grad_need_sync = settings["averages_gradients"]

    def _take_over(self, plan: Plan) -> None:
        self._is_to_split = _is_fully_sharded(plan)
        self._precision = MixedPrecision(plan.settings("amp")) if "amp" in plan else None
        self._make_bucket = _bucket_of(plan)

    def follow(self, plan: Plan) -> None:
        """Take over what differs from the plan that it was made by: that one may not have known the
        optimizer, or its strategy.
        """
        if self._followed == _inside(plan):
            return
        self._followed = _inside(plan)
        reducer, self._reducer = self._reducer, None
        if reducer is not None:
            reducer.close()  # hooks must not see a parameter change its dtype
        averages = reducer is not None or self._is_to_split
        self._take_over(plan)
        self._layers = _prepared_layer(self._layers, plan)
        if averages:
            settings = plan.settings("data_parallel")
            self.comm_buffer_size = int(settings["bucket_MB"] * _MEGABYTE)
            self.last_comm_buffer_size = int(settings["last_bucket_MB"] * _MEGABYTE)
            self.find_unused_parameters = settings["find_unused_parameters"]
            self.grad_need_sync = settings["averages_gradients"]
            self.init_reducer()

    def shard_gradients(self, optimizer: Any, replicas: Group | None) -> None:
        """From now on leave each gradient only on the rank where ``optimizer`` (a sharded one)
        updates its parameter.
        """
        self._shards, self._shard_replicas = optimizer._shards, replicas
        self.init_reducer()

    def _make_reducer(
        self, raws: list[torch.Tensor], names: list[str], sparse: list[bool]
    ) -> Reducer | ShardedReducer:
        if self._shards is None:
            return super()._make_reducer(raws, names, sparse)
        owners = owners_of(raws, names, sparse, self._shards)
        return ShardedReducer(
            raws, names, owners, self._shards.group, self.comm_buffer_size, self._shard_replicas
        )

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if self._precision is None:
            return super().forward(*inputs, **kwargs)
        return self._precision.run(super().forward, inputs, kwargs)


class FleetModule(DataParallelModule):
    """The same for a torch module."""

    def __init__(self, module: torch.nn.Module, plan: Plan, group: Group | None) -> None:
        self._shards: Shards | None = None
        self._shard_replicas: Group | None = None
        self._workers = group
        self._followed = _inside(plan)
        own = None if _is_fully_sharded(plan) else group  # FSDP averages gradients itself
        super().__init__(_prepared_module(module, plan, group), own, _options(plan))
        if group is not None:
            self.grad_need_sync = plan.settings("data_parallel")["averages_gradients"]
            if own is None:
                group.run(
                    broadcast_values, [*module.parameters(), *module.buffers()], group.transport, 0
                )
        self._precision = _torch_precision(module, plan)

    def follow(self, plan: Plan) -> None:
        """Take over what differs from the plan that it was made by: that one may not have known the
        optimizer, or its strategy.
        """
        if self._followed == _inside(plan):
            return
        self._followed = _inside(plan)
        self.close()
        self.module = _prepared_module(self.module, plan, self._workers)
        self._precision = _torch_precision(self.module, plan)
        self._options = _options(plan)
        if self._workers is not None:
            self.grad_need_sync = plan.settings("data_parallel")["averages_gradients"]
            self._group = None if _is_fully_sharded(plan) else self._workers
            self.init_reducer()

    def shard_gradients(self, optimizer: Any, replicas: Group | None) -> None:
        """From now on leave each gradient only on the rank where ``optimizer`` (a sharded one)
        updates its parameter.
        """
        self._shards, self._shard_replicas = optimizer.shards, replicas
        self.init_reducer()

    def _make_reducer(
        self, params: list[torch.Tensor], names: list[str], sparse: list[bool], group: Group
    ) -> Reducer | ShardedReducer:
        if self._shards is None:
            return super()._make_reducer(params, names, sparse, group)
        owners = owners_of(params, names, sparse, self._shards)
        return ShardedReducer(
            params,
            names,
            owners,
            self._shards.group,
            self._options.bucket_bytes,
            self._shard_replicas,
        )

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if self._precision is None:
            return super().forward(*inputs, **kwargs)
        return self._precision.run(super().forward, inputs, kwargs)


def _inside(plan: Plan) -> dict[str, Any]:
    """What of a plan works inside the model."""
    names = ("sync_batch_norm", "recompute", "amp", "data_parallel", "fp16_allreduce")
    inside = {stage.name: dict(stage.settings) for stage in plan if stage.name in names}
    return {**inside, "is_fully_sharded": _is_fully_sharded(plan)}


def _is_fully_sharded(plan: Plan) -> bool:
    return "sharding" in plan and plan.settings("sharding")["stage"] == 3


def _bucket_of(plan: Plan) -> Any:
    return _half_bucket if "fp16_allreduce" in plan else plain_bucket


def _options(plan: Plan) -> ReducerOptions:
    if "data_parallel" not in plan:
        return ReducerOptions()
    settings = plan.settings("data_parallel")
    return ReducerOptions(
        bucket_bytes=int(settings["bucket_MB"] * _MEGABYTE),
        last_bucket_bytes=int(settings["last_bucket_MB"] * _MEGABYTE),
        find_unused_parameters=settings["find_unused_parameters"],
        make_bucket=_bucket_of(plan),
    )


def _torch_precision(module: torch.nn.Module, plan: Plan) -> TorchPrecision | None:
    return (
        TorchPrecision(plan.settings("amp"), next(module.parameters()).device.type)
        if "amp" in plan
        else None
    )


def _prepared_layer(layer: Layer, plan: Plan) -> Layer:
    """``layer`` with the stages that change its parts; doing it twice changes nothing."""
    if "sync_batch_norm" in plan:
        layer = SyncBatchNorm.convert_sync_batchnorm(layer)
    if "recompute" in plan:
        recompute_parts(layer, plan.settings("recompute")["checkpoints"])
    if "amp" in plan and plan.settings("amp")["level"] == "O2":
        cast_layer(layer, plan.settings("amp")["dtype"])
    return layer


def _prepared_module(module: torch.nn.Module, plan: Plan, group: Group | None) -> torch.nn.Module:
    if "sync_batch_norm" in plan and group is not None:
        module = synchronised(module, group)
    if "recompute" in plan:
        recompute_parts(module, plan.settings("recompute")["checkpoints"])
    return module


def wrap(model: Any, plan: Plan, group: Group | None) -> Any:
    """``model``, a Layer or a torch module, ready to be trained as ``plan`` says by the ranks of
    ``group`` (None: one process).
    """
    if isinstance(model, torch.nn.Module):
        return FleetModule(model, plan, group)
    if isinstance(model, Layer):
        return FleetLayer(model, plan, group)
    raise BadArgument(
        "distributed_model: model must be a paddle.nn.Layer or a torch.nn.Module, but is a "
        f"{type(model).__name__}"
    )
