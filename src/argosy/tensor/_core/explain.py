"""Turns an error of the engine into one in the words of the call: which op, which shapes and
dtypes, what was wrong.
"""

from __future__ import annotations

import re
from typing import Any

import torch

from argosy.foundation import dtypes
from argosy.foundation.errors import (
    ArgosyError,
    AutogradError,
    DtypeError,
    IntegerDivisionByZero,
    OutOfRange,
    UnsupportedDtype,
    UsageError,
)
from argosy.ops.table import Op


def describe(value: Any) -> str:
    """A short form of an argument: ``float32[2, 3]`` for a tensor, its repr otherwise."""
    raw = getattr(value, "raw", value)
    if isinstance(raw, torch.Tensor):
        return f"{dtypes.name_of(raw.dtype)}{list(raw.shape)}"
    if isinstance(raw, torch.dtype):
        return dtypes.name_of(raw)
    if isinstance(raw, (list, tuple)):
        shown = ", ".join(describe(v) for v in raw[:8])
        return f"[{shown}{', ...' if len(raw) > 8 else ''}]"
    text = repr(raw)
    return text if len(text) <= 80 else text[:77] + "..."


def explain(op: Op, args: tuple[Any, ...], attrs: dict[str, Any], error: Exception) -> Exception:
    """Build the error to raise for ``op(*args, **attrs)`` from the engine's own ``error``."""
    if isinstance(error, ArgosyError):
        return error
    if isinstance(error, torch.OutOfMemoryError):
        return error
    params = op.params
    named = [
        f"{params[i] if i < len(params) else i}={describe(a)}"
        for i, a in enumerate(args)
        if a is not None
    ]
    named += [f"{k}={describe(v)}" for k, v in attrs.items() if v is not None]
    reason = str(error).split("\n")[0]
    message = f"(InvalidArgument) {op.name}({', '.join(named)}): {reason}"
    if reason == "ZeroDivisionError":
        return IntegerDivisionByZero(message.replace(reason, "integer division by zero"))
    if isinstance(error, (TypeError, AttributeError)):  # also an array where a tensor belongs
        return DtypeError(message)
    if isinstance(error, NotImplementedError) or _names_dtype(reason):
        return UnsupportedDtype(message)
    if isinstance(error, IndexError):
        # also for an axis outside the rank, which Paddle calls a ValueError or an IndexError:
        # OutOfRange is both
        return OutOfRange(message)
    if "index" in reason and "out of" in reason and isinstance(error, RuntimeError):
        return OutOfRange(message)
    return UsageError(message)


_MODIFIED = re.compile(r"is at version (\d+); expected version (\d+)")


def explain_backward(call: str, error: RuntimeError) -> RuntimeError:
    """The engine's complaint about the graph in the words of the call; any other error as it is."""
    text = str(error)
    if "backward through the graph a second time" in text:
        return AutogradError(
            f"{call}: the graph was freed by an earlier backward(). Call the first one with "
            "retain_graph=True to go through it again."
        )
    versions = _MODIFIED.search(text)
    if versions and "inplace operation" in text:
        return AutogradError(
            f"{call}: a tensor that the gradient needs was changed in place after it was used: "
            f"received tensor_version:{versions[1]} != wrapper_version_snapshot:{versions[2]}. "
            "Change a clone() of it, or change it before it is used."
        )
    return error


def _names_dtype(reason: str) -> bool:
    return any(
        text in reason
        for text in (
            "not implemented for",
            "expected scalar type",
            "same dtype",
            "only supported for",
            "result type",
        )
    )
