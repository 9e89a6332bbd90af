"""``paddle._C_ops``: operators of 2.3 on, computed at once, with their arguments in order.

Operators of one or two tensors are those of the table; the others are rows here: the name, the
arguments of Paddle's operator, and the function that computes it. A name that ends with ``_``
overwrites the first tensor.

Example:
    >>> from paddle import _C_ops
    >>> _C_ops.scale(paddle.ones([2]), 3.0, 1.0, True).tolist()
    [4.0, 4.0]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy import tensor as T
from argosy.foundation.errors import NotSupported, UsageError
from argosy.nn import functional as F
from argosy.static.record.append_op import compute_op
from argosy.static.record.op_types import input_slots
from argosy.tensor.engine import replace

# Operators whose arguments begin as those of the function of today do.
_SAME: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(T.add_n, T.cast, T.clip, T.concat, T.expand, T.flip, T.gather, T.gather_nd, T.kron),
        *(T.masked_select, T.matmul, T.reshape, T.scale, T.scatter, T.scatter_nd_add, T.stack),
        *(T.tile, T.transpose, T.tril, T.triu, T.where),
        *(F.gelu, F.leaky_relu, F.log_softmax, F.one_hot, F.softmax),
    )
}

_ROWS: dict[str, Callable[..., Any]] = {
    "argmax": lambda x, axis, keepdims, flatten, dtype: T.argmax(
        x, None if flatten else axis, keepdims, dtype
    ),
    "full": lambda shape, value, dtype, place=None: T.full(shape, value, dtype),
    "full_like": lambda x, value, dtype, place=None: T.full_like(x, value, dtype),
    "max": lambda x, axis, keepdim: T.max(x, axis or None, keepdim),
    "mean": lambda x, axis, keepdim: T.mean(x, axis or None, keepdim),
    "mean_all": lambda x: T.mean(x),
    "min": lambda x, axis, keepdim: T.min(x, axis or None, keepdim),
    "numel": lambda x: T.numel(x),
    "prod": lambda x, axis, keepdim, reduce_all: T.prod(x, None if reduce_all else axis, keepdim),
    "squeeze": lambda x, axis: T.squeeze(x, axis),
    "sum": lambda x, axis, dtype, keepdim: T.sum(x, axis or None, dtype, keepdim),
    "unsqueeze": lambda x, axis: T.unsqueeze(x, axis),
    "split": lambda x, sections, axis: T.split(x, sections, axis),
    "split_with_num": lambda x, num, axis: T.split(x, num, axis),
}


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("__"):
        raise AttributeError(f"module 'paddle._C_ops' has no attribute {name!r}")
    plain = name.removesuffix("_")
    compute = _ROWS.get(plain) or _SAME.get(plain) or _of_tensors(name, plain)

    def call(*args: Any) -> Any:
        result = compute(*args)
        return result if plain == name else replace(args[0], result, f"_C_ops.{name}")

    call.__name__ = call.__qualname__ = name
    return call


def _of_tensors(name: str, type: str) -> Callable[..., Any]:
    """An operator that takes nothing but tensors."""
    try:
        slots = input_slots(type)
    except NotSupported as error:
        raise AttributeError(
            f"module 'paddle._C_ops' has no attribute {name!r}: {error}"
        ) from error

    def compute(*tensors: Any) -> Any:
        if len(tensors) != len(slots):
            raise UsageError(
                f"_C_ops.{name}: expected tensors for {list(slots)} and nothing else, but received "
                f"{len(tensors)} arguments; call the function of paddle that computes it"
            )
        results = compute_op(type, dict(zip(slots, tensors, strict=True)), {})
        return results[0] if len(results) == 1 else results

    return compute
