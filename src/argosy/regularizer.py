"""Weight decay as regularisers: a penalty on parameters whose gradient the optimizer adds to
theirs.
"""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import BadArgument

__all__ = ["L1Decay", "L2Decay"]


class WeightDecayRegularizer:
    """Base class. A subclass's call returns the term to add to the gradient of ``param``."""

    def __call__(self, param: Any, grad: Any, block: Any = None) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} does not define __call__(param, grad, block)"
        )


class _CoefficientDecay(WeightDecayRegularizer):
    def __init__(self, coeff: float = 0.0) -> None:
        if coeff is None:
            raise BadArgument(f"{type(self).__name__}: coeff must be a number, but received None")
        self.coeff = coeff
        self._coeff = self._regularization_coeff = coeff  # as Paddle 2 and Paddle 1 name it

    def __str__(self) -> str:
        return f"{type(self).__name__}, coeff={self.coeff:f}"


class L1Decay(_CoefficientDecay):
    """The penalty coeff·Σ|x|.

    Example:
        >>> import paddle
        >>> print(paddle.regularizer.L1Decay(0.01))
        L1Decay, coeff=0.010000
    """

    def __call__(self, param: Any, grad: Any = None, block: Any = None) -> Any:
        from argosy.tensor.math import scale, sign

        return scale(sign(param), self.coeff)


class L2Decay(_CoefficientDecay):
    """The penalty ½·coeff·Σx²; a float given as ``weight_decay`` to an optimizer means this one."""

    def __call__(self, param: Any, grad: Any = None, block: Any = None) -> Any:
        from argosy.tensor.math import scale

        return scale(param, self.coeff)
