"""Spectral normalisation: a weight divided by an estimate of its largest singular value before
every forward.
"""

from __future__ import annotations

from typing import Any

import torch

from argosy.autograd import no_grad
from argosy.foundation.errors import NotSupported, UsageError
from argosy.framework import in_dynamic_mode
from argosy.nn import layer as layers
from argosy.nn.layer.layers import Layer
from argosy.nn.utils._computed import read_computed
from argosy.nn.utils.weight_norm_hook import check_once
from argosy.ops.nn import reparameterization as ops
from argosy.tensor.engine import Tensor, apply, wrap


class SpectralNorm:
    """The pre-hook that recomputes ``name`` from ``name_orig``; in training it first refines the
    singular vectors.
    """

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        if n_power_iterations <= 0:
            raise UsageError(
                "spectral_norm: n_power_iterations must be positive, but received "
                f"{n_power_iterations}"
            )
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def compute_weight(self, layer: Layer, do_power_iteration: bool) -> Any:
        weight, u, v = (getattr(layer, f"{self.name}_{part}") for part in ("orig", "u", "v"))
        if do_power_iteration:
            with no_grad():
                new_u, new_v = apply(
                    ops.spectral_power_iteration,
                    weight,
                    u,
                    v,
                    self.dim,
                    self.n_power_iterations,
                    self.eps,
                )
            u.set_value(new_u)
            v.set_value(new_v)
            # the next call overwrites u and v, which this one's backward needs as they are now
            u, v = new_u, new_v
        return apply(ops.spectral_scale, weight, u, v, self.dim)

    def __call__(self, layer: Layer, inputs: Any) -> None:
        setattr(layer, self.name, self.compute_weight(layer, do_power_iteration=layer.training))

    @staticmethod
    def apply(
        layer: Layer, name: str, n_power_iterations: int, dim: int, eps: float
    ) -> SpectralNorm:
        """Move the parameter ``name`` of ``layer`` to ``name_orig`` and register the hook."""
        if not in_dynamic_mode():
            raise NotSupported(
                "nn.utils.spectral_norm: its singular vectors are buffers, which a program does "
                "not keep from run to run; "
                "use paddle.static.nn.spectral_norm or paddle.nn.SpectralNorm"
            )
        check_once(layer, SpectralNorm, name, "spectral_norm")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = layer.own_parameters[name]
        rows = weight.shape[dim]
        del layer.own_parameters[name]
        read_computed(layer)
        layer.add_parameter(f"{name}_orig", weight)
        setattr(layer, name, weight * 1.0)
        layer.register_buffer(f"{name}_u", _unit_vector(rows, weight, eps))
        layer.register_buffer(f"{name}_v", _unit_vector(weight.size // rows, weight, eps))
        layer.register_forward_pre_hook(hook)
        return hook


def _unit_vector(size: int, like: Tensor, eps: float) -> Tensor:
    drawn = torch.randn(size, dtype=like.raw.dtype, device=like.raw.device)
    return wrap(torch.nn.functional.normalize(drawn, dim=0, eps=eps))


def spectral_norm(
    layer: Layer,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Layer:
    """Divide a parameter by its largest singular value, estimated anew at every forward in
    training.

    ``dim`` is the axis taken as rows: by default 1 for Linear and transposed convolutions, whose
    weight has the outputs there, else 0.
    """
    if dim is None:
        outputs_second = (
            layers.Linear,
            layers.Conv1DTranspose,
            layers.Conv2DTranspose,
            layers.Conv3DTranspose,
        )
        dim = 1 if isinstance(layer, outputs_second) else 0
    SpectralNorm.apply(layer, name, n_power_iterations, dim, eps)
    return layer
