"""Checks and conversions of hyper-parameters that several update rules share."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import BadArgument, UsageError
from argosy.tensor.engine import Tensor


def number(value: Any) -> float:
    """A hyper-parameter as a float; Paddle also takes Tensors of one element."""
    return float(value.item()) if isinstance(value, Tensor) else value


def require_set(owner: str, **settings: Any) -> None:
    for name, value in settings.items():
        if value is None:
            raise BadArgument(f"{owner}: {name} must not be None")


def require_betas(owner: str, beta1: Any, beta2: Any, epsilon: Any) -> None:
    """Check the settings of the Adam family."""
    require_set(owner, beta1=beta1, beta2=beta2, epsilon=epsilon)
    for name, beta in (("beta1", beta1), ("beta2", beta2)):
        if not 0 <= number(beta) < 1:
            raise UsageError(
                f"{owner}: Invalid value of {name}, expect {name} in [0,1), but received "
                f"{number(beta)}."
            )
    if not number(epsilon) >= 0:
        raise UsageError(
            f"{owner}: Invalid value of epsilon, expect epsilon >= 0, but received "
            f"{number(epsilon)}."
        )


def require_not_none(owner: str, **settings: Any) -> None:
    """As ``require_set``, for the rules where Paddle raises ValueError."""
    for name, value in settings.items():
        if value is None:
            raise UsageError(f"{owner}: {name} is not set.")


def require_not_negative(owner: str, **settings: Any) -> None:
    for name, value in settings.items():
        if not value >= 0.0:
            raise UsageError(
                f"{owner}: Invalid value of {name}, expect {name} >= 0, but received {value}."
            )
