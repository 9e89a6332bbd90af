"""``fluid.regularizer``: the penalties of ``paddle.regularizer`` with the argument name of 1.x."""

from __future__ import annotations

from argosy import regularizer as _current

__all__ = ["L1Decay", "L1DecayRegularizer", "L2Decay", "L2DecayRegularizer"]


def L1Decay(regularization_coeff: float = 0.0) -> _current.L1Decay:
    """The penalty coeff·Σ|x|."""
    return _current.L1Decay(regularization_coeff)


def L2Decay(regularization_coeff: float = 0.0) -> _current.L2Decay:
    """The penalty ½·coeff·Σx²."""
    return _current.L2Decay(regularization_coeff)


L1DecayRegularizer = L1Decay
L2DecayRegularizer = L2Decay
