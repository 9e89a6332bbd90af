"""Functions that turn a distribution into another: with their inverses, and how they stretch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from argosy import tensor as T
from argosy.distribution.distribution import Distribution
from argosy.foundation.errors import DtypeError, NotSupported, UsageError
from argosy.nn import functional as F

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "ChainTransform",
    "ExpTransform",
    "IndependentTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
]


class Transform:
    """A function of tensors; a subclass has ``_forward``, ``_inverse`` and
    ``_forward_log_det_jacobian``.

    Its last ``domain_rank`` axes are one argument, the last ``codomain_rank`` axes one result.
    Called with a distribution it gives the transformed one, with a transform both in a row.
    """

    domain_rank = codomain_rank = 0

    def __call__(self, input: Any) -> Any:
        if isinstance(input, Distribution):
            from argosy.distribution.transformed_distribution import TransformedDistribution

            return TransformedDistribution(input, [self])
        if isinstance(input, Transform):
            return ChainTransform([self, input])
        return self.forward(input)

    def forward(self, x: Any) -> Any:
        """The function at ``x``.

        Example:
            >>> two, three = paddle.to_tensor(2.0), paddle.to_tensor(3.0)
            >>> transform = paddle.distribution.AffineTransform(two, three)
            >>> float(transform.forward(paddle.to_tensor(1.0)))
            5.0
        """
        return self._forward(self._checked(x, self.domain_rank))

    def inverse(self, y: Any) -> Any:
        """What the function takes to ``y``."""
        return self._inverse(self._checked(y, self.codomain_rank))

    def forward_log_det_jacobian(self, x: Any) -> Any:
        """The logarithm of how much the function stretches at ``x``."""
        return self._forward_log_det_jacobian(self._checked(x, self.domain_rank))

    def inverse_log_det_jacobian(self, y: Any) -> Any:
        """The logarithm of how much the inverse stretches at ``y``."""
        return self._inverse_log_det_jacobian(self._checked(y, self.codomain_rank))

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of results for arguments of a shape."""
        return tuple(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of arguments for results of a shape."""
        return tuple(shape)

    def _checked(self, value: Any, rank: int) -> Any:
        if not hasattr(value, "shape"):
            raise DtypeError(f"Expected a Tensor, but got {type(value).__name__}")
        if len(value.shape) < rank:
            raise UsageError(
                f"The dimensions of x({len(value.shape)}) should be grater than or equal to {rank}"
            )
        return value

    def _forward(self, x: Any) -> Any:
        raise NotSupported(f"{type(self).__name__}.forward")

    def _inverse(self, y: Any) -> Any:
        raise NotSupported(f"{type(self).__name__}.inverse")

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        raise NotSupported(f"{type(self).__name__}.forward_log_det_jacobian")

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return -self._forward_log_det_jacobian(self._inverse(y))


def added(value: Any, count: int) -> Any:
    """Summed over its last ``count`` axes."""
    return T.sum(value, list(range(-count, 0))) if count > 0 else value


class AbsTransform(Transform):
    """The absolute value. Its inverse are two values; the function stretches nothing."""

    def _forward(self, x: Any) -> Any:
        return T.abs(x)

    def _inverse(self, y: Any) -> Any:
        return -y, y

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        zero = T.zeros([], y.dtype)
        return zero, zero


class AffineTransform(Transform):
    """``loc + scale * x``."""

    def __init__(self, loc: Any, scale: Any) -> None:
        for word, value in (("loc", loc), ("scale", scale)):
            if not hasattr(value, "shape"):
                raise DtypeError(f"Expected '{word}' is a Tensor, but got {type(value)}")
        self.loc, self.scale = loc, scale

    def _forward(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return T.log(T.abs(self.scale))

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        both = T.broadcast_shape(list(self.loc.shape), list(self.scale.shape))
        return tuple(T.broadcast_shape(list(shape), both))

    inverse_shape = forward_shape


class ExpTransform(Transform):
    """The exponential function."""

    def _forward(self, x: Any) -> Any:
        return T.exp(x)

    def _inverse(self, y: Any) -> Any:
        return T.log(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return x


class PowerTransform(Transform):
    """``x`` to the power ``power``."""

    def __init__(self, power: Any) -> None:
        if not hasattr(power, "shape"):
            raise DtypeError(f"Expected 'power' is a tensor, but got {type(power)}")
        self.power = power

    def _forward(self, x: Any) -> Any:
        return T.pow(x, self.power)

    def _inverse(self, y: Any) -> Any:
        return T.pow(y, 1.0 / self.power)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return T.log(T.abs(self.power * T.pow(x, self.power - 1)))

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return tuple(T.broadcast_shape(list(shape), list(self.power.shape)))

    inverse_shape = forward_shape


class SigmoidTransform(Transform):
    """The logistic function."""

    def _forward(self, x: Any) -> Any:
        return F.sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        return T.log(y) - T.log1p(-y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -F.softplus(-x) - F.softplus(x)


class TanhTransform(Transform):
    """The hyperbolic tangent."""

    def _forward(self, x: Any) -> Any:
        return T.tanh(x)

    def _inverse(self, y: Any) -> Any:
        return T.atanh(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))


class SoftmaxTransform(Transform):
    """Numbers as shares; the inverse gives the logarithms of shares."""

    domain_rank = codomain_rank = 1

    def _forward(self, x: Any) -> Any:
        return F.softmax(x, -1)

    def _inverse(self, y: Any) -> Any:
        return T.log(y)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        if len(shape) < 1:
            raise UsageError(f"Expected length of shape is grater than 1, but got {len(shape)}")
        return tuple(shape)

    inverse_shape = forward_shape


class StickBreakingTransform(Transform):
    """n numbers as n + 1 shares, each of what those before it left."""

    domain_rank = codomain_rank = 1

    def _offset(self, x: Any, count: int) -> Any:
        return T.log(count - T.cumsum(T.ones([x.shape[-1]], x.dtype)))

    def _forward(self, x: Any) -> Any:
        share = F.sigmoid(x - self._offset(x, x.shape[-1] + 1))
        one = T.ones_like(share[..., :1])
        left = T.cumprod(1 - share, -1)
        return T.concat([share, one], -1) * T.concat([one, left], -1)

    def _inverse(self, y: Any) -> Any:
        shares = y[..., :-1]
        left = 1.0 - T.cumsum(shares, -1)
        return T.log(shares) - T.log(left) + self._offset(shares, y.shape[-1])

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        y = self._forward(x)
        x = x - self._offset(x, x.shape[-1] + 1)
        return T.sum(-x + F.log_sigmoid(x) + T.log(y[..., :-1]), -1)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        if not shape:
            raise UsageError("Expected 'shape' is not empty, but got empty shape")
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        if not shape:
            raise UsageError("Expected 'shape' is not empty, but got empty shape")
        return (*shape[:-1], shape[-1] - 1)


class ReshapeTransform(Transform):
    """The last axes, of ``in_event_shape``, as axes of ``out_event_shape``."""

    def __init__(self, in_event_shape: Sequence[int], out_event_shape: Sequence[int]) -> None:
        for word, value in (("in", in_event_shape), ("out", out_event_shape)):
            if not isinstance(value, (list, tuple)):
                raise DtypeError(f"Expected type of '{word}_event_shape' is Squence[int]")
        if math.prod(in_event_shape) != math.prod(out_event_shape):
            raise UsageError(
                f"The numel of 'in_event_shape' should be 'out_event_shape', but got "
                f"{list(in_event_shape)} and {list(out_event_shape)}"
            )
        self.in_event_shape = tuple(in_event_shape)
        self.out_event_shape = tuple(out_event_shape)
        self.domain_rank = len(self.in_event_shape)
        self.codomain_rank = len(self.out_event_shape)

    def _forward(self, x: Any) -> Any:
        return T.reshape(x, list(self.forward_shape(x.shape)))

    def _inverse(self, y: Any) -> Any:
        return T.reshape(y, list(self.inverse_shape(y.shape)))

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return T.zeros(list(x.shape[: len(x.shape) - self.domain_rank]), x.dtype)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return _changed(shape, self.in_event_shape, self.out_event_shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return _changed(shape, self.out_event_shape, self.in_event_shape)


def _changed(
    shape: Sequence[int], before: tuple[int, ...], after: tuple[int, ...]
) -> tuple[int, ...]:
    cut = len(shape) - len(before)
    if cut < 0 or tuple(shape[cut:]) != before:
        raise UsageError(f"Event shape mismatch, expected: {before}, but got {tuple(shape)}")
    return (*shape[:cut], *after)


class IndependentTransform(Transform):
    """``base`` with ``reinterpreted_batch_rank`` more axes as parts of one argument."""

    def __init__(self, base: Transform, reinterpreted_batch_rank: int) -> None:
        if not isinstance(base, Transform):
            raise DtypeError(f"Expected 'base' is Transform type, but get {type(base)}")
        if reinterpreted_batch_rank <= 0:
            raise UsageError(
                "Expected 'reinterpreted_batch_rank' is grater than zero, but got "
                f"{reinterpreted_batch_rank}"
            )
        self._base = base
        self._reinterpreted_batch_rank = reinterpreted_batch_rank
        self.domain_rank = base.domain_rank + reinterpreted_batch_rank
        self.codomain_rank = base.codomain_rank + reinterpreted_batch_rank

    def _forward(self, x: Any) -> Any:
        return self._base.forward(x)

    def _inverse(self, y: Any) -> Any:
        return self._base.inverse(y)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return added(self._base.forward_log_det_jacobian(x), self._reinterpreted_batch_rank)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self._base.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self._base.inverse_shape(shape)


class ChainTransform(Transform):
    """Transforms, one after the other."""

    def __init__(self, transforms: Sequence[Transform]) -> None:
        if not isinstance(transforms, (list, tuple)):
            raise DtypeError(
                f"Expected type of 'transforms' is Sequence[Transform], but got {type(transforms)}"
            )
        if not all(isinstance(t, Transform) for t in transforms):
            raise DtypeError("All elements of transforms should be Transform type.")
        self.transforms = transforms
        rank = transforms[-1].codomain_rank
        for transform in reversed(transforms):
            rank += transform.domain_rank - transform.codomain_rank
            rank = max(rank, transform.domain_rank)
        self.domain_rank = rank
        grown = sum(t.codomain_rank - t.domain_rank for t in transforms)
        self.codomain_rank = rank + grown

    def _forward(self, x: Any) -> Any:
        for transform in self.transforms:
            x = transform.forward(x)
        return x

    def _inverse(self, y: Any) -> Any:
        for transform in reversed(self.transforms):
            y = transform.inverse(y)
        return y

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        total, rank = 0.0, self.domain_rank
        for transform in self.transforms:
            stretched = transform.forward_log_det_jacobian(x)
            total = total + added(stretched, rank - transform.domain_rank)
            x = transform.forward(x)
            rank += transform.codomain_rank - transform.domain_rank
        return total

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        for transform in self.transforms:
            shape = transform.forward_shape(shape)
        return tuple(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        return tuple(shape)


class StackTransform(Transform):
    """One transform for each slice along ``axis``."""

    def __init__(self, transforms: Sequence[Transform], axis: int = 0) -> None:
        if not transforms or not all(isinstance(t, Transform) for t in transforms):
            raise DtypeError("Expected 'transforms' is a non-empty sequence of Transform")
        if not isinstance(axis, int):
            raise DtypeError(f"Expected 'axis' is int, but got {type(axis)}")
        self.transforms = transforms
        self.axis = axis

    def _each(self, x: Any, call: str) -> Any:
        if x.shape[self.axis] != len(self.transforms):
            raise UsageError(
                f"Input size along {self.axis} should be equal to the length of transforms."
            )
        parts = T.unstack(x, self.axis)
        pairs = zip(self.transforms, parts, strict=True)
        return T.stack([getattr(t, call)(part) for t, part in pairs], self.axis)

    def _forward(self, x: Any) -> Any:
        return self._each(x, "forward")

    def _inverse(self, y: Any) -> Any:
        return self._each(y, "inverse")

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return self._each(x, "forward_log_det_jacobian")
