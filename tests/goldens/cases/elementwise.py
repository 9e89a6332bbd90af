"""Arithmetic, operators, promotion, functions of one tensor, scans."""

import operator

import numpy as np

from goldens.harness import Cases

cases = Cases("elementwise")

# Transcendental functions come from other libraries on the two sides.
CLOSE = 1e-5

FLOATS = ("float32", "float64")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")


def full(paddle, dtype, shape=(2,), value=3):
    return paddle.full(list(shape), value, dtype="float32").astype(dtype)


# -- functions of one tensor ----------------------------------------------------------------------------------------

ANYWHERE = (
    "abs", "asinh", "atan", "ceil", "cos", "cosh", "deg2rad", "erf", "exp", "expm1", "floor", "frac", "i0", "i0e", "i1", "i1e",
    "neg", "negative", "positive", "rad2deg", "round", "sgn", "sigmoid", "sign", "sin", "sinc", "sinh", "square", "stanh", "tan", "tanh", "trunc",
)  # fmt: skip
INSIDE_ONE = ("acos", "asin", "atanh", "erfinv")
POSITIVE = ("digamma", "gammaln", "lgamma", "log", "log10", "log1p", "log2", "reciprocal", "rsqrt", "sqrt")

for name in ANYWHERE:
    cases.op(f"{name}", lambda paddle, x, f=name: getattr(paddle, f)(x), lambda d: d.normal(2, 3) * 2 + 0.03, rtol=CLOSE)
for name in INSIDE_ONE:
    cases.op(f"{name}", lambda paddle, x, f=name: getattr(paddle, f)(x), lambda d: d.uniform(2, 3, low=-0.9, high=0.9), rtol=CLOSE)
for name in POSITIVE:
    cases.op(f"{name}", lambda paddle, x, f=name: getattr(paddle, f)(x), lambda d: d.uniform(2, 3, low=0.3, high=4.0), rtol=CLOSE)
cases.op("acosh", lambda paddle, x: paddle.acosh(x), lambda d: d.uniform(4, low=1.2, high=5.0), rtol=CLOSE)
cases.op("logit", lambda paddle, x: paddle.logit(x), lambda d: d.uniform(4, low=0.1, high=0.9), rtol=CLOSE)
cases.op("logit/eps", lambda paddle, x: paddle.logit(x, eps=0.2), lambda d: np.array([0.0, 0.1, 0.5, 0.95], "float32"), rtol=CLOSE)
cases.op("stanh/scales", lambda paddle, x: paddle.stanh(x, 0.5, 2.0), lambda d: d.normal(3), rtol=CLOSE)
cases.op("polygamma", lambda paddle, x: [paddle.polygamma(x, n) for n in (0, 1, 2)], lambda d: d.uniform(3, low=0.5, high=3.0), rtol=1e-4)
cases.op("multigammaln", lambda paddle, x: paddle.multigammaln(x, 3), lambda d: d.uniform(3, low=1.5, high=4.0), rtol=CLOSE)
cases.op("round/decimals", lambda paddle, x: [paddle.round(x, decimals=n) for n in (1, 2, -1)], lambda d: d.normal(4) * 20)
cases.op("round/halves_to_even", lambda paddle, x: paddle.round(x), lambda d: np.array([0.5, 1.5, 2.5, -0.5, -1.5], "float32"))
cases.op("frexp", lambda paddle, x: paddle.frexp(x), lambda d: np.array([1.0, -3.5, 0.25, 100.0], "float32"), grad=False)
cases.op("nan_to_num", lambda paddle, x: paddle.nan_to_num(x), lambda d: np.array([np.nan, np.inf, -np.inf, 1.5], "float32"))
cases.op("nan_to_num/values", lambda paddle, x: paddle.nan_to_num(x, 1.0, 2.0, 3.0), lambda d: np.array([np.nan, np.inf, -np.inf, 1.5]))
cases.op("abs/kink", lambda paddle, x: x.abs(), lambda d: np.array([0.0, -1.0, 2.0], "float32"))
cases.op("0d", lambda paddle, x: [paddle.exp(x), x.sqrt(), -x, abs(x)], lambda d: d.uniform(low=0.5), rtol=CLOSE)
cases.op("empty", lambda paddle, x: [paddle.exp(x), x + x, x * 2, paddle.maximum(x, x)], lambda d: d.normal(0, 3))

for name in ("isnan", "isinf", "isfinite", "isneginf", "isposinf", "signbit", "isreal"):
    cases.op(
        f"{name}",
        lambda paddle, x, f=name: getattr(paddle, f)(x),
        lambda d: np.array([np.nan, np.inf, -np.inf, 1.5, -0.0, -2.0], "float32"),
        grad=False,
    )


@cases.add("unary/integers_become_float32", rtol=CLOSE)
def _(paddle, draw):
    x = paddle.to_tensor(draw.integers(4, low=1, high=6))
    names = ("sin", "cos", "exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "reciprocal", "log1p", "deg2rad", "lgamma")
    return [getattr(paddle, f)(x) for f in names] + [paddle.sqrt(x.astype("int32"))]


@cases.add("unary/integers_stay")
def _(paddle, draw):
    x = paddle.to_tensor(draw.integers(4, low=-5, high=6))
    return [getattr(paddle, f)(x) for f in ("abs", "neg", "sign", "floor", "ceil", "round", "trunc", "frac", "square")]


@cases.add("complex", rtol=CLOSE)
def _(paddle, draw):
    z = paddle.to_tensor((draw.normal(3) + 1j * draw.normal(3)).astype("complex64"))
    return [paddle.real(z), paddle.imag(z), paddle.conj(z), paddle.angle(z), paddle.abs(z), z * z, z + 1.5, z / z, paddle.isreal(z),
            paddle.exp(z), paddle.sgn(z), z == z]  # fmt: skip


@cases.add("unary/float64", rtol=1e-9)
def _(paddle, draw):
    x = paddle.to_tensor(draw.uniform(4, low=0.2, high=0.8, dtype="float64"))
    return [getattr(paddle, f)(x) for f in ("exp", "log", "sin", "tanh", "sigmoid", "erf", "sqrt", "asin", "lgamma", "digamma")]


# -- arithmetic -----------------------------------------------------------------------------------------------------

BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "fmax", "fmin", "atan2", "hypot", "logaddexp", "copysign")
for name in BINARY:
    cases.op(
        f"{name}",
        lambda paddle, x, y, f=name: getattr(paddle, f)(x, y),
        lambda d: (d.normal(2, 1, 3), d.normal(4, 1) + 0.01),
        rtol=CLOSE,
    )
cases.op("pow", lambda paddle, x, y: paddle.pow(x, y), lambda d: (d.uniform(2, 3, low=0.5, high=2.0), d.normal(3)), rtol=CLOSE)
cases.op("remainder", lambda paddle, x, y: paddle.remainder(x, y), lambda d: (d.normal(2, 3) * 5, d.uniform(3, low=0.5, high=2.0)))
cases.op("floor_divide", lambda paddle, x, y: paddle.floor_divide(x, y), lambda d: (d.normal(2, 3) * 5, d.uniform(3, low=0.5, high=2.0)))
cases.op("heaviside", lambda paddle, x, y: paddle.heaviside(x, y), lambda d: (np.array([-1.0, 0.0, 2.0], "float32"), d.normal(3)), grad=False)
cases.op("nextafter", lambda paddle, x, y: paddle.nextafter(x, y), lambda d: (d.normal(3), d.normal(3)), grad=False)
cases.op("ldexp", lambda paddle, x, y: paddle.ldexp(x, y), lambda d: (d.normal(3), d.integers(3, low=-3, high=4)), rtol=CLOSE)
cases.op("ldexp/integers", lambda paddle, x, y: paddle.ldexp(x, y), lambda d: (d.integers(3), d.integers(3)), grad=False)
cases.op("lerp", lambda paddle, x, y: paddle.lerp(x, y, 0.3), lambda d: (d.normal(2, 3), d.normal(3)), rtol=CLOSE)
cases.op("lerp/tensor", lambda paddle, x, y, w: paddle.lerp(x, y, w), lambda d: (d.normal(2, 3), d.normal(2, 3), d.uniform(3)), rtol=CLOSE)
cases.op("add_n", lambda paddle, xs: paddle.add_n(xs), lambda d: ([d.normal(2, 3), d.normal(2, 3), d.normal(2, 3)],))
cases.op("add_n/one", lambda paddle, x: paddle.add_n(x), lambda d: d.normal(3))
cases.op("alpha", lambda paddle, x, y: [paddle.add(x, y, alpha=2), paddle.subtract(x, y, alpha=0.5)], lambda d: (d.normal(3), d.normal(3)))
cases.op("gammainc", lambda paddle, x, y: [paddle.gammainc(x, y), paddle.gammaincc(x, y)], lambda d: (d.uniform(3) + 0.5, d.uniform(3) + 0.5),
         grad=False, rtol=CLOSE)  # fmt: skip
cases.op("gcd_lcm", lambda paddle, x, y: [paddle.gcd(x, y), paddle.lcm(x, y)], lambda d: (d.integers(5, low=-20, high=20), d.integers(5)), grad=False)
cases.op("divide/rounding_mode", lambda paddle, x, y: [paddle.divide(x, y, rounding_mode=m) for m in ("floor", "trunc")],
         lambda d: (np.array([-7, 7, 8, -8]), np.array([2, -2, 3, 3])), grad=False)  # fmt: skip
cases.op("divide/rounding_mode_float", lambda paddle, x, y: [paddle.divide(x, y, rounding_mode=m) for m in ("floor", "trunc")],
         lambda d: (np.array([-7.5, 7, 8, -8], "float32"), np.array([2, -2, 3, 3], "float32")))  # fmt: skip
cases.op("multiplex", lambda paddle, x, y, i: paddle.multiplex([x, y], i),
         lambda d: (d.normal(3, 2), d.normal(3, 2), np.array([[1], [0], [1]], "int32")))  # fmt: skip
cases.op("scale", lambda paddle, x: [paddle.scale(x, 2.0, 1.0), paddle.scale(x, 2.0, 1.0, bias_after_scale=False)], lambda d: d.normal(3))
cases.op("scale/act", lambda paddle, x: [paddle.scale(x, 2.0, 0.5, act=a) for a in ("relu", "tanh", "sigmoid")], lambda d: d.normal(4), rtol=CLOSE)
cases.op("scale/tensor", lambda paddle, x: paddle.scale(x, paddle.to_tensor([2.5]), 0.5), lambda d: d.normal(4))
cases.op("scale/integers_drop_fractions", lambda paddle, x: paddle.scale(x, 2.7, 1.5), lambda d: d.integers(4))
cases.op("pow/number_is_cast", lambda paddle, x: [paddle.pow(x, 2.5), paddle.pow(x, 2), x**2.5, x**2], lambda d: d.integers(4))
cases.op("pow/numbers", lambda paddle, x: [x**p for p in (2, 3, 0.5, -1, 0, 1)] + [2.0**x, paddle.pow(x, -0.5)],
         lambda d: d.uniform(4, low=0.5, high=2.0), rtol=CLOSE)  # fmt: skip
cases.op("clip", lambda paddle, x: [paddle.clip(x, -0.5, 0.7), paddle.clip(x, min=0.0), x.clip(max=0.3)], lambda d: d.normal(3, 3))
cases.op("clip/tensor_bounds", lambda paddle, x: paddle.clip(x, paddle.to_tensor(-0.5), paddle.to_tensor([0.5])), lambda d: d.normal(5))
cases.op("clip/integers", lambda paddle, x: [paddle.clip(x, 2, 6), paddle.clip(x, 2.5, 6), paddle.clip(x, 3)], lambda d: d.integers(6))
cases.op("clip/open_bound_meets_infinity", lambda paddle, x: [paddle.clip(x, min=0.0), paddle.clip(x, max=0.0)],
         lambda d: np.array([np.inf, -np.inf, 1.0], "float32"))  # fmt: skip

# -- gradients at kinks and ties ------------------------------------------------------------------------------------

TIES = (np.array([1.0, 2.0, 3.0, -1.0], "float32"), np.array([1.0, 2.0, 0.0, 4.0], "float32"))
for name in ("maximum", "minimum", "fmax", "fmin"):
    cases.op(f"{name}/ties", lambda paddle, x, y, f=name: getattr(paddle, f)(x, y), lambda d: TIES)
cases.op("clip/at_bounds", lambda paddle, x: paddle.clip(x, -1.0, 1.0), lambda d: np.array([-2.0, -1.0, 0.0, 1.0, 2.0], "float32"))
cases.op("fmax/nan", lambda paddle, x, y: [paddle.fmax(x, y), paddle.fmin(x, y)],
         lambda d: (np.array([np.nan, 1.0, np.nan], "float32"), np.array([2.0, np.nan, np.nan], "float32")), grad=False)  # fmt: skip

# -- operators ------------------------------------------------------------------------------------------------------

OPERATORS = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv, "floordiv": operator.floordiv,
    "mod": operator.mod, "pow": operator.pow,
}  # fmt: skip

for name, fn in OPERATORS.items():
    cases.op(f"operator/{name}/scalars", lambda paddle, x, f=fn: [f(x, 2), f(x, 1.5), f(2, x), f(1.5, x), f(x, True), f(x, np.float64(0.5))],
             lambda d: d.uniform(2, 2, low=0.6, high=3.0), rtol=CLOSE)  # fmt: skip
    cases.op(f"operator/{name}/tensors", lambda paddle, x, y, f=fn: f(x, y), lambda d: (d.uniform(2, 3, low=0.6, high=3.0), d.uniform(3, low=0.6, high=3.0)),
             rtol=CLOSE)  # fmt: skip
    cases.op(f"operator/{name}/integers", lambda paddle, x, y, f=fn: [f(x, y), f(x, 2), f(2, y), f(x, 2.5), f(x, True)],
             lambda d: (d.integers(4, low=-9, high=9), d.integers(4, low=1, high=5)), rtol=CLOSE)  # fmt: skip


@cases.add("operator/negative_integers")
def _(paddle, draw):
    x, y = paddle.to_tensor([7, -7, 7, -7]), paddle.to_tensor([2, 2, -2, -2])
    return [x // y, x % y, x / y, x // 3, x % -3, x.astype("int32") // y.astype("int32")]


@cases.add("operator/bool")
def _(paddle, draw):
    a, b = paddle.to_tensor([True, False, True]), paddle.to_tensor([True, True, True])
    return [a + b, a * b, a / b, -a, a + 1, a * 2.5, a - 1, 2 - a, a / 2, a & b, a | b, a ^ b, ~a, a == b, a == True]  # noqa: E712


@cases.add("operator/numpy_operands")
def _(paddle, draw):
    x = paddle.to_tensor(draw.normal(3))
    return [x + np.ones(3, "float32"), np.ones(3, "float32") * x, x * np.ones(3), np.float32(2) * x, x - np.int64(1)]


@cases.add("operator/integer_division_by_zero_gives_inf")
def _(paddle, draw):
    x = paddle.to_tensor([7, -8, 0])
    return [x / 0, x / paddle.to_tensor([0, 0, 1])]


@cases.add("operator/augmented_makes_a_new_tensor")
def _(paddle, draw):
    x = paddle.to_tensor([1.0, 2.0])
    before = x
    x += 1
    y = paddle.to_tensor([1.0, 2.0])
    kept = y
    y.add_(paddle.to_tensor(1.0))
    return [before, x, kept]


@cases.add("operator/floor_divide_stops_gradient")
def _(paddle, draw):
    x = paddle.to_tensor(draw.normal(3), stop_gradient=False)
    return [(x // 2).stop_gradient, (x // x).stop_gradient, (x % 2).stop_gradient, paddle.divide(x, x, rounding_mode="trunc").stop_gradient]


# -- promotion ------------------------------------------------------------------------------------------------------


@cases.add("promotion/floats")
def _(paddle, draw):
    a, b = full(paddle, "float32"), full(paddle, "float64")
    return [f(a, b) for f in OPERATORS.values()] + [paddle.maximum(a, b), a + full(paddle, "float16"), full(paddle, "bfloat16") * a]


@cases.add("promotion/complex_with_real")
def _(paddle, draw):
    z = full(paddle, "complex64")
    return [z + full(paddle, d) for d in ("bool", "int32", "int64", "float32", "float64")] + [z * 2.5, z + 1j, full(paddle, "float32") * 2j]


@cases.add("promotion/zero_d")
def _(paddle, draw):
    pairs = [("float32", "float64"), ("int32", "int64"), ("int64", "float32"), ("int64", "float64"), ("bool", "int32"), ("float32", "int64"),
             ("complex64", "float64"), ("float32", "complex128")]  # fmt: skip
    results = []
    for a, b in pairs:
        x, y = full(paddle, a), full(paddle, b, ())
        results += [x + y, y * x, x / y, x - y if a != "bool" else x * y]
    return results


@cases.add("promotion/both_zero_d")
def _(paddle, draw):
    dtypes = ("uint8", "int8", "int32", "int64", "float32", "float64")
    return [full(paddle, a, ()) + full(paddle, b, ()) for a in dtypes for b in dtypes]


@cases.add("promotion/floor_divide_widens_with_zero_d")
def _(paddle, draw):
    return [full(paddle, "int32") // full(paddle, "int64", ()), full(paddle, "float32") // full(paddle, "float64", ()),
            paddle.floor_divide(full(paddle, "int32"), 2), full(paddle, "int32") // 2, paddle.mod(full(paddle, "int64"), 2.5)]  # fmt: skip


@cases.add("promotion/maximum_widens_with_zero_d")
def _(paddle, draw):
    x, y = full(paddle, "float32"), full(paddle, "float64", ())
    return [paddle.maximum(x, y), paddle.fmin(y, x), paddle.atan2(x, y)]


@cases.add("promotion/integer_scalars", rtol=CLOSE)
def _(paddle, draw):
    fns = (operator.add, operator.truediv, operator.floordiv)
    return [f(full(paddle, d), s) for d in INTEGERS for f in fns for s in (2, 2.5, True)]


@cases.add("promotion/integer_functions", rtol=CLOSE)
def _(paddle, draw):
    x, y = paddle.to_tensor([1, -2, 3]), paddle.to_tensor([2, 2, -1])
    return [paddle.atan2(x, y), paddle.copysign(x, y), paddle.copysign(x, -1.0), paddle.hypot(x, y), paddle.logaddexp(x, y), paddle.heaviside(x, y)]


for name in OPERATORS:
    cases.error(f"promotion/int_with_float/{name}", lambda paddle, f=OPERATORS[name]: f(full(paddle, "int64"), full(paddle, "float32")))
cases.error("promotion/int32_with_int64", lambda paddle: full(paddle, "int32") + full(paddle, "int64"))
cases.error("promotion/bool_with_float", lambda paddle: full(paddle, "bool") * full(paddle, "float32"))
cases.error("promotion/maximum_zero_d_integer", lambda paddle: paddle.maximum(full(paddle, "float32"), full(paddle, "int64", ())))
cases.error("error/broadcast", lambda paddle: paddle.ones([2, 3]) + paddle.ones([2]))
cases.error("error/list_operand", lambda paddle: paddle.ones([2]) + [1, 2])
cases.error("error/none_operand", lambda paddle: paddle.ones([2]) * None)
cases.error("error/integer_division_by_zero", lambda paddle: paddle.to_tensor([1, 2]) // paddle.to_tensor([0, 1]))
cases.error("error/integer_modulo_by_zero", lambda paddle: paddle.to_tensor([1, 2]) % 0)
cases.error("error/subtract_bools", lambda paddle: paddle.to_tensor([True]) - paddle.to_tensor([True]))
cases.error("error/clip_bounds", lambda paddle: paddle.clip(paddle.ones([2]), 2.0, 1.0))
cases.error("error/rounding_mode", lambda paddle: paddle.divide(paddle.ones([2]), paddle.ones([2]), rounding_mode="up"))
cases.error("error/pow_string", lambda paddle: paddle.pow(paddle.ones([2]), "a"))
cases.error("error/add_n_shapes", lambda paddle: paddle.add_n([paddle.ones([2]), paddle.ones([3])]))
cases.error("error/inplace_would_grow", lambda paddle: paddle.ones([1]).add_(paddle.ones([2])))
cases.error("error/inplace_on_leaf", lambda paddle: paddle.to_tensor([1.0], stop_gradient=False).exp_())
cases.error("error/increment_needs_one_element", lambda paddle: paddle.increment(paddle.ones([2])))
cases.error("error/polygamma_order", lambda paddle: paddle.polygamma(paddle.ones([2]), -1))
cases.error("error/multigammaln_p", lambda paddle: paddle.multigammaln(paddle.ones([2]), 0))
cases.error("error/negative_bool", lambda paddle: paddle.negative(paddle.to_tensor([True])))
cases.error("error/frexp_integers", lambda paddle: paddle.frexp(paddle.to_tensor([1, 2])))

# -- in place -------------------------------------------------------------------------------------------------------

INPLACE = ("abs_", "ceil_", "cos_", "exp_", "floor_", "neg_", "reciprocal_", "round_", "rsqrt_", "sigmoid_", "sin_", "sqrt_", "square_", "tanh_",
           "log_", "log1p_", "trunc_", "frac_", "erfinv_", "lgamma_")  # fmt: skip


@cases.add("inplace/unary", rtol=CLOSE)
def _(paddle, draw):
    start = draw.uniform(3, low=0.2, high=0.9)
    results = {}
    for name in INPLACE:
        x = paddle.to_tensor(start)
        results[name] = [getattr(x, name)() is x, x]
    return results


@cases.add("inplace/binary", rtol=CLOSE)
def _(paddle, draw):
    start, other = draw.uniform(2, 3, low=0.5, high=2.0), draw.uniform(3, low=0.5, high=2.0)
    results = {}
    for name in ("add_", "subtract_", "multiply_", "divide_", "remainder_", "floor_divide_", "lerp_", "hypot_", "copysign_"):
        x = paddle.to_tensor(start)
        args = (0.5,) if name == "lerp_" else ()
        results[name] = [getattr(x, name)(paddle.to_tensor(other), *args) is x, x]
    return results


@cases.add("inplace/dtype_follows_the_result", rtol=CLOSE)
def _(paddle, draw):
    a, b, c, d, e = (paddle.to_tensor([1, 2]) for _ in range(5))
    return [a.divide_(b), c.exp_(), d.scale_(2.7), e.clip_(0.5, 1.5), paddle.to_tensor([1, 2], dtype="int32").cumsum_()]


@cases.add("inplace/gradient_through_a_non_leaf", rtol=CLOSE)
def _(paddle, draw):
    x = paddle.to_tensor(draw.normal(3), stop_gradient=False)
    y = x * 2
    y.add_(x)
    y.exp_()
    y.sum().backward()
    return [y, x.grad]


@cases.add("increment")
def _(paddle, draw):
    a, b, c = paddle.to_tensor([1]), paddle.to_tensor(1.5), paddle.to_tensor([1])
    return [paddle.increment(a) is a, a, paddle.increment(b, 2.5), paddle.increment(c, 2.5)]


# -- scans, differences, integrals ----------------------------------------------------------------------------------

for axis in (None, 0, -1):
    cases.op(f"cumsum/axis={axis}", lambda paddle, x, a=axis: paddle.cumsum(x, axis=a), lambda d: d.normal(2, 3), rtol=CLOSE)
    cases.op(f"cumprod/axis={axis}", lambda paddle, x, a=axis: paddle.cumprod(x, dim=a), lambda d: d.normal(2, 3) + 2.0, rtol=CLOSE)
    cases.op(f"logcumsumexp/axis={axis}", lambda paddle, x, a=axis: paddle.logcumsumexp(x, axis=a), lambda d: d.normal(2, 3), rtol=CLOSE)
    cases.op(f"cummax/axis={axis}", lambda paddle, x, a=axis: paddle.cummax(x, axis=a), lambda d: d.distinct(3, 4))
    cases.op(f"cummin/axis={axis}", lambda paddle, x, a=axis: paddle.cummin(x, axis=a), lambda d: d.distinct(3, 4))
cases.op("cumprod/zeros", lambda paddle, x: paddle.cumprod(x, dim=0), lambda d: np.array([2.0, 0.0, 3.0, 0.0], "float32"), rtol=CLOSE)
cases.op("cummax/ties", lambda paddle, x: [paddle.cummax(x, axis=1), paddle.cummin(x, axis=1)], lambda d: np.array([[1, 3, 3, 2], [2, 2, 1, 1]]))
cases.op("cummax/index_dtype", lambda paddle, x: paddle.cummax(x, axis=0, dtype="int32"), lambda d: d.integers(5))
cases.op("cumsum/dtypes", lambda paddle, x: [paddle.cumsum(x.astype(d)) for d in INTEGERS] + [paddle.cumsum(x, dtype="float64"), x.cumsum(0, "int32")],
         lambda d: d.integers(4))  # fmt: skip
cases.op("cumprod/dtypes", lambda paddle, x: [paddle.cumprod(x.astype("int32"), 0), paddle.cumprod(x, 0, dtype="float64")], lambda d: d.integers(4))
cases.op("cumsum/0d", lambda paddle, x: [paddle.cumsum(x), paddle.cumsum(x, axis=0)], lambda d: d.normal())
cases.op("diff", lambda paddle, x: [paddle.diff(x), paddle.diff(x, n=2), paddle.diff(x, axis=0)], lambda d: d.normal(3, 4))
cases.op("diff/extended", lambda paddle, x, y: paddle.diff(x, prepend=y, append=y), lambda d: (d.normal(2, 3), d.normal(2, 2)))
cases.op("diff/bool_and_int", lambda paddle, x: [paddle.diff(x), paddle.diff(x > 3), paddle.diff(x, n=9)], lambda d: d.integers(5))
cases.op("trapezoid", lambda paddle, y: [paddle.trapezoid(y), paddle.trapezoid(y, dx=0.5), paddle.trapezoid(y, axis=0)], lambda d: d.normal(3, 4), rtol=CLOSE)
cases.op("trapezoid/points", lambda paddle, y, x: [paddle.trapezoid(y, x), paddle.cumulative_trapezoid(y, x)], lambda d: (d.normal(3, 4), d.normal(4)), rtol=CLOSE)
cases.op("cumulative_trapezoid", lambda paddle, y: paddle.cumulative_trapezoid(y, dx=2.0), lambda d: d.normal(3, 4), rtol=CLOSE)
cases.error("error/cumsum_axis", lambda paddle: paddle.cumsum(paddle.ones([2, 3]), axis=2))
cases.error("error/cummax_index_dtype", lambda paddle: paddle.cummax(paddle.ones([2]), dtype="float32"))
cases.error("error/diff_order", lambda paddle: paddle.diff(paddle.ones([3]), n=0))
cases.error("error/trapezoid_x_and_dx", lambda paddle: paddle.trapezoid(paddle.ones([3]), paddle.ones([3]), dx=1.0))
