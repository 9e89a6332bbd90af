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

from argosy import tensor as T
from argosy.foundation.errors import NotSupported, UsageError
from argosy.nn import functional as F
from argosy.ops.training.loss_scaling import unscale_gradients
from argosy.static.record.append_op import compute_op
from argosy.static.record.op_types import input_slots
from argosy.tensor.engine import apply, replace


def _check_finite_and_unscale(
    grads: list[Any], scale: Any, outs: list[Any], found_inf: Any
) -> tuple[list[Any], Any]:
    """Write the gradients divided by ``scale`` to ``outs``, and whether one is not finite to
    ``found_inf``.
    """
    divided, found = apply(unscale_gradients, grads, scale)
    for out, value in zip(outs, divided, strict=True):
        replace(out, value, "check_finite_and_unscale")
    return outs, replace(found_inf, found, "check_finite_and_unscale")


def _layer_norm(x: Any, *rest: Any) -> tuple[Any, Any, Any]:
    """The normalised ``x``, and the means and variances of its rows."""
    tensors = [value for value in rest[:2] if not isinstance(value, str)]
    scale, bias = (*tensors, None, None)[:2]
    named = rest[len(tensors) :]
    attrs = dict(zip(named[::2], named[1::2], strict=True))
    begin, epsilon = attrs.get("begin_norm_axis", 1), attrs.get("epsilon", 1e-5)
    axes = list(range(begin, len(x.shape)))
    out = F.layer_norm(x, list(x.shape[begin:]), scale, bias, epsilon)
    variance = T.var(x, axes, unbiased=False)
    return out, T.reshape(T.mean(x, axes), [-1]), T.reshape(variance, [-1])


# Operators that write to more than their results, or whose other results are wanted.
_ROWS: dict[str, Callable[..., Any]] = {
    "check_finite_and_unscale": _check_finite_and_unscale,
    "layer_norm": _layer_norm,
}


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("__"):
        raise AttributeError(f"module 'paddle._legacy_C_ops' has no attribute {name!r}")
    if name in _ROWS:
        return _ROWS[name]
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
