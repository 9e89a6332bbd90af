"""Parameters as one vector and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from argosy.foundation.errors import BadArgument, UsageError
from argosy.tensor.engine import Tensor, wrap


def parameters_to_vector(parameters: Iterable[Tensor], name: str | None = None) -> Tensor:
    """Copy parameters into one vector, in order; the vector is a leaf that wants a gradient.

    Example:
        >>> import paddle
        >>> paddle.nn.utils.parameters_to_vector(paddle.nn.Linear(3, 2).parameters()).shape
        [8]
    """
    flat = torch.cat([p.raw.detach().reshape(-1) for p in parameters])
    return wrap(flat.requires_grad_(flat.is_floating_point()))


def vector_to_parameters(
    vec: Tensor, parameters: Sequence[Tensor], name: str | None = None
) -> None:
    """Copy consecutive pieces of a vector into parameters, in place."""
    if vec.ndim != 1:
        raise BadArgument(
            f"vector_to_parameters: vec must have one dimension, but its shape is {vec.shape}"
        )
    owners = list(parameters)
    needed = sum(p.size for p in owners)
    if needed > vec.size:
        raise UsageError(
            f"vector_to_parameters: the parameters have {needed} elements together, but vec has "
            f"only {vec.size}"
        )
    start = 0
    with torch.no_grad():
        for p in owners:
            p.raw.copy_(vec.raw[start : start + p.size].reshape(p.raw.shape))
            start += p.size
