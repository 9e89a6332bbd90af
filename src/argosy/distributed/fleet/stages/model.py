"""What ``fleet.distributed_model`` returns: the model with those stages of the plan that work
inside it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch

from argosy.distributed.fleet.planning.settings import (
    Amp,
    DataParallel,
    Int8Allreduce,
    Recompute,
    Sharding,
    Stage,
)
from argosy.distributed.fleet.planning.strategy_plan import Plan
from argosy.distributed.fleet.stages.precision import MixedPrecision, TorchPrecision, cast_layer
from argosy.distributed.fleet.stages.recomputed import recompute_parts
from argosy.distributed.sharding.split_layer import SplitLayer
from argosy.foundation.errors import BadArgument
from argosy.nn import Layer, SyncBatchNorm
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.batch_norm import synchronised
from argosy.runtime.parallel.broadcast import broadcast_values
from argosy.runtime.parallel.compression import BucketMaker, half_buckets, plain_bucket
from argosy.runtime.parallel.exchange import AveragedGradients, GradientExchange, OwnedGradients
from argosy.runtime.parallel.module import DataParallelModule
from argosy.runtime.parallel.quantised import quantised_buckets
from argosy.runtime.parallel.reducer import ReducerOptions
from argosy.runtime.parallel.sharding.shards import Shards

__all__ = ["FleetLayer", "FleetModule", "trained_parameters", "wrap"]

_MEGABYTE = 1 << 20
_half_bucket = half_buckets(torch.float16)


class _Planned:
    """What the wrappers of a Layer and of a torch module have in common."""

    _plan: Plan
    _exchange: GradientExchange | None
    precision: MixedPrecision | None
    init_reducer: Callable[[], None]

    def shard_gradients(self, shards: Shards, replicas: Group | None) -> None:
        """From now on leave each gradient only on the rank that owns its parameter."""
        self._exchange = OwnedGradients(shards, _options(self._plan).bucket_bytes, replicas)
        self.init_reducer()

    def _run(self, forward: Callable[..., Any], inputs: Any, kwargs: Any) -> Any:
        if self.precision is None:
            return forward(*inputs, **kwargs)
        return self.precision.run(forward, inputs, kwargs)


class FleetLayer(_Planned, SplitLayer):
    """Data parallelism with the plan's precision, its form of gradients on the wire, and, once the
    optimizer is known, owners for them or split parameters.
    """

    def __init__(self, layers: Layer, plan: Plan, group: Group | None) -> None:
        layers = self._take_over(layers, plan)
        if group is None:
            with warnings.catch_warnings():
                # DataParallel says that there is one process; here that is a matter of course
                warnings.simplefilter("ignore")
                super().__init__(layers)
            return
        settings = plan[DataParallel]
        super().__init__(
            layers,
            comm_buffer_size=settings.bucket_MB,
            last_comm_buffer_size=settings.last_bucket_MB,
            find_unused_parameters=settings.find_unused_parameters,
            group=group,
            exchange=AveragedGradients(group, _options(plan)),
        )
        self.grad_need_sync = settings.averages_gradients

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self._run(super().forward, inputs, kwargs)

    def _take_over(self, layers: Layer, plan: Plan) -> Layer:
        self._plan = plan
        self._is_to_split = _is_fully_sharded(plan)
        self.precision = MixedPrecision(plan[Amp]) if "amp" in plan else None
        return _prepared_layer(layers, plan)

    def follow(self, plan: Plan) -> None:
        """Take over what differs from the plan that it was made by: that one may not have known the
        optimizer, or its strategy.
        """
        if _inside(self._plan) == _inside(plan):
            return
        reducer, self._reducer = self._reducer, None
        if reducer is not None:
            reducer.close()  # hooks must not see a parameter change its dtype
        averages = reducer is not None or self._is_to_split
        self._layers = self._take_over(self._layers, plan)
        if averages and self.group is not None:
            self._exchange = AveragedGradients(self.group, _options(plan))
            self.grad_need_sync = plan[DataParallel].averages_gradients
            self.init_reducer()


class FleetModule(_Planned, DataParallelModule):
    """The same for a torch module."""

    is_split = False  # FSDP hands gradients out by itself

    def __init__(self, module: torch.nn.Module, plan: Plan, group: Group | None) -> None:
        self._group = group
        self._plan = plan
        own = None if _is_fully_sharded(plan) else group  # FSDP averages gradients itself
        super().__init__(_prepared_module(module, plan, group), own, _options(plan))
        if group is not None:
            self.grad_need_sync = plan[DataParallel].averages_gradients
            if own is None:
                group.run(
                    broadcast_values, [*module.parameters(), *module.buffers()], group.transport, 0
                )
        self.precision = _torch_precision(module, plan)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self._run(super().forward, inputs, kwargs)

    def follow(self, plan: Plan) -> None:
        """Take over what differs from the plan that it was made by: that one may not have known the
        optimizer, or its strategy.
        """
        if _inside(self._plan) == _inside(plan):
            return
        self._plan = plan
        self.close()
        self.module = _prepared_module(self.module, plan, self._group)
        self.precision = _torch_precision(self.module, plan)
        if self._group is not None:
            self.grad_need_sync = plan[DataParallel].averages_gradients
            self._exchange = (
                None if _is_fully_sharded(plan) else AveragedGradients(self._group, _options(plan))
            )
            self.init_reducer()


def _inside(plan: Plan) -> tuple[list[Stage], bool]:
    """What of a plan works inside the model."""
    names = (
        *("sync_batch_norm", "recompute", "amp", "data_parallel", "fp16_allreduce"),
        *("int8_allreduce", "factored_allreduce"),
    )
    return [stage for stage in plan if stage.name in names], _is_fully_sharded(plan)


def _is_fully_sharded(plan: Plan) -> bool:
    return "sharding" in plan and plan[Sharding].stage == 3


def _options(plan: Plan) -> ReducerOptions:
    if "data_parallel" not in plan:
        return ReducerOptions()
    settings = plan[DataParallel]
    return ReducerOptions(
        bucket_bytes=int(settings.bucket_MB * _MEGABYTE),
        last_bucket_bytes=int(settings.last_bucket_MB * _MEGABYTE),
        find_unused_parameters=settings.find_unused_parameters,
        make_bucket=_bucket_maker(plan),
        factors_between_hosts="factored_allreduce" in plan,
    )


def _bucket_maker(plan: Plan) -> BucketMaker:
    if "int8_allreduce" in plan:
        return quantised_buckets(plan[Int8Allreduce].block_size)
    return _half_bucket if "fp16_allreduce" in plan else plain_bucket


def _torch_precision(module: torch.nn.Module, plan: Plan) -> TorchPrecision | None:
    return (
        TorchPrecision(plan[Amp], next(module.parameters()).device.type) if "amp" in plan else None
    )


def _prepared_layer(layer: Layer, plan: Plan) -> Layer:
    """``layer`` with the stages that change its parts; doing it twice changes nothing."""
    if "sync_batch_norm" in plan:
        layer = SyncBatchNorm.convert_sync_batchnorm(layer)
    if "recompute" in plan:
        recompute_parts(layer, plan[Recompute].checkpoints)
    if "amp" in plan and plan[Amp].level == "O2":
        cast_layer(layer, plan[Amp].dtype)
    return layer


def _prepared_module(module: torch.nn.Module, plan: Plan, group: Group | None) -> torch.nn.Module:
    if "sync_batch_norm" in plan and group is not None:
        module = synchronised(module, group)
    if "recompute" in plan:
        recompute_parts(module, plan[Recompute].checkpoints)
    return module


def trained_parameters(model: Any) -> list[torch.Tensor]:
    """Those of a Layer or a torch module; none of anything else, which ``wrap`` refuses."""
    if isinstance(model, torch.nn.Module):
        return [p for p in model.parameters() if p.requires_grad]
    if isinstance(model, Layer):
        return [p.raw for p in model.parameters() if not p.stop_gradient]
    return []


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
