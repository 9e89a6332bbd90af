"""Dropout followed by a sum."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import DtypeError, UsageError
from argosy.nn import functional as F

__all__ = ["check_mode", "check_rate", "fused_dropout_add"]

_MODES = ("upscale_in_train", "downscale_in_infer")


def fused_dropout_add(
    x: Any,
    y: Any,
    p: float = 0.5,
    training: bool = True,
    mode: str = "upscale_in_train",
    name: str | None = None,
) -> Any:
    """Dropout of ``x``, plus ``y``.

    Example:
        >>> x = paddle.ones([2])
        >>> paddle.incubate.nn.functional.fused_dropout_add(x, x, p=0.0).tolist()
        [2.0, 2.0]
    """
    check_rate("fused_dropout_add", "p", p)
    check_mode("fused_dropout_add", mode)
    return F.dropout(x, p, training=training, mode=mode) + y


def check_rate(call: str, argument: str, rate: Any) -> None:
    """Refuse what is no probability."""
    if not isinstance(rate, (float, int)):
        raise DtypeError(
            f"{call}: {argument} argument should be a number, but is {type(rate).__name__}"
        )
    if not 0 <= rate <= 1:
        raise UsageError(f"{call}: {argument} argument should between 0 and 1, but is {rate}")


def check_mode(call: str, mode: str) -> None:
    """Refuse unknown modes of dropout."""
    if mode not in _MODES:
        raise UsageError(
            f"{call}: mode argument should be 'downscale_in_infer' or 'upscale_in_train', but is "
            f"{mode!r}"
        )
