"""Arithmetic between tensors, and what limits or combines their values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from argosy.foundation.errors import DtypeError, OutOfRange, UsageError
from argosy.ops import table
from argosy.ops.math import elementwise as ops
from argosy.ops.table import Op
from argosy.tensor._core.arguments import store
from argosy.tensor._core.defaults import defaults
from argosy.tensor._core.face import binary
from argosy.tensor._core.inplace import change, make_inplace, replace
from argosy.tensor._core.tensor import Tensor, apply

__all__ = [
    "add", "add_", "add_n", "atan2", "clamp", "clamp_", "clip", "clip_", "copysign", "copysign_",
    "diff", "div", "div_",
    "divide", "divide_", "floor_divide", "floor_divide_", "floor_mod", "floor_mod_", "fmax",
    "fmin", "gammainc",
    "gammainc_", "gammaincc", "gammaincc_", "gcd", "gcd_", "heaviside", "hypot", "hypot_",
    "increment", "lcm", "lcm_",
    "ldexp", "ldexp_", "lerp", "lerp_", "logaddexp", "maximum", "minimum", "mod", "mod_", "mul",
    "mul_", "multiplex",
    "multiply", "multiply_", "nextafter", "pow", "pow_", "remainder", "renorm", "renorm_",
    "remainder_", "scale", "scale_", "sub", "sub_",
    "subtract", "subtract_", "true_divide",
]  # fmt: skip


def binary_with_out(op: Op, doc: str) -> Callable[..., Any]:
    """A function ``f(x, y, name=None, *, out=None)``."""

    def face(x: Any, y: Any, name: str | None = None, *, out: Any = None) -> Any:
        result = apply(op, x, y)
        return result if out is None else store(out, result, op.name)

    face.__name__ = face.__qualname__ = op.name
    face.__doc__ = doc
    return face


def add(x: Any, y: Any, name: str | None = None, *, alpha: Any = 1, out: Any = None) -> Any:
    """Compute ``x + alpha * y``, with broadcasting."""
    if alpha != 1:
        y = apply(ops.multiply, y, alpha)
    return store(out, apply(ops.add, x, y), "add")


def subtract(x: Any, y: Any, name: str | None = None, *, alpha: Any = 1, out: Any = None) -> Any:
    """Compute ``x - alpha * y``, with broadcasting."""
    if alpha != 1:
        y = apply(ops.multiply, y, alpha)
    return store(out, apply(ops.subtract, x, y), "subtract")


def multiply(x: Any, y: Any, name: str | None = None, *, out: Any = None) -> Any:
    """Multiply element-wise, with broadcasting."""
    return store(out, apply(ops.multiply, x, y), "multiply")


def divide(
    x: Any, y: Any, name: str | None = None, *, rounding_mode: str | None = None, out: Any = None
) -> Any:
    """Divide element-wise; integers give float32 unless ``rounding_mode`` is "floor" or "trunc".

    Example:
        >>> import paddle
        >>> paddle.divide(paddle.to_tensor([-7, 7]), paddle.to_tensor([2, 2]),
        ...     rounding_mode="trunc").tolist()
        [-3, 3]
    """
    if rounding_mode is None:
        return store(out, apply(ops.divide, x, y), "divide")
    if rounding_mode not in ("trunc", "floor"):
        raise UsageError(
            "divide: expected rounding_mode to be one of None, 'trunc', or 'floor', but "
            f"received {rounding_mode!r}"
        )
    return store(out, apply(ops.divide, x, y, rounding_mode), "divide")


def true_divide(input: Any, other: Any, *, out: Any = None) -> Any:
    """Divide element-wise; integers give float32."""
    return divide(input, other, out=out)


def floor_divide(x: Any, y: Any, name: str | None = None, *, out: Any = None) -> Any:
    """Divide and round towards minus infinity; no gradient passes.

    A number counts as an int64 or float32 tensor, so that ``floor_divide(int32, 2)`` is int64,
    where ``x // 2`` is int32.
    """
    if isinstance(y, (int, float)):
        y = Tensor(y)
    return store(out, apply(ops.floor_divide, x, y), "floor_divide")


def remainder(x: Any, y: Any, name: str | None = None, *, out: Any = None) -> Any:
    """The rest of floor division; it has the sign of ``y``. A number is first cast to the dtype of
    ``x``.
    """
    if isinstance(y, float) and x.dtype.is_integer:
        y = int(y)
    return store(out, apply(ops.remainder, x, y), "remainder")


def pow(x: Any, y: Any, name: str | None = None, *, out: Any = None) -> Any:
    """Raise ``x`` to the power ``y``, a tensor or a number.

    A number is first cast to the dtype of ``x``: ``pow(int64, 2.5)`` squares, where ``x ** 2.5``
    gives float32.
    """
    if isinstance(y, (int, float)):
        return store(out, apply(ops.pow_number, x, y), "pow")
    if not isinstance(y, Tensor):
        raise DtypeError(f"pow: y must be scalar type, but received: {type(y)} ; or a Tensor")
    return store(out, apply(ops.pow, x, y), "pow")


sub = subtract
mul = multiply
div = divide
mod = floor_mod = remainder

maximum = binary_with_out(
    ops.maximum, "The larger of two elements; nan if either is nan. Equal ones share the gradient."
)
minimum = binary_with_out(
    ops.minimum, "The smaller of two elements; nan if either is nan. Equal ones share the gradient."
)
fmax = binary(
    ops.fmax, "The larger of two elements, ignoring nan; of equal ones the first gets the gradient."
)
fmin = binary(
    ops.fmin,
    "The smaller of two elements, ignoring nan; of equal ones the first gets the gradient.",
)
atan2 = binary(
    ops.atan2, "The angle of the point (y, x), that is of x / y with regard to quadrants."
)
hypot = binary(ops.hypot, "The length of the hypotenuse over two legs.")
heaviside = binary(ops.heaviside, "0 where x < 0, y where x == 0, 1 where x > 0.")
nextafter = binary(ops.nextafter, "The floating-point number next to x in the direction of y.")
copysign = binary(ops.copysign, "The magnitude of x with the sign of y.")
logaddexp = binary(ops.logaddexp, "log(exp(x) + exp(y)) without overflow.")
gcd = binary(ops.gcd, "The greatest common divisor of integers.")
lcm = binary(ops.lcm, "The least common multiple of integers.")
gammainc = binary(ops.gammainc, "The regularized lower incomplete gamma function P(x, y).")
gammaincc = binary(ops.gammaincc, "The regularized upper incomplete gamma function Q(x, y).")


def ldexp(x: Any, y: Any, name: str | None = None) -> Any:
    """Compute ``x * 2 ** y``; integers give the default float dtype."""
    for argument in (x, y):
        if not isinstance(argument, Tensor):
            raise DtypeError(
                f"ldexp: x and y must be Tensors, but received {type(argument).__name__}"
            )
    is_double = x.dtype.name == "float64" or y.dtype.name == "float64"
    return apply(ops.ldexp, x, y, torch.float64 if is_double else defaults.dtype)


def scale(
    x: Any,
    scale: Any = 1.0,
    bias: Any = 0.0,
    bias_after_scale: bool = True,
    act: str | None = None,
    name: str | None = None,
) -> Any:
    """Compute ``scale * x + bias`` (or ``scale * (x + bias)``), then the activation that ``act``
    names.

    The dtype never changes: for an integer tensor, scale and bias lose their fractions first.
    """
    out = apply(ops.scale, x, scale, float(bias), bias_after_scale)
    return out if act is None else apply(table.get(act), out)


def clip(
    x: Any, min: Any = None, max: Any = None, name: str | None = None, *, out: Any = None
) -> Any:
    """Limit values to [min, max]; at the bounds the gradient passes.

    A bound is a number or a tensor of one element. Without one, infinities become the largest
    finite value.

    Example:
        >>> import paddle
        >>> paddle.clip(paddle.to_tensor([1.0, 5.0, 9.0]), min=2.0, max=6.0).tolist()
        [2.0, 5.0, 6.0]
    """
    return store(out, apply(ops.clip, x, min, max), "clip")


clamp = clip


def add_n(inputs: Any, name: str | None = None) -> Any:
    """Sum a list of tensors of one shape."""
    return apply(ops.add_n, [inputs] if isinstance(inputs, Tensor) else list(inputs))


def lerp(x: Any, y: Any, weight: Any, name: str | None = None) -> Any:
    """Interpolate linearly: ``x + weight * (y - x)``."""
    return apply(ops.lerp, x, y, weight)


def multiplex(inputs: Any, index: Any, name: str | None = None) -> Any:
    """Build a tensor whose row i is row i of ``inputs[index[i]]``."""
    return apply(ops.multiplex, list(inputs), index)


def increment(x: Any, value: float = 1.0, name: str | None = None) -> Any:
    """Add ``value`` in place to a tensor of one element, to a leaf outside of the graph too."""
    if not isinstance(x, Tensor):
        raise DtypeError(f"increment: x must be a Tensor, but received {type(x).__name__}")
    is_trained = x.rebind is None and x.raw.is_leaf and x.raw.requires_grad
    with torch.set_grad_enabled(torch.is_grad_enabled() and not is_trained):
        return replace(x, apply(ops.increment, x, value), "increment")


def diff(
    x: Any,
    n: int = 1,
    axis: int = -1,
    prepend: Any = None,
    append: Any = None,
    name: str | None = None,
    *,
    out: Any = None,
) -> Any:
    """Subtract neighbours along ``axis``, ``n`` times; ``prepend`` and ``append`` extend ``x``
    first.
    """
    if n < 1:
        raise UsageError(f"diff: n must be at least 1, but received {n}")
    return store(out, apply(ops.diff, x, n, axis, prepend, append), "diff")


def renorm(x: Any, p: float, axis: int, max_norm: float) -> Any:
    """Scale down the slices along ``axis`` whose p-norm exceeds ``max_norm`` to that norm.

    Example:
        >>> import paddle
        >>> paddle.renorm(paddle.to_tensor([[3.0, 4.0], [0.3, 0.4]]), p=2, axis=0,
        ...     max_norm=5.0).tolist()[0]
        [3.0, 4.0]
    """
    if not -len(x.shape) <= axis < len(x.shape):
        raise OutOfRange(f"renorm: axis {axis} is outside a tensor of shape {x.shape}")
    return apply(ops.renorm, x, float(p), axis, float(max_norm))


def binary_inplace(fn: Callable[..., Any], name: str) -> Callable[..., Any]:
    """``make_inplace`` for a function of two tensors: broadcasting may not make the first one
    larger.
    """

    @functools.wraps(fn)
    def compute(x: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        result = fn(x, y, *args, **kwargs)
        if result.shape != x.shape:
            raise UsageError(
                f"{name}: the shape of the broadcast result, {result.shape}, differs from that "
                "of the tensor "
                f"it would be written to, {x.shape}"
            )
        return result

    return make_inplace(compute, name)


def clip_(x: Any, min: Any = None, max: Any = None, name: str | None = None) -> Any:
    """In-place form of ``clip``; the dtype of ``x`` stays, so the bounds of integers lose their
    fractions.
    """
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        min, max = (int(bound) if bound is not None else None for bound in (min, max))
    return change(x, "clip_", clip, x, min, max)


clamp_ = clip_
renorm_ = make_inplace(renorm)
scale_ = make_inplace(scale)
add_ = binary_inplace(add, "add_")
copysign_ = binary_inplace(copysign, "copysign_")
divide_ = binary_inplace(divide, "divide_")
floor_divide_ = binary_inplace(floor_divide, "floor_divide_")
floor_mod_ = binary_inplace(floor_mod, "floor_mod_")
gammainc_ = binary_inplace(gammainc, "gammainc_")
gammaincc_ = binary_inplace(gammaincc, "gammaincc_")
gcd_ = binary_inplace(gcd, "gcd_")
hypot_ = binary_inplace(hypot, "hypot_")
lcm_ = binary_inplace(lcm, "lcm_")
ldexp_ = binary_inplace(ldexp, "ldexp_")
lerp_ = binary_inplace(lerp, "lerp_")
mod_ = binary_inplace(mod, "mod_")
multiply_ = binary_inplace(multiply, "multiply_")
pow_ = binary_inplace(pow, "pow_")
remainder_ = binary_inplace(remainder, "remainder_")
subtract_ = binary_inplace(subtract, "subtract_")
sub_, mul_, div_ = subtract_, multiply_, divide_
