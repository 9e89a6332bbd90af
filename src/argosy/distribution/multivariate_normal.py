"""The normal distribution of vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from argosy import linalg
from argosy import tensor as T
from argosy.autograd import no_grad
from argosy.distribution.distribution import Distribution, like
from argosy.foundation.errors import UsageError
from argosy.tensor.random import gaussian

__all__ = ["MultivariateNormal"]


class MultivariateNormal(Distribution):
    """Around ``loc`` [..., n], with one of a covariance matrix, its inverse or its lower triangular
    root.
    """

    def __init__(
        self,
        loc: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
    ) -> None:
        given = [m for m in (covariance_matrix, precision_matrix, scale_tril) if m is not None]
        if len(given) != 1:
            raise UsageError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                f"specified, but {len(given)} are"
            )
        if len(given[0].shape) < 2:
            raise UsageError("the matrix must be at least two-dimensional")
        self.dtype = given[0].dtype
        loc = loc if hasattr(loc, "shape") else T.full([1], loc, self.dtype)
        loc = loc if len(loc.shape) else T.reshape(loc, [1])
        root = _root(covariance_matrix, precision_matrix, scale_tril)
        size = loc.shape[-1]
        batch = T.broadcast_shape(list(loc.shape[:-1]), list(root.shape[:-2]))
        self.loc = T.expand(loc, [*batch, size])
        self._root = T.expand(root, [*batch, size, size])
        super().__init__(batch, [size])

    @property
    def scale_tril(self) -> Any:
        return self._root

    @property
    def covariance_matrix(self) -> Any:
        return T.matmul(self._root, self._root, transpose_y=True)

    @property
    def precision_matrix(self) -> Any:
        return linalg.inv(self.covariance_matrix)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return T.sum(self._root * self._root, -1)

    def sample(self, shape: Sequence[int] = ()) -> Any:
        with no_grad():
            return self.rsample(shape)

    def rsample(self, shape: Sequence[int] = ()) -> Any:
        noise = gaussian(self._extend_shape(shape), 0.0, 1.0, 0, self.dtype)
        return self.loc + T.squeeze(T.matmul(self._root, T.unsqueeze(noise, -1)), -1)

    def _half_log_det(self) -> Any:
        return T.sum(T.log(T.diagonal(self._root, axis1=-2, axis2=-1)), -1)

    def _squares(self, offset: Any) -> Any:
        """How far an offset is, in standard deviations, squared."""
        extents = [*offset.shape[:-1], *self._root.shape[-2:]]
        root = T.expand(self._root, extents)
        solved = linalg.triangular_solve(root, T.unsqueeze(offset, -1), upper=False)
        return T.sum(solved * solved, [-2, -1])

    def log_prob(self, value: Any) -> Any:
        size = self._event_shape[0]
        squares = self._squares(like(self.loc, value) - self.loc)
        return -0.5 * (size * math.log(2 * math.pi) + squares) - self._half_log_det()

    def entropy(self) -> Any:
        size = self._event_shape[0]
        return 0.5 * size * (1.0 + math.log(2 * math.pi)) + self._half_log_det()

    def kl_divergence(self, other: Any) -> Any:
        self._require_kind(MultivariateNormal, other)
        if self.batch_shape != other.batch_shape or self.event_shape != other.event_shape:
            raise UsageError(
                "KL divergence of two Multivariate Normal distributions should share the same "
                "`batch_shape` and `event_shape`."
            )
        solved = linalg.triangular_solve(other._root, self._root, upper=False)
        spread = T.sum(solved * solved, [-2, -1])
        distance = other._squares(other.loc - self.loc)
        half = other._half_log_det() - self._half_log_det()
        return half + 0.5 * (spread + distance - self._event_shape[0])


def _root(covariance: Any, precision: Any, root: Any) -> Any:
    if root is not None:
        return root
    if covariance is not None:
        return linalg.cholesky(covariance)
    # the root of an inverse, by turning rows and columns around
    turned = linalg.cholesky(T.flip(precision, [-2, -1]))
    back = T.flip(turned, [-2, -1])
    swapped = T.transpose(
        back, [*range(len(back.shape) - 2), len(back.shape) - 1, len(back.shape) - 2]
    )
    unit = T.expand(T.eye(precision.shape[-1], dtype=precision.dtype), list(precision.shape))
    return linalg.triangular_solve(swapped, unit, upper=False)
