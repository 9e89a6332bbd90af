"""Reads what scripts pass as window sizes, strides and paddings."""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import NotSupported, UsageError
from argosy.tensor.engine import Tensor

CHANNEL_FIRST = {1: "NCL", 2: "NCHW", 3: "NCDHW"}
CHANNEL_LAST = {1: "NLC", 2: "NHWC", 3: "NDHWC"}


def to_list(value: Any, n: int, name: str) -> list[int]:
    """One int for every axis, or a list of ``n``."""
    if isinstance(value, int):
        return [value] * n
    try:
        values = list(value)
    except TypeError as error:
        raise UsageError(f"The {name}'s type must be list or tuple. Received: {value!r}") from error
    if len(values) != n:
        raise UsageError(f"The {name}'s length must be {n}. Received: {value}")
    try:
        return [int(v) for v in values]
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"The {name} must be a list or tuple of {n} ints. Received: {value}"
        ) from error


def is_channel_last(data_format: str, n: int, call: str) -> bool:
    """Whether ``data_format`` puts channels last; only the two layouts of ``n`` spatial axes are
    known.
    """
    if data_format == CHANNEL_FIRST[n]:
        return False
    if data_format == CHANNEL_LAST[n]:
        return True
    raise UsageError(
        f"{call}: Attr(data_format) should be '{CHANNEL_FIRST[n]}' or '{CHANNEL_LAST[n]}'. "
        f"Received Attr(data_format): {data_format}."
    )


def to_padding(padding: Any, n: int, channel_last: bool) -> str | list[int]:
    """Bring a padding to "SAME", ``n`` amounts or ``2 * n`` (before, after) amounts.

    Scripts pass "SAME", "VALID", an int, ``n`` or ``2 * n`` ints, or a pair for every axis of the
    tensor.
    """
    if isinstance(padding, int):
        amounts = [padding] * n
    elif isinstance(padding, str):
        name = padding.upper()
        if name not in ("SAME", "VALID"):
            raise UsageError(f"Unknown padding: {padding!r}. It can only be 'SAME' or 'VALID'.")
        return name if name == "SAME" else [0] * n
    else:
        amounts = _explicit(padding, n, channel_last)
    if len(amounts) == 2 * n and amounts[::2] == amounts[1::2]:
        amounts = amounts[::2]
    return amounts


def _explicit(padding: Any, n: int, channel_last: bool) -> list[int]:
    if isinstance(padding, Tensor):
        raise NotSupported("padding given as a Tensor is not supported; pass padding.tolist()")
    if len(padding) == n + 2 and isinstance(padding[0], (list, tuple)):
        outer = (padding[0], padding[-1] if channel_last else padding[1])
        if any(list(pair) != [0, 0] for pair in outer):
            raise UsageError(
                f"Non-zero padding({padding}) in the batch or channel dimensions is not supported."
            )
        inner = padding[1:-1] if channel_last else padding[2:]
        return [int(amount) for pair in inner for amount in pair]
    if len(padding) in (n, 2 * n) and isinstance(padding[0], int):
        return [int(amount) for amount in padding]
    raise UsageError(
        f"Invalid padding: {padding}. Expected an int, {n} or {2 * n} ints, or {n + 2} pairs for "
        f"{n} spatial axes."
    )
