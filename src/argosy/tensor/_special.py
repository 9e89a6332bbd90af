"""Functions of one tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from argosy.foundation import dtypes
from argosy.foundation.errors import BadArgument, DtypeError, UsageError
from argosy.ops.array import manipulation
from argosy.ops.math import elementwise
from argosy.ops.math import special as ops
from argosy.ops.nn import activation as activations
from argosy.ops.nn import softmax as softmaxes
from argosy.ops.table import Op
from argosy.tensor._core.arguments import store
from argosy.tensor._core.inplace import make_inplace
from argosy.tensor._core.tensor import apply

__all__ = [
    "abs", "abs_", "acos", "acos_", "acosh", "acosh_", "angle", "asin", "asin_", "asinh", "asinh_",
    "atan", "atan_",
    "atanh", "atanh_", "ceil", "ceil_", "conj", "cos", "cos_", "cosh", "cosh_", "deg2rad",
    "digamma", "digamma_", "erf",
    "erf_", "erfinv", "erfinv_", "exp", "exp_", "expm1", "expm1_", "floor", "floor_", "frac",
    "frac_", "frexp",
    "gammaln", "gammaln_", "i0", "i0_", "i0e", "i1", "i1e", "imag", "isfinite", "isinf", "isnan",
    "isneginf",
    "isposinf", "isreal", "lgamma", "lgamma_", "log", "log10", "log10_", "log1p", "log1p_", "log2",
    "log2_", "log_",
    "logit", "logit_", "multigammaln", "multigammaln_", "nan_to_num", "nan_to_num_", "neg", "neg_",
    "negative",
    "polygamma", "polygamma_", "positive", "rad2deg", "real", "reciprocal", "reciprocal_", "round",
    "round_", "rsqrt",
    "rsqrt_", "sgn", "sigmoid", "sigmoid_", "sign", "signbit", "sin", "sin_", "sinc", "sinc_",
    "sinh", "sinh_",
    "softmax", "sqrt", "sqrt_", "square", "square_", "stanh", "tan", "tan_", "tanh", "tanh_",
    "trunc", "trunc_",
]  # fmt: skip


def _unary(op: Op, doc: str, name: str | None = None) -> Callable[..., Any]:
    """A function ``f(x, name=None, *, out=None)``."""

    def face(x: Any, name: str | None = None, *, out: Any = None) -> Any:
        result = apply(op, x)
        return result if out is None else store(out, result, op.name)

    face.__name__ = face.__qualname__ = name or op.name
    face.__doc__ = doc
    return face


abs = _unary(elementwise.abs, "Absolute value; of complex numbers the magnitude.")
neg = _unary(elementwise.neg, "Negate.")
exp = _unary(ops.exp, "Raise e to each element.")
expm1 = _unary(ops.expm1, "``exp(x) - 1``, exact near 0.")
log = _unary(ops.log, "Natural logarithm.")
log2 = _unary(ops.log2, "Logarithm to base 2.")
log10 = _unary(ops.log10, "Logarithm to base 10.")
log1p = _unary(ops.log1p, "``log(1 + x)``, exact near 0.")
sqrt = _unary(ops.sqrt, "Square root.")
rsqrt = _unary(ops.rsqrt, "One over the square root.")
square = _unary(ops.square, "Square.")
reciprocal = _unary(ops.reciprocal, "One over each element.")

sin = _unary(ops.sin, "Sine of radians.")
cos = _unary(ops.cos, "Cosine of radians.")
tan = _unary(ops.tan, "Tangent of radians.")
asin = _unary(ops.asin, "Inverse sine, in radians.")
acos = _unary(ops.acos, "Inverse cosine, in radians.")
atan = _unary(ops.atan, "Inverse tangent, in radians.")
sinh = _unary(ops.sinh, "Hyperbolic sine.")
cosh = _unary(ops.cosh, "Hyperbolic cosine.")
tanh = _unary(ops.tanh, "Hyperbolic tangent.")
asinh = _unary(ops.asinh, "Inverse hyperbolic sine.")
acosh = _unary(ops.acosh, "Inverse hyperbolic cosine.")
atanh = _unary(ops.atanh, "Inverse hyperbolic tangent.")
sinc = _unary(ops.sinc, "``sin(pi x) / (pi x)``, 1 at 0.")
deg2rad = _unary(ops.deg2rad, "Convert degrees to radians.")
rad2deg = _unary(ops.rad2deg, "Convert radians to degrees.")

floor = _unary(ops.floor, "Round towards minus infinity.")
ceil = _unary(ops.ceil, "Round towards infinity.")
sign = _unary(ops.sign, "-1, 0 or 1; of complex numbers the unit number of the same angle.")
sgn = _unary(ops.sign, "-1, 0 or 1; of complex numbers the unit number of the same angle.", "sgn")
signbit = _unary(ops.signbit, "Whether the sign bit is set, as it is for -0.0.")

isnan = _unary(ops.isnan, "Whether each element is nan.")
isinf = _unary(ops.isinf, "Whether each element is infinite.")
isfinite = _unary(ops.isfinite, "Whether each element is neither infinite nor nan.")
isneginf = _unary(ops.isneginf, "Whether each element is minus infinity.")
isposinf = _unary(ops.isposinf, "Whether each element is infinity.")
isreal = _unary(ops.isreal, "Whether each element has no imaginary part.")

real = _unary(manipulation.real, "The real part of complex numbers.")
imag = _unary(manipulation.imag, "The imaginary part of complex numbers.")
conj = _unary(ops.conj, "The complex conjugate.")
angle = _unary(ops.angle, "The angle of complex numbers; pi for negative real ones.")

sigmoid = _unary(activations.sigmoid, "``1 / (1 + exp(-x))``.")
erf = _unary(ops.erf, "The error function.")
erfinv = _unary(ops.erfinv, "The inverse of the error function.")
lgamma = _unary(ops.lgamma, "Logarithm of the absolute value of the gamma function.")
gammaln = _unary(ops.lgamma, "Logarithm of the absolute value of the gamma function.", "gammaln")
digamma = _unary(ops.digamma, "Derivative of ``lgamma``.")
i0 = _unary(ops.i0, "Modified Bessel function of order 0.")
i0e = _unary(ops.i0e, "``i0(x) * exp(-abs(x))``.")
i1 = _unary(ops.i1, "Modified Bessel function of order 1.")
i1e = _unary(ops.i1e, "``i1(x) * exp(-abs(x))``.")


def negative(x: Any, name: str | None = None) -> Any:
    """Negate; booleans are refused."""
    _refuse_bool(x, "negative")
    return apply(elementwise.neg, x)


def positive(x: Any, name: str | None = None) -> Any:
    """Return ``x`` itself; booleans are refused."""
    _refuse_bool(x, "positive")
    return x


def _refuse_bool(x: Any, call: str) -> None:
    if x.dtype.name == "bool":
        raise DtypeError(f"{call}: the operation is not defined for bool tensors")


def round(x: Any, decimals: int = 0, name: str | None = None, *, out: Any = None) -> Any:
    """Round to the nearest value of ``decimals`` digits, halves to the even one."""
    return store(out, apply(ops.round, x, decimals), "round")


def trunc(input: Any, name: str | None = None) -> Any:
    """Drop the fraction."""
    return apply(ops.trunc, input)


def frac(x: Any, name: str | None = None, *, out: Any = None) -> Any:
    """Keep the fraction, with the sign of ``x``."""
    return store(out, apply(ops.frac, x), "frac")


def frexp(x: Any, name: str | None = None) -> Any:
    """Split into mantissa and exponent with ``x = mantissa * 2 ** exponent``, both in the dtype of
    ``x``.
    """
    if x.dtype.name not in ("float32", "float64"):
        raise DtypeError(f"frexp: x must be float32 or float64, but received {x.dtype.name}")
    return apply(ops.frexp, x)


def stanh(x: Any, scale_a: float = 0.67, scale_b: float = 1.7159, name: str | None = None) -> Any:
    """Compute ``scale_b * tanh(scale_a * x)``."""
    return apply(ops.stanh, x, scale_a, scale_b)


def logit(x: Any, eps: float | None = None, name: str | None = None) -> Any:
    """Compute ``log(x / (1 - x))``; with ``eps``, x is first limited to [eps, 1 - eps]."""
    return apply(ops.logit, x, eps or 0.0)


def polygamma(x: Any, n: int, name: str | None = None) -> Any:
    """The n-th derivative of ``digamma``."""
    if not isinstance(n, int):
        raise DtypeError(f"polygamma: n must be an int, but received {type(n).__name__}")
    if n < 0:
        raise UsageError(f"polygamma: n must be 0 or more, but received {n}")
    return apply(ops.digamma, x) if n == 0 else apply(ops.polygamma, x, n)


def multigammaln(x: Any, p: int, name: str | None = None) -> Any:
    """Logarithm of the multivariate gamma function of dimension ``p``."""
    if p < 1:
        raise BadArgument(f"multigammaln: p must be 1 or more, but received {p}")
    return apply(ops.multigammaln, x, p)


def nan_to_num(
    x: Any,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
    name: str | None = None,
) -> Any:
    """Replace nan and infinities; by default by 0 and the largest and smallest finite values.

    Example:
        >>> import paddle
        >>> paddle.nan_to_num(paddle.to_tensor([float("nan"), float("inf"), 1.0]),
        ...     posinf=9.0).tolist()
        [0.0, 9.0, 1.0]
    """
    return apply(ops.nan_to_num, x, nan, posinf, neginf)


def softmax(input: Any, dim: int | None = None, dtype: Any = None, *, out: Any = None) -> Any:
    """Exponentials along ``dim`` divided by their sum; ``input`` is first cast to ``dtype``.

    Without ``dim`` it is 0 for tensors of 0, 1 or 3 dimensions, else 1.
    ``paddle.nn.functional.softmax`` takes the last axis.
    """
    if dim is None:
        dim = 0 if len(input.shape) in (0, 1, 3) else 1
    dtype = None if dtype is None else dtypes.to_torch(dtype)
    return store(out, apply(softmaxes.softmax, input, dim, dtype), "softmax")


abs_ = make_inplace(abs)
acos_ = make_inplace(acos)
acosh_ = make_inplace(acosh)
asin_ = make_inplace(asin)
asinh_ = make_inplace(asinh)
atan_ = make_inplace(atan)
atanh_ = make_inplace(atanh)
ceil_ = make_inplace(ceil)
cos_ = make_inplace(cos)
cosh_ = make_inplace(cosh)
digamma_ = make_inplace(digamma)
erf_ = make_inplace(erf)
erfinv_ = make_inplace(erfinv)
exp_ = make_inplace(exp)
expm1_ = make_inplace(expm1)
floor_ = make_inplace(floor)
frac_ = make_inplace(frac)
gammaln_ = make_inplace(gammaln)
i0_ = make_inplace(i0)
lgamma_ = make_inplace(lgamma)
log_ = make_inplace(log)
log10_ = make_inplace(log10)
log1p_ = make_inplace(log1p)
log2_ = make_inplace(log2)
logit_ = make_inplace(logit)
multigammaln_ = make_inplace(multigammaln)
nan_to_num_ = make_inplace(nan_to_num)
neg_ = make_inplace(neg)
polygamma_ = make_inplace(polygamma)
reciprocal_ = make_inplace(reciprocal)
round_ = make_inplace(round)
rsqrt_ = make_inplace(rsqrt)
sigmoid_ = make_inplace(sigmoid)
sin_ = make_inplace(sin)
sinc_ = make_inplace(sinc)
sinh_ = make_inplace(sinh)
sqrt_ = make_inplace(sqrt)
square_ = make_inplace(square)
tan_ = make_inplace(tan)
tanh_ = make_inplace(tanh)
trunc_ = make_inplace(trunc)
