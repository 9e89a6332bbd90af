"""``paddle._legacy_C_ops``: operators by Paddle's type, computed at once.

``_legacy_C_ops.scale(x, "scale", 2.0)`` takes the tensors of the input slots in their order, a list
for a slot with several, then names of attributes with their values. A name that ends with ``_``
overwrites the first tensor. The types are those that ``Block.append_op`` knows.

Example:
    >>> from paddle import _legacy_C_ops
    >>> _legacy_C_ops.scale(paddle.ones([2]), "scale", 3.0).tolist()
    [3.0, 3.0]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy.foundation.errors import NotSupported, UsageError
from argosy.static.record.append_op import compute_op
from argosy.static.record.op_types import input_slots
from argosy.tensor.engine import replace


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("__"):
        raise AttributeError(f"module 'paddle._legacy_C_ops' has no attribute {name!r}")
    type, is_inplace = name.removesuffix("_"), name.endswith("_")
    try:
        slots = input_slots(type)
    except NotSupported as error:
        raise AttributeError(
            f"module 'paddle._legacy_C_ops' has no attribute {name!r}: {error}"
        ) from error

    def call(*args: Any) -> Any:
        first = next((i for i, arg in enumerate(args) if isinstance(arg, str)), len(args))
        tensors, named = args[:first], args[first:]
        if len(tensors) > len(slots) or len(named) % 2:
            raise UsageError(
                f"_legacy_C_ops.{name}: expected tensors for {list(slots)}, then names and values "
                f"of attributes, but received {len(tensors)} tensors and {len(named)} more"
            )
        inputs = {s: t for s, t in zip(slots, tensors, strict=False) if t is not None}
        results = compute_op(type, inputs, dict(zip(named[::2], named[1::2], strict=True)))
        if is_inplace:
            return replace(tensors[0], results[0], f"_legacy_C_ops.{name}")
        return results[0] if len(results) == 1 else results

    call.__name__ = call.__qualname__ = name
    return call
