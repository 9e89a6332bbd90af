"""Functions of one tensor: roots, exponentials, trigonometry, rounding, tests of values, special
functions.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from argosy.ops import composition, sketch
from argosy.ops.math import promotion
from argosy.ops.table import Op, define, op
from argosy.ops.traits import Precision


def _unary(name: str, fn: Any, **traits: Any) -> Op:
    return define(name, fn, ("x",), sketch=sketch.like, **traits)


def _test(name: str, fn: Any, **traits: Any) -> Op:
    return define(name, fn, ("x",), **traits)


exp = _unary("exp", torch.exp, precision=Precision.BLACK)
expm1 = _unary("expm1", torch.expm1, precision=Precision.BLACK)
log = _unary("log", torch.log, precision=Precision.BLACK)
log2 = _unary("log2", torch.log2, precision=Precision.BLACK)
log10 = _unary("log10", torch.log10, precision=Precision.BLACK)
log1p = _unary("log1p", torch.log1p)
sqrt = _unary("sqrt", torch.sqrt)
rsqrt = _unary("rsqrt", torch.rsqrt, precision=Precision.BLACK)
square = _unary("square", torch.square, precision=Precision.BLACK)
reciprocal = _unary("reciprocal", torch.reciprocal, precision=Precision.BLACK)

sin = _unary("sin", torch.sin)
cos = _unary("cos", torch.cos)
tan = _unary("tan", torch.tan, precision=Precision.BLACK)
asin = _unary("asin", torch.asin, precision=Precision.BLACK)
acos = _unary("acos", torch.acos, precision=Precision.BLACK)
atan = _unary("atan", torch.atan)
sinh = _unary("sinh", torch.sinh, precision=Precision.BLACK)
cosh = _unary("cosh", torch.cosh, precision=Precision.BLACK)
tanh = _unary("tanh", torch.tanh, precision=Precision.GRAY)
asinh = _unary("asinh", torch.asinh)
acosh = _unary("acosh", torch.acosh)
atanh = _unary("atanh", torch.atanh, precision=Precision.BLACK)
sinc = _unary("sinc", torch.sinc)

floor = _unary("floor", torch.floor)
ceil = _unary("ceil", torch.ceil)
trunc = _unary("trunc", torch.trunc)
signbit = _test("signbit", torch.signbit)


@op("sign", precision=Precision.GRAY)
def sign(x: Tensor) -> Tensor:
    """-1, 0 or 1; nan where ``x`` is."""
    out = torch.sgn(x)
    return torch.where(x == x, out, x.detach()) if x.is_floating_point() else out


isnan = _test("isnan", torch.isnan, types=("isnan_v2",))
isinf = _test("isinf", torch.isinf, types=("isinf_v2",))
isfinite = _test("isfinite", torch.isfinite, types=("isfinite_v2",))
isneginf = _test("isneginf", torch.isneginf)
isposinf = _test("isposinf", torch.isposinf)
isreal = _test("isreal", torch.isreal)

angle = _unary("angle", torch.angle)
erf = _unary("erf", torch.erf)
erfinv = _unary("erfinv", torch.erfinv, precision=Precision.BLACK)
lgamma = _unary("lgamma", torch.lgamma)
digamma = _unary("digamma", torch.digamma)
i0 = _unary("i0", torch.special.i0, types=("i0(/x) -> out",))
i0e = _unary("i0e", torch.special.i0e, types=("i0e(/x) -> out",))
i1 = _unary("i1", torch.special.i1, types=("i1(/x) -> out",))
i1e = _unary("i1e", torch.special.i1e, types=("i1e(/x) -> out",))


@op("polygamma", types=("polygamma(/x, n) -> out",))
def polygamma(x: Tensor, n: int) -> Tensor:
    return torch.polygamma(n, x)


@op("multigammaln")
def multigammaln(x: Tensor, p: int) -> Tensor:
    steps = 0.5 * torch.arange(1 - p, 1, dtype=x.dtype, device=x.device)
    return torch.lgamma(x.unsqueeze(-1) + steps).sum(-1) + 0.25 * p * (p - 1) * math.log(math.pi)


@op("logit")
def logit(x: Tensor, eps: float = 0.0) -> Tensor:
    # Without eps, values outside [0, 1] are nan rather than clamped.
    return torch.logit(x, eps if eps else None)


@op("stanh")
def stanh(x: Tensor, scale_a: float, scale_b: float) -> Tensor:
    return scale_b * torch.tanh(scale_a * x)


@op("round", types=("round(X, -0)",))
def round(x: Tensor, decimals: int = 0) -> Tensor:
    if x.is_complex():
        return torch.complex(
            torch.round(x.real, decimals=decimals), torch.round(x.imag, decimals=decimals)
        )
    if not x.is_floating_point():
        return x.clone()
    return torch.round(x, decimals=decimals)


@op("frac", file_parts=composition.frac)
def frac(x: Tensor) -> Tensor:
    return x - torch.trunc(x)


@op("frexp")
def frexp(x: Tensor) -> tuple[Tensor, Tensor]:
    """Mantissa and exponent, the exponent in the dtype of ``x``."""
    mantissa, exponent = torch.frexp(x)
    return mantissa, exponent.to(x.dtype)


@op("deg2rad", file_parts=composition.scaled(math.pi / 180.0))
def deg2rad(x: Tensor) -> Tensor:
    return _rescale(x, math.pi / 180.0)


@op("rad2deg", file_parts=composition.scaled(180.0 / math.pi))
def rad2deg(x: Tensor) -> Tensor:
    return _rescale(x, 180.0 / math.pi)


def _rescale(x: Tensor, factor: float) -> Tensor:
    if x.dtype in (torch.int32, torch.int64):
        x = x.to(torch.float32)
    return x * promotion.number(factor, x.dtype)


@op("nan_to_num")
def nan_to_num(
    x: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    return torch.nan_to_num(x, nan, posinf, neginf)


@op("conj")
def conj(x: Tensor) -> Tensor:
    # torch's conj is a lazy view; resolved, the result has memory of its own.
    return torch.conj_physical(x)
