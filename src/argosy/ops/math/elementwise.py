"""Arithmetic between tensors and numbers, element by element with broadcasting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from argosy.foundation.errors import UnsupportedDtype, UsageError
from argosy.ops import composition, sketch
from argosy.ops.math import promotion, ties
from argosy.ops.math.promotion import align, strict
from argosy.ops.table import Op, define, op
from argosy.ops.traits import Precision, Record, Rows


def binary(
    name: str,
    fn: Callable[[Any, Any], Any],
    promote: Callable[[Any, Any], tuple[Any, Any]] = align,
    **traits: Any,
) -> Op:
    """Define an op of two tensors that promotes its inputs and calls ``fn``."""

    def compute(x: Any, y: Any) -> Any:
        x, y = promote(x, y)
        return fn(x, y)

    return define(name, compute, **traits)


@op(
    "add",
    precision=Precision.GRAY,
    layer="=elementwise_add",
    sketch=sketch.elementwise,
    types=("elementwise_add(X, Y, axis=-1)",),
)
def add(x: Any, y: Any) -> Tensor:
    x, y = align(x, y)
    return torch.add(x, y) if isinstance(x, Tensor) else torch.add(y, x)


@op(
    "subtract",
    precision=Precision.GRAY,
    layer="=elementwise_sub",
    sketch=sketch.elementwise,
    types=("elementwise_sub(X, Y, axis=-1)",),
)
def subtract(x: Any, y: Any) -> Tensor:
    x, y = align(x, y)
    if _is_bool(x) and _is_bool(y):
        raise UnsupportedDtype(
            "subtract: booleans cannot be subtracted; use x ^ y or cast them with astype()"
        )
    # torch refuses to subtract booleans even from numbers of another type.
    difference: Tensor = _bool_as_number(x, y) - _bool_as_number(y, x)
    return difference


@op(
    "multiply",
    precision=Precision.GRAY,
    layer="=elementwise_mul",
    sketch=sketch.elementwise,
    types=("elementwise_mul(X, Y, axis=-1)",),
)
def multiply(x: Any, y: Any) -> Tensor:
    x, y = align(x, y)
    return torch.mul(x, y) if isinstance(x, Tensor) else torch.mul(y, x)


@op(
    "divide",
    precision=Precision.GRAY,
    layer="=elementwise_div",
    types=("elementwise_div(X, Y, -, axis=-1)",),
)
def divide(x: Any, y: Any, rounding_mode: str | None = None) -> Tensor:
    x, y = align(x, y)
    if rounding_mode is not None:
        return torch.div(x, y, rounding_mode=rounding_mode).detach()
    if _is_bool(x) and _is_bool(y):
        # Two booleans divide as integers and stay boolean.
        return torch.div(_as_int8(x), _as_int8(y), rounding_mode="floor").to(torch.bool)
    quotient: Tensor = x / y
    return quotient


def _bool_as_number(value: Any, other: Any) -> Any:
    """``value``, as a number of the result's dtype if it is boolean and ``other`` is not."""
    if not _is_bool(value) or _is_bool(other):
        return value
    return value.to(torch.result_type(value, other)) if isinstance(value, Tensor) else int(value)


def _is_bool(value: Any) -> bool:
    return value.dtype is torch.bool if isinstance(value, Tensor) else isinstance(value, bool)


def _as_int8(value: Any) -> Any:
    return value.to(torch.int8) if isinstance(value, Tensor) else int(value)


@op(
    "floor_divide",
    precision=Precision.GRAY,
    layer="=elementwise_floordiv",
    sketch=sketch.elementwise,
    types=("elementwise_floordiv(X, Y, axis=-1)",),
)
def floor_divide(x: Any, y: Any) -> Tensor:
    """Divide and round down. No gradient passes, and a 0-d tensor widens the result like any
    other.
    """
    x, y = promotion.widen(x, y)
    quotient: Tensor = x // y
    return quotient.detach()


@op(
    "remainder",
    precision=Precision.GRAY,
    layer="=elementwise_mod",
    sketch=sketch.elementwise,
    types=("elementwise_mod(X, Y, axis=-1)",),
)
def remainder(x: Any, y: Any) -> Tensor:
    x, y = align(x, y)
    if not isinstance(x, Tensor):
        # torch has no gradient of number % tensor
        x = torch.full((), x, dtype=torch.result_type(x, y), device=y.device)
    return torch.remainder(x, y)


@op(
    "pow",
    layer="=elementwise_pow",
    sketch=sketch.elementwise,
    precision={"pow": Precision.BLACK, "elementwise_pow": Precision.GRAY},
    types=("elementwise_pow(X, Y, axis=-1)",),
)
def pow(x: Any, y: Any) -> Tensor:
    x, y = align(x, y)
    return torch.pow(x, y)


@op("pow_number", precision={"pow": Precision.BLACK}, layer="pow", types=("pow(X, factor)",))
def pow_number(x: Tensor, y: float) -> Tensor:
    """``x`` to the power of a number that is first cast to the dtype of ``x``."""
    return torch.pow(x, promotion.number(y, x.dtype))


@op(
    "matmul",
    precision={"matmul": Precision.WHITE, "matmul_v2": Precision.WHITE},
    types=("matmul_v2(X, Y, trans_x, trans_y)",),
    sketch=sketch.product,
)
def matmul(x: Tensor, y: Tensor, transpose_x: bool = False, transpose_y: bool = False) -> Tensor:
    if transpose_x and x.ndim > 1:
        x = x.mT
    if transpose_y and y.ndim > 1:
        y = y.mT
    return torch.matmul(x, y)


def _neg_parts(record: Record, x: Any) -> Any:
    is_number = x.raw.dtype is not torch.bool
    return record(scale, x, -1.0, 0.0, True) if is_number else NotImplemented


@op("neg", parts=_neg_parts)
def neg(x: Tensor) -> Tensor:
    return x.clone() if x.dtype is torch.bool else torch.neg(x)


abs = define("abs", torch.abs, ("x",), sketch=sketch.like)
maximum = binary(
    "maximum",
    torch.maximum,
    strict,
    precision=Precision.GRAY,
    layer="=elementwise_max",
    sketch=sketch.elementwise,
    types=("elementwise_max(X, Y, axis=-1)",),
)
minimum = binary(
    "minimum",
    torch.minimum,
    strict,
    precision=Precision.GRAY,
    layer="=elementwise_min",
    sketch=sketch.elementwise,
    types=("elementwise_min(X, Y, axis=-1)",),
)
fmax = binary(
    "fmax",
    ties.fmax,
    strict,
    layer="=elementwise_fmax",
    types=("elementwise_fmax(X, Y, axis=-1)",),
)
fmin = binary(
    "fmin",
    ties.fmin,
    strict,
    layer="=elementwise_fmin",
    types=("elementwise_fmin(X, Y, axis=-1)",),
)
nextafter = binary(
    "nextafter",
    lambda x, y: torch.nextafter(x, y).detach(),
    promote=strict,
    types=("nextafter(/x, /y) -> out",),
)
gcd = binary("gcd", torch.gcd, promote=strict)
lcm = binary("lcm", torch.lcm, promote=strict)
gammaincc = binary("gammaincc", torch.special.gammaincc)
gammainc = binary("gammainc", torch.special.gammainc)


@op("heaviside", types=("elementwise_heaviside(X, Y, axis=-1)",))
def heaviside(x: Tensor, y: Tensor) -> Tensor:
    """0 where ``x`` is negative, 1 where positive, ``y`` where zero; torch's own has no
    gradient. That of ``x`` is zero.
    """
    x, y = align(x, y)
    return torch.where(x == 0, y, torch.sgn(x).clamp_min(0).to(y.dtype))


@op("logaddexp", file_parts=composition.logaddexp)
def logaddexp(x: Tensor, y: Tensor) -> Tensor:
    x, y = strict(x, y)
    if not x.is_floating_point():
        x, y = x.to(torch.float32), y.to(torch.float32)
    return torch.logaddexp(x, y)


@op("atan2", types=("atan2(X1, X2)",))
def atan2(x: Tensor, y: Tensor) -> Tensor:
    """The angle of the points (y, x); integers give float64."""
    x, y = strict(x, y)
    return torch.atan2(x if x.is_floating_point() else x.to(torch.float64), y)


@op("copysign")
def copysign(x: Tensor, y: Any) -> Tensor:
    """The magnitude of ``x`` with the sign of ``y``; integers stay integers, whatever number ``y``
    is.
    """
    x, y = align(x, y)
    dtype = torch.result_type(x, y) if isinstance(y, Tensor) else x.dtype
    if dtype.is_floating_point:
        return torch.copysign(x.to(dtype), y)
    magnitude = torch.abs(x).to(dtype)
    return torch.where(torch.signbit(torch.as_tensor(y, device=x.device)), -magnitude, magnitude)


@op("hypot", file_parts=composition.hypot)
def hypot(x: Tensor, y: Tensor) -> Tensor:
    x, y = align(x, y)
    return torch.sqrt(x * x + y * y)


@op("ldexp")
def ldexp(x: Tensor, y: Tensor, dtype: torch.dtype) -> Tensor:
    return x.to(dtype) * torch.pow(2.0, y.to(dtype))


@op(
    "scale",
    precision=Precision.GRAY,
    types=("scale(X, scale/ScaleTensor, bias, bias_after_scale)",),
)
def scale(x: Tensor, scale: Any, bias: float, bias_after_scale: bool = True) -> Tensor:
    """``scale * x + bias``, or ``scale * (x + bias)``; the numbers are first cast to the dtype of
    ``x``.
    """
    scale = (
        scale.reshape(()).to(x.dtype)
        if isinstance(scale, Tensor)
        else promotion.number(scale, x.dtype)
    )
    bias = promotion.number(bias, x.dtype)
    if bias == 0:
        return x * scale
    return x * scale + bias if bias_after_scale else (x + bias) * scale


# What an open bound stands for: infinities are clipped to the largest finite value.
_OPEN_BOUNDS: dict[torch.dtype, tuple[float, float]] = {
    torch.float64: (torch.finfo(torch.float64).min, torch.finfo(torch.float64).max),
    torch.float32: (torch.finfo(torch.float32).min, torch.finfo(torch.float32).max),
    torch.float16: (torch.finfo(torch.float16).min, torch.finfo(torch.float16).max),
    torch.int32: (-(2**31), 2**31 - 1 - 2**7),
    torch.int64: (-(2**63), 2**63 - 1 - 2**39),
}


@op("clip", types=("clip(X, min/Min, max/Max)",), file_parts=composition.clip)
def clip(x: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Limit values to [min, max]; a fractional bound turns integers into float32."""
    if isinstance(min, (int, float)) and isinstance(max, (int, float)) and min > max:
        raise UsageError(
            f"clip: max should be greater than or equal to min, but received min={min}, max={max}"
        )
    if min is None or max is None:
        low, high = _OPEN_BOUNDS.get(x.dtype, (None, None))
        min = low if min is None else min
        max = high if max is None else max
    if not x.is_floating_point() and (_is_fractional(min) or _is_fractional(max)):
        x = x.to(torch.float32)
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        min, max = _bound_tensor(min, x), _bound_tensor(max, x)
    return ties.clamp(x, min, max)


def _is_fractional(bound: Any) -> bool:
    return bound.is_floating_point() if isinstance(bound, Tensor) else isinstance(bound, float)


def _bound_tensor(bound: Any, x: Tensor) -> Tensor | None:
    if bound is None:
        return None
    if isinstance(bound, Tensor):
        return bound.detach().reshape(()).to(x.dtype)
    return torch.full((), bound, dtype=x.dtype, device=x.device)


@op("add_n", layer="add_n", types=("sum(X)",))
def add_n(inputs: list[Tensor]) -> Tensor:
    total = inputs[0]
    if len(inputs) == 1:
        return total.clone()
    for term in inputs[1:]:
        if term.shape != total.shape:
            raise UsageError(
                f"add_n: inputs must have one shape, but received {[list(t.shape) for t in inputs]}"
            )
        if term.dtype is not total.dtype:
            raise UsageError(
                f"add_n: inputs must have one dtype, but received {[t.dtype for t in inputs]}"
            )
        total = total + term
    return total


@op("lerp")
def lerp(x: Tensor, y: Tensor, weight: Any) -> Tensor:
    """Interpolate; the weight gets no gradient."""
    return torch.lerp(x, y, weight.detach() if isinstance(weight, Tensor) else weight)


@op("multiplex", types=("multiplex(X, Ids)",), rows=Rows.OTHER)
def multiplex(inputs: list[Tensor], index: Tensor) -> Tensor:
    """Row i of the result is row i of ``inputs[index[i]]``."""
    rows = index.reshape(-1).to(torch.int64)
    return torch.stack(inputs)[rows, torch.arange(rows.numel(), device=rows.device)]


@op("increment", types=("increment(X, step)",))
def increment(x: Tensor, value: float) -> Tensor:
    if x.numel() != 1:
        raise UsageError(
            f"increment: the number of elements in x should be 1, but it has shape {list(x.shape)}"
        )
    return x + promotion.number(value, x.dtype)


@op("diff")
def diff(x: Tensor, n: int, axis: int, prepend: Tensor | None, append: Tensor | None) -> Tensor:
    return torch.diff(x, n, axis, prepend, append)


@op("renorm", precision=Precision.BLACK)
def renorm(x: Tensor, p: float, axis: int, max_norm: float) -> Tensor:
    """Scale down the slices along ``axis`` whose p-norm exceeds ``max_norm``."""
    return torch.renorm(x, p, axis, max_norm)
