"""Averaging gradients by hand, after a backward that did not synchronise them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.distributed.job import default_group
from argosy.distributed.parallel import sync_params_buffers
from argosy.foundation.errors import BadArgument
from argosy.nn import Layer
from argosy.runtime.comm.group import Group
from argosy.runtime.parallel.averages import combine_gradients
from argosy.tensor.engine import Tensor

__all__ = [
    "broadcast_dp_parameters", "broadcast_sharding_parameters", "fused_allreduce_gradients",
    "fused_allreduce_gradients_with_group",
]  # fmt: skip


def fused_allreduce_gradients(parameter_list: Sequence[Tensor], hcg: Any) -> None:
    """Replace the gradients of ``parameter_list`` by their mean over the data-parallel ranks of
    ``hcg``, of all ranks if that is None.

    With context parallelism (``sep``) the gradients of its ranks are added up.
    """
    if hcg is None:
        fused_allreduce_gradients_with_group(parameter_list, None)
        return
    is_data_parallel = hcg.get_data_parallel_world_size() > 1
    is_split = hcg.get_sep_parallel_world_size() > 1
    if not is_data_parallel and not is_split:
        raise BadArgument(
            "fused_allreduce_gradients: the topology has one rank in both of its dp and sep "
            "dimensions"
        )
    scale = 1.0 / hcg.get_data_parallel_group().nranks if is_data_parallel else 1.0
    if is_split:
        group = (
            hcg.get_dp_sep_parallel_group() if is_data_parallel else hcg.get_sep_parallel_group()
        )
    else:
        group = hcg.get_data_parallel_group()
    fused_allreduce_gradients_with_group(parameter_list, group, scale=scale)


def fused_allreduce_gradients_with_group(
    parameter_list: Sequence[Tensor],
    group: Group | None,
    bucket_size: int = 128 * 1024 * 1024,
    scale: float | None = None,
) -> None:
    """Replace the gradients by their sum over ``group`` times ``scale``, by default their mean.
    ``bucket_size`` only tunes.
    """
    chosen = group if group is not None else default_group("fused_allreduce_gradients")
    present = [p.grad for p in parameter_list if not p.stop_gradient]
    grads = [grad.raw for grad in present if grad is not None]
    if any(grad.is_sparse for grad in grads):
        raise BadArgument(
            "fused_allreduce_gradients: row-sparse gradients are not supported; average them "
            "with DataParallel"
        )
    if grads:
        chosen.run(
            combine_gradients,
            grads,
            1.0 / chosen.nranks if scale is None else scale,
            chosen.transport,
        )


def broadcast_dp_parameters(model: Layer, hcg: Any, fuse_params: bool = True) -> None:
    """Give the data-parallel ranks of ``hcg`` the parameters of their first. ``fuse_params`` only
    tunes.
    """
    _broadcast(model, hcg.get_data_parallel_group(), fuse_params)


def broadcast_sharding_parameters(model: Layer, hcg: Any, fuse_params: bool = True) -> None:
    """Give the ranks of ``hcg`` that split optimizer state the parameters of their first.
    ``fuse_params`` only tunes.
    """
    _broadcast(model, hcg.get_sharding_parallel_group(), fuse_params)


def _broadcast(model: Layer, group: Group, fuse_params: bool) -> None:
    if group.nranks > 1:
        sync_params_buffers(model, group, group.ranks[0], fuse_params=fuse_params)
