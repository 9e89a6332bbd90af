"""Helpers on parameters: clipping in place, flattening, weight and spectral normalisation."""

from argosy.nn.utils._clip_grad import clip_grad_norm_, clip_grad_value_
from argosy.nn.utils.spectral_norm_hook import spectral_norm
from argosy.nn.utils.transform_parameters import parameters_to_vector, vector_to_parameters
from argosy.nn.utils.weight_norm_hook import remove_weight_norm, weight_norm

__all__ = [
    "weight_norm",
    "remove_weight_norm",
    "spectral_norm",
    "parameters_to_vector",
    "vector_to_parameters",
    "clip_grad_norm_",
    "clip_grad_value_",
]
