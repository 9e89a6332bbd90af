"""Clipping of gradients. A row-sparse gradient has its duplicate rows added up first."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from argosy.foundation import torch_private as private
from argosy.foundation.errors import UsageError
from argosy.ops.table import op
from argosy.ops.traits import SparseGradients


def values_of(grad: Tensor) -> Tensor:
    """The stored numbers of a coalesced gradient, dense or row-sparse."""
    return grad if grad.layout is torch.strided else grad.values()


def merged(grads: Sequence[Tensor]) -> list[Tensor]:
    """The gradients with the duplicate rows of sparse ones added up."""
    return [g if g.layout is torch.strided else g.coalesce() for g in grads]


def _with_values(grad: Tensor, values: Tensor) -> Tensor:
    if grad.layout is torch.strided:
        return values
    return torch.sparse_coo_tensor(
        grad.indices(), values, grad.shape, is_coalesced=True, check_invariants=False
    )


def _in_float32(values: Tensor) -> Tensor:
    return values.float() if values.dtype in (torch.float16, torch.bfloat16) else values


def total_norm(grads: Sequence[Tensor]) -> Tensor:
    """The 2-norm of coalesced gradients taken together; that of half-precision ones is accumulated
    in float32.
    """
    norms = private.foreach_norm([_in_float32(values_of(g)) for g in grads])
    kinds = {norm.dtype for norm in norms}
    if len(kinds) > 1:
        norms = tuple(norm.double() for norm in norms)
    return torch.linalg.vector_norm(torch.stack(norms))


def shrink_factor(norm: Tensor, clip_norm: float) -> Tensor:
    """What to multiply by so that ``norm`` is at most ``clip_norm``."""
    return clip_norm / norm.clamp_min(clip_norm)


def scale_(grads: Sequence[Tensor], factor: Tensor) -> None:
    """Multiply coalesced gradients in place by a 0-d factor."""
    private.foreach_mul_([values_of(g) for g in grads], factor)


@op("squared_l2_norm")
def squared_l2_norm(x: Tensor) -> Tensor:
    return values_of(merged([x])[0]).square().sum().reshape(1)


@op("clip_grads_by_value", sparse_gradients=SparseGradients.PASSED_ON)
def clip_grads_by_value(grads: Sequence[Tensor], min: float, max: float) -> list[Tensor]:
    return [_with_values(g, values_of(g).clamp(min, max)) for g in merged(grads)]


@op("clip_by_norm")
def clip_by_norm(x: Tensor, max_norm: float) -> Tensor:
    """Scale ``x`` down so that its 2-norm is at most ``max_norm``."""
    if max_norm <= 0:
        raise UsageError(
            f"clip_by_norm: max_norm should be greater than 0, but received {max_norm}"
        )
    grad = merged([x])[0]
    values = values_of(grad)
    factor = shrink_factor(torch.linalg.vector_norm(_in_float32(values)), max_norm)
    return _with_values(grad, values * factor.to(values.dtype))


@op("clip_grads_by_norm", sparse_gradients=SparseGradients.PASSED_ON)
def clip_grads_by_norm(grads: Sequence[Tensor], max_norm: float) -> list[Tensor]:
    return [clip_by_norm.fn(g, max_norm) for g in grads]


@op("clip_grads_by_global_norm", sparse_gradients=SparseGradients.PASSED_ON)
def clip_grads_by_global_norm(grads: Sequence[Tensor], clip_norm: float) -> list[Tensor]:
    """Scale all gradients by one factor so that their joint 2-norm is at most ``clip_norm``."""
    dense = merged(grads)
    factor = shrink_factor(total_norm(dense), clip_norm)
    return [_with_values(g, values_of(g) * factor.to(g.dtype)) for g in dense]
