"""Distributions whose density is the exponential of a product of parameters and statistics."""

from __future__ import annotations

from typing import Any

from argosy.autograd import grad
from argosy.distribution.distribution import Distribution
from argosy.foundation.errors import NotSupported

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A base for distributions that know their natural parameters, the logarithm of their
    normaliser and the mean of the measure they are densities of; the entropy follows.
    """

    @property
    def _natural_parameters(self) -> tuple[Any, ...]:
        raise NotSupported(f"{type(self).__name__}._natural_parameters")

    def _log_normalizer(self, *natural: Any) -> Any:
        raise NotSupported(f"{type(self).__name__}._log_normalizer")

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotSupported(f"{type(self).__name__}._mean_carrier_measure")

    def entropy(self) -> Any:
        natural = [value.detach() for value in self._natural_parameters]
        for value in natural:
            value.stop_gradient = False
        log_norm = self._log_normalizer(*natural)
        slopes = grad(log_norm.sum(), natural, create_graph=True)
        entropy = log_norm - self._mean_carrier_measure
        for value, slope in zip(natural, slopes, strict=True):
            entropy = entropy - value * slope
        return entropy
