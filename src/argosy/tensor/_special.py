"""Functions of one tensor."""

from __future__ import annotations

from typing import Any

from argosy.foundation import dtypes
from argosy.foundation.errors import BadArgument, DtypeError, UsageError
from argosy.ops import activation as activations
from argosy.ops import elementwise, manipulation
from argosy.ops import special as ops
from argosy.tensor._arguments import store
from argosy.tensor._face import unary
from argosy.tensor._inplace import make_inplace
from argosy.tensor._tensor import apply

__all__ = [
    "abs", "abs_", "acos", "acos_", "acosh", "acosh_", "angle", "asin", "asin_", "asinh", "asinh_", "atan", "atan_",
    "atanh", "atanh_", "ceil", "ceil_", "conj", "cos", "cos_", "cosh", "cosh_", "deg2rad", "digamma", "digamma_", "erf",
    "erf_", "erfinv", "erfinv_", "exp", "exp_", "expm1", "expm1_", "floor", "floor_", "frac", "frac_", "frexp",
    "gammaln", "gammaln_", "i0", "i0_", "i0e", "i1", "i1e", "imag", "isfinite", "isinf", "isnan", "isneginf",
    "isposinf", "isreal", "lgamma", "lgamma_", "log", "log10", "log10_", "log1p", "log1p_", "log2", "log2_", "log_",
    "logit", "logit_", "multigammaln", "multigammaln_", "nan_to_num", "nan_to_num_", "neg", "neg_", "negative",
    "polygamma", "polygamma_", "positive", "rad2deg", "real", "reciprocal", "reciprocal_", "round", "round_", "rsqrt",
    "rsqrt_", "sgn", "sigmoid", "sigmoid_", "sign", "signbit", "sin", "sin_", "sinc", "sinc_", "sinh", "sinh_",
    "softmax", "sqrt", "sqrt_", "square", "square_", "stanh", "tan", "tan_", "tanh", "tanh_", "trunc", "trunc_",
]  # fmt: skip

abs = unary(elementwise.abs, "Absolute value; of complex numbers the magnitude.")
neg = unary(elementwise.neg, "Negate.")
exp = unary(ops.exp, "Raise e to each element.")
expm1 = unary(ops.expm1, "``exp(x) - 1``, exact near 0.")
log = unary(ops.log, "Natural logarithm.")
log2 = unary(ops.log2, "Logarithm to base 2.")
log10 = unary(ops.log10, "Logarithm to base 10.")
log1p = unary(ops.log1p, "``log(1 + x)``, exact near 0.")
sqrt = unary(ops.sqrt, "Square root.")
rsqrt = unary(ops.rsqrt, "One over the square root.")
square = unary(ops.square, "Square.")
reciprocal = unary(ops.reciprocal, "One over each element.")

sin = unary(ops.sin, "Sine of radians.")
cos = unary(ops.cos, "Cosine of radians.")
tan = unary(ops.tan, "Tangent of radians.")
asin = unary(ops.asin, "Inverse sine, in radians.")
acos = unary(ops.acos, "Inverse cosine, in radians.")
atan = unary(ops.atan, "Inverse tangent, in radians.")
sinh = unary(ops.sinh, "Hyperbolic sine.")
cosh = unary(ops.cosh, "Hyperbolic cosine.")
tanh = unary(ops.tanh, "Hyperbolic tangent.")
asinh = unary(ops.asinh, "Inverse hyperbolic sine.")
acosh = unary(ops.acosh, "Inverse hyperbolic cosine.")
atanh = unary(ops.atanh, "Inverse hyperbolic tangent.")
sinc = unary(ops.sinc, "``sin(pi x) / (pi x)``, 1 at 0.")
deg2rad = unary(ops.deg2rad, "Convert degrees to radians.")
rad2deg = unary(ops.rad2deg, "Convert radians to degrees.")

floor = unary(ops.floor, "Round towards minus infinity.")
ceil = unary(ops.ceil, "Round towards infinity.")
sign = unary(ops.sign, "-1, 0 or 1; of complex numbers the unit number of the same angle.")
sgn = unary(ops.sign, "-1, 0 or 1; of complex numbers the unit number of the same angle.", "sgn")
signbit = unary(ops.signbit, "Whether the sign bit is set, as it is for -0.0.")

isnan = unary(ops.isnan, "Whether each element is nan.")
isinf = unary(ops.isinf, "Whether each element is infinite.")
isfinite = unary(ops.isfinite, "Whether each element is neither infinite nor nan.")
isneginf = unary(ops.isneginf, "Whether each element is minus infinity.")
isposinf = unary(ops.isposinf, "Whether each element is infinity.")
isreal = unary(ops.isreal, "Whether each element has no imaginary part.")

real = unary(manipulation.real, "The real part of complex numbers.")
imag = unary(manipulation.imag, "The imaginary part of complex numbers.")
conj = unary(ops.conj, "The complex conjugate.")
angle = unary(ops.angle, "The angle of complex numbers; pi for negative real ones.")

sigmoid = unary(activations.sigmoid, "``1 / (1 + exp(-x))``.")
erf = unary(ops.erf, "The error function.")
erfinv = unary(ops.erfinv, "The inverse of the error function.")
lgamma = unary(ops.lgamma, "Logarithm of the absolute value of the gamma function.")
gammaln = unary(ops.lgamma, "Logarithm of the absolute value of the gamma function.", "gammaln")
digamma = unary(ops.digamma, "Derivative of ``lgamma``.")
i0 = unary(ops.i0, "Modified Bessel function of order 0.")
i0e = unary(ops.i0e, "``i0(x) * exp(-abs(x))``.")
i1 = unary(ops.i1, "Modified Bessel function of order 1.")
i1e = unary(ops.i1e, "``i1(x) * exp(-abs(x))``.")


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


def round(x: Any, decimals: int = 0, name: str | None = None) -> Any:
    """Round to the nearest value of ``decimals`` digits, halves to the even one."""
    return apply(ops.round, x, decimals)


def trunc(input: Any, name: str | None = None) -> Any:
    """Drop the fraction."""
    return apply(ops.trunc, input)


def frac(x: Any, name: str | None = None, *, out: Any = None) -> Any:
    """Keep the fraction, with the sign of ``x``."""
    return store(out, apply(ops.frac, x), "frac")


def frexp(x: Any, name: str | None = None) -> Any:
    """Split into mantissa and exponent with ``x = mantissa * 2 ** exponent``, both in the dtype of ``x``."""
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
    x: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None, name: str | None = None
) -> Any:
    """Replace nan and infinities; by default by 0 and the largest and smallest finite values.

    Example:
        >>> import paddle
        >>> paddle.nan_to_num(paddle.to_tensor([float("nan"), float("inf"), 1.0]), posinf=9.0).tolist()
        [0.0, 9.0, 1.0]
    """
    return apply(ops.nan_to_num, x, nan, posinf, neginf)


def softmax(x: Any, axis: int = -1, dtype: Any = None, name: str | None = None, *, out: Any = None) -> Any:
    """Exponentials along ``axis`` divided by their sum; ``x`` is first cast to ``dtype``.

    Example:
        >>> import paddle
        >>> paddle.nn.functional.softmax(paddle.zeros([4])).tolist()
        [0.25, 0.25, 0.25, 0.25]
    """
    dtype = None if dtype is None else dtypes.to_torch(dtype)
    return store(out, apply(activations.softmax, x, axis, dtype), "softmax")


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
