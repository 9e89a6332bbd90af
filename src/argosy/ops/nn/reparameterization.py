"""Weights computed from other tensors: weight normalisation and spectral normalisation."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize

from argosy.ops.table import op


def _other_axes(x: Tensor, axis: int) -> list[int]:
    """Every axis but ``axis``; all of them for -1."""
    return [d for d in range(x.ndim) if d != axis]


@op("weight_norm_magnitude")
def weight_norm_magnitude(weight: Tensor, axis: int) -> Tensor:
    """The 2-norm of each slice along ``axis``, or of the whole tensor for -1."""
    axes = _other_axes(weight, axis)
    squares = weight.square()
    return torch.sqrt((squares.sum(axes) if axes else squares) + 1e-12)


@op("weight_norm_extents")
def weight_norm_extents(weight: Tensor, axis: int) -> Tensor:
    """The 2-norm of each slice along ``axis``, or of the whole tensor for -1, with all dimensions
    kept.
    """
    axes = _other_axes(weight, axis)
    return torch.linalg.vector_norm(weight, dim=axes, keepdim=True) if axes else weight.abs()


@op("weight_norm")
def weight_norm(direction: Tensor, magnitude: Tensor, axis: int) -> Tensor:
    """``direction`` with each slice along ``axis`` scaled to the 2-norm ``magnitude``."""
    axes = _other_axes(direction, axis)
    if axis == -1:
        return direction / (direction.square().sum().sqrt() + 1e-12) * magnitude
    norm = torch.linalg.vector_norm(direction, dim=axes, keepdim=True) if axes else direction.abs()
    shape = [n if d == axis else 1 for d, n in enumerate(direction.shape)]
    return direction / norm.clamp_min(1e-12) * magnitude.reshape(shape)


def _as_matrix(weight: Tensor, axis: int) -> Tensor:
    return weight.movedim(axis, 0).flatten(1)


@op("spectral_power_iteration")
def spectral_power_iteration(
    weight: Tensor, u: Tensor, v: Tensor, axis: int, steps: int, epsilon: float
) -> tuple[Tensor, Tensor]:
    """Bring ``u`` and ``v`` nearer to the first singular vectors of the weight seen as a matrix
    with ``axis`` as rows.
    """
    matrix = _as_matrix(weight, axis)
    for _ in range(steps):
        v = normalize(matrix.mT @ u, dim=0, eps=epsilon)
        u = normalize(matrix @ v, dim=0, eps=epsilon)
    return u, v


@op("spectral_scale")
def spectral_scale(weight: Tensor, u: Tensor, v: Tensor, axis: int) -> Tensor:
    """The weight divided by the singular value that ``u`` and ``v`` belong to."""
    return weight / torch.dot(u, torch.mv(_as_matrix(weight, axis), v))
