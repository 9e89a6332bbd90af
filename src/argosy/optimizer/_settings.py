"""Checks and conversions of hyper-parameters that several update rules share."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import BadArgument, UsageError
from argosy.tensor.engine import Tensor


def number(value: Any) -> Any:
    """A hyper-parameter as a float; Paddle also takes Tensors of one element. That of a program
    stands for the number that a run finds in it.
    """
    if not isinstance(value, Tensor):
        return value
    stand_in = getattr(value, "as_number", None)
    return float(value.item()) if stand_in is None else stand_in()


def _is_known(value: Any) -> bool:
    """Whether it has its value already, other than a variable of a program."""
    return not hasattr(value, "as_number")


def require_set(owner: str, **settings: Any) -> None:
    for name, value in settings.items():
        if value is None:
            raise BadArgument(f"{owner}: {name} must not be None")


def require_betas(owner: str, beta1: Any, beta2: Any, epsilon: Any) -> None:
    """Check the settings of the Adam family."""
    require_set(owner, beta1=beta1, beta2=beta2, epsilon=epsilon)
    for name, beta in (("beta1", beta1), ("beta2", beta2)):
        if _is_known(beta) and not 0 <= number(beta) < 1:
            raise UsageError(
                f"{owner}: Invalid value of {name}, expect {name} in [0,1), but received "
                f"{number(beta)}."
            )
    if _is_known(epsilon) and not number(epsilon) >= 0:
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
