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
from argosy.foundation.dtypes import to_torch
from argosy.foundation.errors import NotSupported, UsageError
from argosy.nn import functional as F
from argosy.ops.array import initialization
from argosy.ops.training.loss_scaling import unscale_gradients
from argosy.static.record.append_op import compute_op
from argosy.static.record.op_types import input_slots
from argosy.tensor.engine import apply, replace

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


def _batch_norm(
    x: Any,
    mean: Any,
    variance: Any,
    scale: Any,
    bias: Any,
    is_test: bool,
    momentum: float,
    epsilon: float,
    data_format: str,
    use_global_stats: bool,
    trainable_statistics: bool,
) -> tuple[Any, ...]:
    """The normalised input, the running statistics, which are changed, and those of the batch: its
    means and the inverses of its standard deviations.
    """
    is_global = use_global_stats or (is_test and not trainable_statistics)
    channel = len(x.shape) - 1 if data_format[-1] == "C" else 1
    axes = [axis for axis in range(len(x.shape)) if axis != channel]
    means = mean.clone() if is_global else T.mean(x, axes)
    spread = variance.clone() if is_global else T.var(x, axes, unbiased=False)
    out = F.batch_norm(
        x, mean, variance, scale, bias, not is_global, momentum, epsilon, data_format
    )
    return out, mean, variance, means, T.rsqrt(spread + epsilon), T.zeros([0], "uint8")


def _normalised(x: Any, axis: int, epsilon: float) -> tuple[Any, Any]:
    length = T.sqrt(T.sum(x * x, axis, keepdim=True) + epsilon)
    return x / length, length


def _add_weight_gradient(
    x: Any, dout: Any, dweight: Any, dbias: Any, multi_precision: bool, has_bias: bool
) -> tuple[Any, Any]:
    """What a linear layer adds to the gradients of its weight and of its bias, which may be None
    so far; in float32 if ``multi_precision``.
    """
    kind = "float32" if multi_precision else x.dtype
    rows = T.reshape(x, [-1, x.shape[-1]])
    grads = T.reshape(dout, [-1, dout.shape[-1]])
    weight = T.cast(T.matmul(rows, grads, transpose_x=True), kind)
    bias = T.cast(T.sum(grads, 0), kind) if has_bias else None
    weight = weight if dweight is None else replace(dweight, dweight + weight, "dweight")
    if bias is not None and dbias is not None:
        bias = replace(dbias, dbias + bias, "dbias")
    return weight, bias


def _unscaled(grads: list[Any], scale: Any) -> tuple[list[Any], Any]:
    """The gradients, divided by ``scale`` in place, and whether one is not finite."""
    divided, found = apply(unscale_gradients, grads, scale)
    return [replace(*pair, "_C_ops") for pair in zip(grads, divided, strict=True)], found


def _truncated(shape: Any, mean: float, std: float, seed: int, *rest: Any) -> Any:
    """Normal numbers that lie within bounds, which 3.x names before the dtype and the place; else
    within two of the standard deviations.
    """
    *bounds, dtype, _ = rest
    low, high = bounds or (mean - 2 * std, mean + 2 * std)
    kind = to_torch(dtype)
    return apply(
        initialization.truncated_gaussian_random, list(shape), mean, std, low, high, kind, seed
    )


# Operators that change what they are given and return more than that.
_IN_PLACE: dict[str, Callable[..., Any]] = {"check_finite_and_unscale_": _unscaled}

_ROWS: dict[str, Callable[..., Any]] = {
    "argmax": lambda x, axis, keepdims, flatten, dtype: T.argmax(
        x, None if flatten else axis, keepdims, dtype
    ),
    "batch_norm": _batch_norm,
    "fused_linear_param_grad_add": _add_weight_gradient,
    "norm": lambda x, axis, epsilon, is_test: _normalised(x, axis, epsilon),
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
    "truncated_gaussian_random": _truncated,
    "unsqueeze": lambda x, axis: T.unsqueeze(x, axis),
    "split": lambda x, sections, axis: T.split(x, sections, axis),
    "split_with_num": lambda x, num, axis: T.split(x, num, axis),
}


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("__"):
        raise AttributeError(f"module 'paddle._C_ops' has no attribute {name!r}")
    if name in _IN_PLACE:
        return _IN_PLACE[name]
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
