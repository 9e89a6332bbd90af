"""Arithmetic, functions of one tensor and their in-place forms."""

import numpy as np

from goldens.harness import Cases

cases = Cases("elementwise")

# Transcendental functions come from other libraries on the two sides.
CLOSE = 1e-5


def function(name):
    """The call ``paddle.<name>(*tensors)``."""
    return lambda paddle, *tensors: getattr(paddle, name)(*tensors)


# -- functions of one tensor
# ----------------------------------------------------------------------------------------

ANYWHERE = (
    "abs", "asinh", "atan", "ceil", "cos", "cosh", "deg2rad", "erf", "exp", "expm1", "floor",
    "frac", "i0", "i0e", "i1", "i1e",
    "neg", "negative", "positive", "rad2deg", "round", "sgn", "sigmoid", "sign", "sin", "sinc",
    "sinh", "square", "stanh", "tan", "tanh", "trunc",
)  # fmt: skip
INSIDE_ONE = ("acos", "asin", "atanh", "erfinv")
POSITIVE = (
    "digamma",
    "gammaln",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "reciprocal",
    "rsqrt",
    "sqrt",
)

for name in ANYWHERE:
    cases.op(name, function(name), lambda d: d.normal(2, 3) * 2 + 0.03, rtol=CLOSE)
for name in INSIDE_ONE:
    cases.op(
        name,
        function(name),
        lambda d: d.uniform(2, 3, low=-0.9, high=0.9),
        rtol=CLOSE,
    )
for name in POSITIVE:
    cases.op(
        name,
        function(name),
        lambda d: d.uniform(2, 3, low=0.3, high=4.0),
        rtol=CLOSE,
    )
cases.op(
    "acosh",
    lambda paddle, x: paddle.acosh(x),
    lambda d: d.uniform(4, low=1.2, high=5.0),
    rtol=CLOSE,
)
cases.op(
    "logit",
    lambda paddle, x: paddle.logit(x),
    lambda d: d.uniform(4, low=0.1, high=0.9),
    rtol=CLOSE,
)
cases.op(
    "logit/eps",
    lambda paddle, x: paddle.logit(x, eps=0.2),
    lambda d: np.array([0.0, 0.1, 0.5, 0.95], "float32"),
    rtol=CLOSE,
)
cases.op(
    "stanh/scales", lambda paddle, x: paddle.stanh(x, 0.5, 2.0), lambda d: d.normal(3), rtol=CLOSE
)
cases.op(
    "polygamma",
    lambda paddle, x: [paddle.polygamma(x, n) for n in (0, 1, 2)],
    lambda d: d.uniform(3, low=0.5, high=3.0),
    rtol=1e-4,
)
cases.op(
    "multigammaln",
    lambda paddle, x: paddle.multigammaln(x, 3),
    lambda d: d.uniform(3, low=1.5, high=4.0),
    rtol=CLOSE,
)
cases.op(
    "round/decimals",
    lambda paddle, x: [paddle.round(x, decimals=n) for n in (1, 2, -1)],
    lambda d: d.normal(4) * 20,
)
cases.op(
    "round/halves_to_even",
    lambda paddle, x: paddle.round(x),
    lambda d: np.array([0.5, 1.5, 2.5, -0.5, -1.5], "float32"),
)
cases.op(
    "frexp",
    lambda paddle, x: paddle.frexp(x),
    lambda d: np.array([1.0, -3.5, 0.25, 100.0], "float32"),
    grad=False,
)
cases.op(
    "nan_to_num",
    lambda paddle, x: paddle.nan_to_num(x),
    lambda d: np.array([np.nan, np.inf, -np.inf, 1.5], "float32"),
)
cases.op(
    "nan_to_num/values",
    lambda paddle, x: paddle.nan_to_num(x, 1.0, 2.0, 3.0),
    lambda d: np.array([np.nan, np.inf, -np.inf, 1.5]),
)
cases.op("abs/kink", lambda paddle, x: x.abs(), lambda d: np.array([0.0, -1.0, 2.0], "float32"))
cases.op(
    "0d",
    lambda paddle, x: [paddle.exp(x), x.sqrt(), -x, abs(x)],
    lambda d: d.uniform(low=0.5),
    rtol=CLOSE,
)
cases.op(
    "empty",
    lambda paddle, x: [paddle.exp(x), x + x, x * 2, paddle.maximum(x, x)],
    lambda d: d.normal(0, 3),
)

for name in ("isnan", "isinf", "isfinite", "isneginf", "isposinf", "signbit", "isreal"):
    cases.op(
        name,
        function(name),
        lambda d: np.array([np.nan, np.inf, -np.inf, 1.5, -0.0, -2.0], "float32"),
        grad=False,
    )


@cases.add("unary/integers_become_float32", rtol=CLOSE)
def _(paddle, draw):
    x = paddle.to_tensor(draw.integers(4, low=1, high=6))
    names = (
        "sin",
        "cos",
        "exp",
        "log",
        "sqrt",
        "rsqrt",
        "tanh",
        "sigmoid",
        "erf",
        "reciprocal",
        "log1p",
        "deg2rad",
        "lgamma",
    )
    return [getattr(paddle, f)(x) for f in names] + [paddle.sqrt(x.astype("int32"))]


@cases.add("unary/integers_stay")
def _(paddle, draw):
    x = paddle.to_tensor(draw.integers(4, low=-5, high=6))
    return [
        getattr(paddle, f)(x)
        for f in ("abs", "neg", "sign", "floor", "ceil", "round", "trunc", "frac", "square")
    ]


@cases.add("complex", rtol=CLOSE)
def _(paddle, draw):
    z = paddle.to_tensor((draw.normal(3) + 1j * draw.normal(3)).astype("complex64"))
    return [paddle.real(z), paddle.imag(z), paddle.conj(z), paddle.angle(z), paddle.abs(z), z * z,
        z + 1.5, z / z, paddle.isreal(z),
            paddle.exp(z), paddle.sgn(z), z == z]  # fmt: skip


@cases.add("unary/float64", rtol=1e-9)
def _(paddle, draw):
    x = paddle.to_tensor(draw.uniform(4, low=0.2, high=0.8, dtype="float64"))
    return [
        getattr(paddle, f)(x)
        for f in (
            "exp",
            "log",
            "sin",
            "tanh",
            "sigmoid",
            "erf",
            "sqrt",
            "asin",
            "lgamma",
            "digamma",
        )
    ]


# -- arithmetic
# --------------------------------------------------------------------------------------------------

BINARY = (
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "atan2",
    "hypot",
    "logaddexp",
    "copysign",
)
for name in BINARY:
    cases.op(
        name,
        function(name),
        lambda d: (d.normal(2, 1, 3), d.normal(4, 1) + 0.01),
        rtol=CLOSE,
    )
cases.op(
    "pow",
    lambda paddle, x, y: paddle.pow(x, y),
    lambda d: (d.uniform(2, 3, low=0.5, high=2.0), d.normal(3)),
    rtol=CLOSE,
)
cases.op(
    "remainder",
    lambda paddle, x, y: paddle.remainder(x, y),
    lambda d: (d.normal(2, 3) * 5, d.uniform(3, low=0.5, high=2.0)),
)
cases.op(
    "floor_divide",
    lambda paddle, x, y: paddle.floor_divide(x, y),
    lambda d: (d.normal(2, 3) * 5, d.uniform(3, low=0.5, high=2.0)),
)
cases.op(
    "heaviside",
    lambda paddle, x, y: paddle.heaviside(x, y),
    lambda d: (np.array([-1.0, 0.0, 2.0], "float32"), d.normal(3)),
    grad=False,
)
cases.op(
    "nextafter",
    lambda paddle, x, y: paddle.nextafter(x, y),
    lambda d: (d.normal(3), d.normal(3)),
    grad=False,
)
cases.op(
    "ldexp",
    lambda paddle, x, y: paddle.ldexp(x, y),
    lambda d: (d.normal(3), d.integers(3, low=-3, high=4)),
    rtol=CLOSE,
)
cases.op(
    "ldexp/integers",
    lambda paddle, x, y: paddle.ldexp(x, y),
    lambda d: (d.integers(3), d.integers(3)),
    grad=False,
)
cases.op(
    "lerp",
    lambda paddle, x, y: paddle.lerp(x, y, 0.3),
    lambda d: (d.normal(2, 3), d.normal(3)),
    rtol=CLOSE,
)
cases.op(
    "lerp/tensor",
    lambda paddle, x, y, w: paddle.lerp(x, y, w),
    lambda d: (d.normal(2, 3), d.normal(2, 3), d.uniform(3)),
    rtol=CLOSE,
)
cases.op(
    "add_n",
    lambda paddle, xs: paddle.add_n(xs),
    lambda d: ([d.normal(2, 3), d.normal(2, 3), d.normal(2, 3)],),
)
cases.op("add_n/one", lambda paddle, x: paddle.add_n(x), lambda d: d.normal(3))
cases.op(
    "alpha",
    lambda paddle, x, y: [paddle.add(x, y, alpha=2), paddle.subtract(x, y, alpha=0.5)],
    lambda d: (d.normal(3), d.normal(3)),
)
cases.op("gammainc", lambda paddle, x, y: [paddle.gammainc(x, y), paddle.gammaincc(x, y)],
    lambda d: (d.uniform(3) + 0.5, d.uniform(3) + 0.5),
         grad=False, rtol=CLOSE)  # fmt: skip
cases.op(
    "gcd_lcm",
    lambda paddle, x, y: [paddle.gcd(x, y), paddle.lcm(x, y)],
    lambda d: (d.integers(5, low=-20, high=20), d.integers(5)),
    grad=False,
)
cases.op("divide/rounding_mode", lambda paddle, x,
    y: [paddle.divide(x, y, rounding_mode=m) for m in ("floor", "trunc")],
         lambda d: (np.array([-7, 7, 8, -8]), np.array([2, -2, 3, 3])), grad=False)  # fmt: skip
cases.op("divide/rounding_mode_float", lambda paddle, x,
    y: [paddle.divide(x, y, rounding_mode=m) for m in ("floor", "trunc")],
         lambda d: (np.array([-7.5, 7, 8, -8], "float32"),
         np.array([2, -2, 3, 3], "float32")))  # fmt: skip
cases.op("multiplex", lambda paddle, x, y, i: paddle.multiplex([x, y], i),
         lambda d: (d.normal(3, 2), d.normal(3, 2),
         np.array([[1], [0], [1]], "int32")))  # fmt: skip
cases.op(
    "scale",
    lambda paddle, x: [
        paddle.scale(x, 2.0, 1.0),
        paddle.scale(x, 2.0, 1.0, bias_after_scale=False),
    ],
    lambda d: d.normal(3),
)
cases.op(
    "scale/act",
    lambda paddle, x: [paddle.scale(x, 2.0, 0.5, act=a) for a in ("relu", "tanh", "sigmoid")],
    lambda d: d.normal(4),
    rtol=CLOSE,
)
cases.op(
    "scale/tensor",
    lambda paddle, x: paddle.scale(x, paddle.to_tensor([2.5]), 0.5),
    lambda d: d.normal(4),
)
cases.op(
    "scale/integers_drop_fractions",
    lambda paddle, x: paddle.scale(x, 2.7, 1.5),
    lambda d: d.integers(4),
)
cases.op(
    "pow/number_is_cast",
    lambda paddle, x: [paddle.pow(x, 2.5), paddle.pow(x, 2), x**2.5, x**2],
    lambda d: d.integers(4),
)
cases.op("pow/numbers", lambda paddle, x: [x**p for p in (2, 3, 0.5, -1, 0, 1)] + [2.0**x,
    paddle.pow(x, -0.5)],
         lambda d: d.uniform(4, low=0.5, high=2.0), rtol=CLOSE)  # fmt: skip
cases.op(
    "clip",
    lambda paddle, x: [paddle.clip(x, -0.5, 0.7), paddle.clip(x, min=0.0), x.clip(max=0.3)],
    lambda d: d.normal(3, 3),
)
cases.op(
    "clip/tensor_bounds",
    lambda paddle, x: paddle.clip(x, paddle.to_tensor(-0.5), paddle.to_tensor([0.5])),
    lambda d: d.normal(5),
)
cases.op(
    "clip/integers",
    lambda paddle, x: [paddle.clip(x, 2, 6), paddle.clip(x, 2.5, 6), paddle.clip(x, 3)],
    lambda d: d.integers(6),
)
cases.op("clip/open_bound_meets_infinity", lambda paddle,
    x: [paddle.clip(x, min=0.0), paddle.clip(x, max=0.0)],
         lambda d: np.array([np.inf, -np.inf, 1.0], "float32"))  # fmt: skip

cases.op(
    "renorm",
    lambda paddle, x: [paddle.renorm(x, 2.0, 0, 1.0), paddle.renorm(x, 1.0, -1, 2.0)],
    lambda d: d.normal(3, 4),
    rtol=CLOSE,
)

# -- gradients at kinks and ties
# ------------------------------------------------------------------------------------

TIES = (np.array([1.0, 2.0, 3.0, -1.0], "float32"), np.array([1.0, 2.0, 0.0, 4.0], "float32"))
for name in ("maximum", "minimum", "fmax", "fmin"):
    cases.op(f"{name}/ties", function(name), lambda d: TIES)
cases.op(
    "clip/at_bounds",
    lambda paddle, x: paddle.clip(x, -1.0, 1.0),
    lambda d: np.array([-2.0, -1.0, 0.0, 1.0, 2.0], "float32"),
)
cases.op("fmax/nan", lambda paddle, x, y: [paddle.fmax(x, y), paddle.fmin(x, y)],
         lambda d: (np.array([np.nan, 1.0, np.nan], "float32"),
         np.array([2.0, np.nan, np.nan], "float32")), grad=False)  # fmt: skip

# -- in place
# --------------------------------------------------------------------------------------------------

INPLACE = ("abs_", "ceil_", "cos_", "exp_", "floor_", "neg_", "reciprocal_", "round_", "rsqrt_",
    "sigmoid_", "sin_", "sqrt_", "square_", "tanh_",
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
    for name in (
        "add_",
        "subtract_",
        "multiply_",
        "divide_",
        "remainder_",
        "floor_divide_",
        "lerp_",
        "hypot_",
        "copysign_",
    ):
        x = paddle.to_tensor(start)
        args = (0.5,) if name == "lerp_" else ()
        results[name] = [getattr(x, name)(paddle.to_tensor(other), *args) is x, x]
    return results


@cases.add("inplace/dtype_follows_the_result", rtol=CLOSE)
def _(paddle, draw):
    a, b, c, d, e = (paddle.to_tensor([1, 2]) for _ in range(5))
    return [
        a.divide_(b),
        c.exp_(),
        d.scale_(2.7),
        e.clip_(0.5, 1.5),
        paddle.to_tensor([1, 2], dtype="int32").cumsum_(),
    ]


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


# -- errors
# --------------------------------------------------------------------------------------------------

cases.error("error/clip_bounds", lambda paddle: paddle.clip(paddle.ones([2]), 2.0, 1.0))
cases.error(
    "error/rounding_mode",
    lambda paddle: paddle.divide(paddle.ones([2]), paddle.ones([2]), rounding_mode="up"),
)
cases.error("error/pow_string", lambda paddle: paddle.pow(paddle.ones([2]), "a"))
cases.error("error/add_n_shapes", lambda paddle: paddle.add_n([paddle.ones([2]), paddle.ones([3])]))
cases.error("error/inplace_would_grow", lambda paddle: paddle.ones([1]).add_(paddle.ones([2])))
cases.error(
    "error/inplace_on_leaf", lambda paddle: paddle.to_tensor([1.0], stop_gradient=False).exp_()
)
cases.error("error/increment_needs_one_element", lambda paddle: paddle.increment(paddle.ones([2])))
cases.error("error/polygamma_order", lambda paddle: paddle.polygamma(paddle.ones([2]), -1))
cases.error("error/multigammaln_p", lambda paddle: paddle.multigammaln(paddle.ones([2]), 0))
cases.error("error/negative_bool", lambda paddle: paddle.negative(paddle.to_tensor([True])))
cases.error("error/frexp_integers", lambda paddle: paddle.frexp(paddle.to_tensor([1, 2])))
cases.error("error/renorm_axis", lambda paddle: paddle.renorm(paddle.ones([2, 2]), 2.0, 2, 1.0))
