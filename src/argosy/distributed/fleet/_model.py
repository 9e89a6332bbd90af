"""What ``fleet.distributed_model`` returns: the model with those stages of the plan that work inside it."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from argosy.distributed._data_parallel import DataParallel
from argosy.distributed._group import Group
from argosy.distributed.fleet._plan import Plan
from argosy.foundation.errors import BadArgument, NotSupported
from argosy.nn import Layer, SyncBatchNorm
from argosy.runtime.parallel.compression import half_buckets, plain_bucket
from argosy.runtime.parallel.module import DataParallelModule
from argosy.runtime.parallel.reducer import ReducerOptions

__all__ = ["wrap"]

_MEGABYTE = 1 << 20


class HalfDataParallel(DataParallel):
    """Data parallelism whose float32 gradients travel as float16."""

    _make_bucket = staticmethod(half_buckets(torch.float16))  # type: ignore[assignment]  # the same call, unnamed


def wrap(model: Any, plan: Plan, group: Group | None) -> Any:
    """``model``, a Layer or a torch module, ready to be trained as ``plan`` says by the ranks of ``group`` (None: one process)."""
    if isinstance(model, torch.nn.Module):
        return _wrap_torch(model, plan, group)
    if not isinstance(model, Layer):
        raise BadArgument(
            f"distributed_model: model must be a paddle.nn.Layer or a torch.nn.Module, but is a {type(model).__name__}"
        )
    if "sync_batch_norm" in plan:
        model = SyncBatchNorm.convert_sync_batchnorm(model)
    if group is None:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # DataParallel says that there is one process; here that is a matter of course
            return DataParallel(model)
    settings = plan.settings("data_parallel")
    kind = HalfDataParallel if "fp16_allreduce" in plan else DataParallel
    wrapped = kind(
        model,
        comm_buffer_size=settings["bucket_MB"],
        last_comm_buffer_size=settings["last_bucket_MB"],
        find_unused_parameters=settings["find_unused_parameters"],
        group=group,
    )
    wrapped.grad_need_sync = settings["averages_gradients"]
    return wrapped


def _wrap_torch(module: torch.nn.Module, plan: Plan, group: Group | None) -> DataParallelModule:
    if "sync_batch_norm" in plan:
        raise NotSupported("DistributedStrategy.sync_batch_norm: torch modules are not converted")
    if group is None:
        return DataParallelModule(module, None, ReducerOptions())
    settings = plan.settings("data_parallel")
    options = ReducerOptions(
        bucket_bytes=int(settings["bucket_MB"] * _MEGABYTE),
        last_bucket_bytes=int(settings["last_bucket_MB"] * _MEGABYTE),
        find_unused_parameters=settings["find_unused_parameters"],
        make_bucket=half_buckets(torch.float16) if "fp16_allreduce" in plan else plain_bucket,
    )
    wrapped = DataParallelModule(module, group._inner, options)
    wrapped.grad_need_sync = settings["averages_gradients"]
    return wrapped
