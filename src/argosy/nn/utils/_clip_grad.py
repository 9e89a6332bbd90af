"""Clipping of the gradients that parameters hold, in place."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch

from argosy.foundation import torch_private as private
from argosy.foundation.errors import UsageError
from argosy.ops.training import clipping as ops
from argosy.tensor.engine import Tensor, wrap

_NORM_TYPES = (math.inf, 0, 1, 2)


class NonFiniteNorm(UsageError, RuntimeError):
    """The norm of the gradients is not a finite number."""


def _merged_grads(parameters: Any) -> list[torch.Tensor]:
    """The torch gradients of ``parameters``, sparse ones with their duplicate rows added up for
    good.
    """
    owners: Iterable[Tensor] = [parameters] if isinstance(parameters, Tensor) else parameters
    grads = []
    for parameter in owners:
        grad = parameter.raw.grad
        if grad is not None:
            if grad.layout is not torch.strided and not grad.is_coalesced():
                grad = parameter.raw.grad = grad.coalesce()
            grads.append(grad)
    return grads


@torch.no_grad()
def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Scale the gradients of ``parameters`` in place so that their joint norm is at most
    ``max_norm``; return that norm.

    ``norm_type`` is 0, 1, 2 or inf.
    """
    if norm_type not in _NORM_TYPES:
        raise UsageError(
            f"clip_grad_norm_: norm_type only supports {list(_NORM_TYPES)}, but received "
            f"{norm_type}"
        )
    max_norm = float(max_norm)
    order = float(norm_type)
    grads = _merged_grads(parameters)
    if not grads:
        return wrap(torch.tensor(0.0))
    total = torch.linalg.vector_norm(
        torch.stack(private.foreach_norm([ops.values_of(g) for g in grads], order)), order
    )
    if error_if_nonfinite and not bool(total.isfinite()):
        raise NonFiniteNorm(
            f"clip_grad_norm_: the total norm of order {order} of the gradients is "
            f"{total.item()}, so it cannot be clipped. "
            "Pass error_if_nonfinite=False to scale by it all the same."
        )
    ops.scale_(grads, (max_norm / (total + 1e-6)).clamp(max=1.0))
    return wrap(total)


@torch.no_grad()
def clip_grad_value_(parameters: Any, clip_value: float) -> None:
    """Limit every element of the gradients of ``parameters`` to [-clip_value, clip_value], in
    place.
    """
    bound = float(clip_value)
    if bound < 0:
        raise UsageError(
            f"clip_grad_value_: clip_value must not be negative, but received {clip_value}"
        )
    for grad in _merged_grads(parameters):
        ops.values_of(grad).clamp_(-bound, bound)
