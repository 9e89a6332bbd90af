"""Assert: an operator that ends a run where a condition does not hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from argosy.foundation.errors import DtypeError, UsageError
from argosy.framework.mode import switch
from argosy.static.record.recorder import recorder
from argosy.tensor.engine import Tensor


class AssertionFailed(UsageError, AssertionError):
    """A condition that a program asserts does not hold."""


def Assert(cond: Any, data: Any = None, summarize: int = 20, name: str | None = None) -> Any:
    """End the run with an error that shows ``data``, ``summarize`` elements of each, where
    ``cond``, a bool tensor of one element, is false. Returns the operator.

    Example:
        >>> import paddle
        >>> paddle.static.nn.control_flow.Assert(paddle.to_tensor(True))
    """
    if not isinstance(cond, Tensor) or cond.raw.dtype is not torch.bool:
        raise DtypeError(f"Assert: cond must be a bool Tensor, but received {cond!r:.80}")
    if data is not None and not isinstance(data, (list, tuple)):
        raise DtypeError(f"Assert: data must be a list, but received {type(data).__name__}")
    if switch.is_static:
        return record_assert(cond, data or (), summarize)
    if not cond:
        raise failed(cond.name, [t.raw for t in data or ()], summarize, "")
    return None


def record_assert(
    condition: Any, data: Sequence[Any] = (), summarize: int = 20, message: str = ""
) -> Any:
    """Record the operator; ``message`` is what the script says of the condition."""
    block = recorder.main.current_block()
    args = (recorder.admit(condition), [recorder.admit(value) for value in data])
    attrs = {"summarize": int(summarize), "message": message}
    return recorder.append(block, "assert", None, args, attrs, [])


def failed(
    name: str, data: Sequence[torch.Tensor], summarize: int, message: str
) -> AssertionFailed:
    """The error of a condition that does not hold."""
    values = [t.detach().flatten() for t in data]
    shown = [(t if summarize < 0 else t[:summarize]).tolist() for t in values]
    told = f"; data: {', '.join(map(str, shown))}" if shown else ""
    return AssertionFailed(
        f"The condition variable '{name}' of assert must be true, but received false"
        f"{': ' if message else ''}{message}{told}"
    )
