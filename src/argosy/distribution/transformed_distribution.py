"""What transforms make of a distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from argosy.autograd import no_grad
from argosy.distribution.distribution import Distribution
from argosy.distribution.independent import Independent
from argosy.distribution.transform import ChainTransform, Transform, added
from argosy.foundation.errors import DtypeError, UsageError

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """Draws of ``base``, each taken through ``transforms``.

    Example:
        >>> normal = paddle.distribution.Normal(0.0, 1.0)
        >>> double = paddle.distribution.AffineTransform(paddle.zeros([]), paddle.full([], 2.0))
        >>> wide = paddle.distribution.TransformedDistribution(normal, [double])
        >>> round(float(wide.log_prob(paddle.to_tensor(0.0))), 4)
        -1.6121
    """

    def __init__(self, base: Distribution, transforms: Sequence[Transform]) -> None:
        if not isinstance(base, Distribution):
            raise DtypeError(f"Expected type of 'base' is Distribution, but got {type(base)}.")
        if not isinstance(transforms, (list, tuple)) or not all(
            isinstance(t, Transform) for t in transforms
        ):
            raise DtypeError("Expected type of 'transforms' is Sequence[Transform]")
        chain = ChainTransform(transforms)
        shape = base.batch_shape + base.event_shape
        if len(shape) < chain.domain_rank:
            raise UsageError(
                f"'base' needs to have shape with size at least {chain.domain_rank}, but got "
                f"{len(shape)}."
            )
        missing = chain.domain_rank - len(base.event_shape)
        self._base = Independent(base, missing) if missing > 0 else base
        self._transforms = list(transforms)
        rank = chain.codomain_rank + max(len(base.event_shape) - chain.domain_rank, 0)
        out = chain.forward_shape(shape)
        super().__init__(out[: len(out) - rank], out[len(out) - rank :])

    def sample(self, shape: Sequence[int] = ()) -> Any:
        with no_grad():
            return self._through(self._base.sample(shape))

    def rsample(self, shape: Sequence[int] = ()) -> Any:
        return self._through(self._base.rsample(shape))

    def _through(self, x: Any) -> Any:
        for transform in self._transforms:
            x = transform.forward(x)
        return x

    def log_prob(self, value: Any) -> Any:
        total, rank = 0.0, len(self._event_shape)
        for transform in reversed(self._transforms):
            before = transform.inverse(value)
            rank += transform.domain_rank - transform.codomain_rank
            stretched = transform.forward_log_det_jacobian(before)
            total = total - added(stretched, rank - transform.domain_rank)
            value = before
        return total + added(self._base.log_prob(value), rank - len(self._base.event_shape))
