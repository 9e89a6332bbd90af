"""``group_sharded_parallel``: sharding of a model and its optimizer with one call."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch

from argosy.distributed.communication.group import is_initialized
from argosy.distributed.job import default_group, job
from argosy.distributed.parallel import parallel_env
from argosy.distributed.scaler import agree_on_overflow
from argosy.distributed.sharding.sharded_layer import ShardedLayer
from argosy.distributed.sharding.sharded_optimizer import ShardedOptimizer
from argosy.distributed.sharding.sharded_parameters import SplitParameter
from argosy.distributed.sharding.split_optimizer import SplitOptimizer, check_parameters
from argosy.foundation.errors import BadArgument, NotSupported, UsageError
from argosy.framework import save
from argosy.nn import Layer
from argosy.optimizer import LBFGS, Optimizer
from argosy.runtime.comm.backends.loopback import LoopbackBackend
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.broadcast import broadcast_values
from argosy.runtime.parallel.exchange import (
    GradientExchange,
    OwnedGradients,
    ReplicatedGradients,
)
from argosy.runtime.parallel.module import DataParallelModule
from argosy.runtime.parallel.reducer import ReducerOptions
from argosy.runtime.parallel.sharding import sharded_optimizer as runtime
from argosy.runtime.parallel.sharding.full_sharding import shard_fully, torch_group

__all__ = ["group_sharded_parallel", "save_group_sharded_model"]

_LEVELS = ("os", "os_g", "p_g_os")
_BYTES_PER_ELEMENT = 4  # buffer_max_size counts elements


def group_sharded_parallel(
    model: Any,
    optimizer: Any,
    level: str,
    scaler: Any = None,
    group: Group | None = None,
    offload: bool = False,
    sync_buffers: bool = False,
    buffer_max_size: int = 2**23,
    segment_size: int = 2**20,
    sync_comm: bool = False,
    dp_group: Group | None = None,
    exclude_layer: Sequence[str | int] | None = None,
) -> tuple[Any, Any, Any]:
    """Split the optimizer's state (``os``), the gradients too (``os_g``), and the parameters
    (``p_g_os``) over the ranks of ``group``; returns the three, wrapped.

    Use the returned model, optimizer and scaler as before; load states before the call, or into
    what it returns. ``sync_buffers`` gives all ranks the buffers of the first before each forward
    in training. ``dp_group``: the ranks, one of each sharding group, that have the same shards;
    gradients are averaged over them too. ``buffer_max_size`` (elements that travel together) and
    ``sync_comm`` only tune; parameters are always gathered when they are needed.

    ``p_g_os`` splits parameters of more than ``segment_size`` elements, unless their layer is in
    ``exclude_layer`` (names of classes, or ``id(layer)``), and makes them whole while their layer
    runs. ``model.get_all_parameters()`` does so between steps. Ranks must run the same layers in
    the same order.

    ``model`` and ``optimizer`` may be PyTorch's. Then ``p_g_os`` is ``fully_shard``: parts of at
    least ``segment_size`` elements are gathered one at a time.

    Differs from Paddle: it works on CPU; without ``dp_group``, ``os`` averages gradients on every
    rank instead of doing what ``os_g`` does; ``offload`` of a GPU's state is not supported.
    """
    if level not in _LEVELS:
        raise BadArgument(f"The level must be os, os_g or p_g_os, but is {level!r}.")
    if isinstance(model, torch.nn.Module):
        if offload or sync_buffers or dp_group is not None or exclude_layer:
            raise NotSupported(
                "group_sharded_parallel: offload, sync_buffers, dp_group and exclude_layer for a "
                "torch module"
            )
        return _shard_torch(model, optimizer, level, scaler, group, buffer_max_size, segment_size)
    _refuse(model, optimizer, offload)
    excluded = _listed(exclude_layer)
    check_parameters(model, optimizer)
    chosen = group if group is not None else _default_group()
    replicas = dp_group if dp_group is not None and dp_group.nranks > 1 else None
    options, is_split = _options(buffer_max_size), level == "p_g_os"
    sharded = (SplitOptimizer if is_split else ShardedOptimizer)(optimizer, chosen)
    exchange: GradientExchange | None = None
    if is_split and replicas is not None:
        exchange = ReplicatedGradients(chosen, options, replicas)
    elif level == "os_g" or replicas is not None:
        exchange = OwnedGradients(sharded.shards, options.bucket_bytes, replicas)
    wrapped = ShardedLayer(
        model, exchange, chosen, sync_buffers, options.bucket_bytes, replicas, is_split
    )
    if isinstance(sharded, SplitOptimizer):
        wrapped.split_parameters(sharded, replicas, segment_size, excluded)
    return wrapped, sharded, scaler if scaler is None else agree_on_overflow(scaler, chosen)


def _options(buffer_max_size: int) -> ReducerOptions:
    return ReducerOptions(bucket_bytes=buffer_max_size * _BYTES_PER_ELEMENT)


def _default_group() -> Group:
    """All ranks; a process that is alone is a group of its own, so that a script also runs without
    a launcher.
    """
    if not is_initialized() and parallel_env().world_size < 2:
        return Group(id=0, name="alone", ranks=[0], global_rank=0, transport=LoopbackBackend())
    return default_group("group_sharded_parallel")


def _listed(exclude_layer: Any) -> Sequence[str | int]:
    if exclude_layer is not None and not isinstance(exclude_layer, (list, tuple)):
        raise BadArgument("the exclude_layers must be a list with layers' name or layers' id")
    return exclude_layer or ()


def _refuse(model: Any, optimizer: Any, offload: bool) -> None:
    if not isinstance(model, Layer):
        raise BadArgument(
            f"The model must be the instance of paddle.nn.Layer, but is a {type(model).__name__}."
        )
    if not isinstance(optimizer, Optimizer):
        raise BadArgument(
            "The optimizer must be the instance of paddle.optimizer.Optimizer, but is a "
            f"{type(optimizer).__name__}."
        )
    if offload and any(p.raw.device.type != "cpu" for p in model.parameters()):
        raise NotSupported(
            "group_sharded_parallel: offload=True (optimizer state in the memory of the host)"
        )
    if isinstance(model, ShardedLayer) or any(
        isinstance(p, SplitParameter) for p in model.parameters()
    ):
        raise UsageError("group_sharded_parallel: this model is sharded already")
    if isinstance(optimizer, ShardedOptimizer):
        raise UsageError("group_sharded_parallel: this optimizer is sharded already")
    if isinstance(optimizer, LBFGS):
        raise NotSupported("group_sharded_parallel: LBFGS, whose update mixes all parameters")
    if optimizer.has_master_grad:
        raise NotSupported("group_sharded_parallel: an optimizer of amp.decorate(master_grad=True)")


def _shard_torch(
    module: torch.nn.Module,
    optimizer: Any,
    level: str,
    scaler: Any,
    group: Group | None,
    buffer_max_size: int,
    segment_size: int,
) -> tuple[Any, Any, Any]:
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise BadArgument(
            "group_sharded_parallel: the optimizer of a torch module must be a "
            f"torch.optim.Optimizer, but is a {type(optimizer).__name__}"
        )
    chosen = group if group is not None else _default_group()
    if level == "p_g_os":
        if job.session is None:
            raise UsageError("group_sharded_parallel: level 'p_g_os' needs several processes")
        device_type = next(module.parameters()).device.type
        chosen.run(broadcast_values, [*module.parameters(), *module.buffers()], chosen.transport, 0)
        shard_fully(module, optimizer, torch_group(job.session, chosen, device_type), segment_size)
        return module, optimizer, scaler
    sharded = runtime.ShardedOptimizer(optimizer, chosen)
    options = _options(buffer_max_size)
    owned = OwnedGradients(sharded.shards, options.bucket_bytes) if level == "os_g" else None
    wrapped = DataParallelModule(module, chosen, options, exchange=owned)
    return wrapped, sharded, scaler if scaler is None else agree_on_overflow(scaler, chosen)


def save_group_sharded_model(model: Layer, output: str, optimizer: Any = None) -> None:
    """Write ``model.pdmodel`` and, with ``optimizer``, ``model.pdopt`` into directory ``output``.
    Every rank calls it; the group's first one writes.

    ``model.pdopt`` holds the state of all parameters, for any number of ranks. Differs from Paddle,
    where each rank writes its part over the others'.
    """
    if os.path.isfile(output):
        raise BadArgument(f"Saving directory ({output}) should be a directory, not a file")
    if not isinstance(model, ShardedLayer):
        raise UsageError("Please use the layer which is wrapped with group_sharded_parallel.")
    if optimizer is not None and not isinstance(optimizer, ShardedOptimizer):
        raise BadArgument("Please use the optimizer which is wrapped with group_sharded_parallel.")
    assert model.group is not None
    whole = None if optimizer is None else optimizer.full_state_dict(dst=0)
    state = model.whole_state(dst=0)
    if model.group.rank == 0:
        os.makedirs(output, exist_ok=True)
        save(state, os.path.join(output, "model.pdmodel"))
        if whole is not None:
            save(whole, os.path.join(output, "model.pdopt"))
    model.group.run(model.group.transport.barrier)  # nobody reads before it is written
