"""Operators and the dtypes of their results."""

import operator

import numpy as np

from goldens.harness import Cases

cases = Cases("promotion")

# Transcendental functions come from other libraries on the two sides.
CLOSE = 1e-5
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")


def full(paddle, dtype, shape=(2,), value=3):
    return paddle.full(list(shape), value, dtype="float32").astype(dtype)


# -- operators
# --------------------------------------------------------------------------------------------------

OPERATORS = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod, "pow": operator.pow,
}  # fmt: skip

for name, fn in OPERATORS.items():
    cases.op(f"operator/{name}/scalars", lambda paddle, x,
        f=fn: [f(x, 2), f(x, 1.5), f(2, x), f(1.5, x), f(x, True), f(x, np.float64(0.5))],
             lambda d: d.uniform(2, 2, low=0.6, high=3.0), rtol=CLOSE)  # fmt: skip
    cases.op(f"operator/{name}/tensors", lambda paddle, x, y, f=fn: f(x, y),
        lambda d: (d.uniform(2, 3, low=0.6, high=3.0), d.uniform(3, low=0.6, high=3.0)),
             rtol=CLOSE)  # fmt: skip
    cases.op(f"operator/{name}/integers", lambda paddle, x, y,
        f=fn: [f(x, y), f(x, 2), f(2, y), f(x, 2.5), f(x, True)],
             lambda d: (d.integers(4, low=-9, high=9), d.integers(4, low=1, high=5)),
             rtol=CLOSE)  # fmt: skip


@cases.add("operator/negative_integers")
def _(paddle, draw):
    x, y = paddle.to_tensor([7, -7, 7, -7]), paddle.to_tensor([2, 2, -2, -2])
    return [x // y, x % y, x / y, x // 3, x % -3, x.astype("int32") // y.astype("int32")]


@cases.add("operator/bool")
def _(paddle, draw):
    a, b = paddle.to_tensor([True, False, True]), paddle.to_tensor([True, True, True])
    return [
        a + b,
        a * b,
        a / b,
        -a,
        a + 1,
        a * 2.5,
        a - 1,
        2 - a,
        a / 2,
        a & b,
        a | b,
        a ^ b,
        ~a,
        a == b,
        a == True,  # noqa: E712
    ]


@cases.add("operator/numpy_operands")
def _(paddle, draw):
    x = paddle.to_tensor(draw.normal(3))
    return [
        x + np.ones(3, "float32"),
        np.ones(3, "float32") * x,
        x * np.ones(3),
        np.float32(2) * x,
        x - np.int64(1),
    ]


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
    return [
        (x // 2).stop_gradient,
        (x // x).stop_gradient,
        (x % 2).stop_gradient,
        paddle.divide(x, x, rounding_mode="trunc").stop_gradient,
    ]


# -- promotion
# --------------------------------------------------------------------------------------------------


@cases.add("promotion/floats")
def _(paddle, draw):
    a, b = full(paddle, "float32"), full(paddle, "float64")
    return [f(a, b) for f in OPERATORS.values()] + [
        paddle.maximum(a, b),
        a + full(paddle, "float16"),
        full(paddle, "bfloat16") * a,
    ]


@cases.add("promotion/complex_with_real")
def _(paddle, draw):
    z = full(paddle, "complex64")
    return [z + full(paddle, d) for d in ("bool", "int32", "int64", "float32", "float64")] + [
        z * 2.5,
        z + 1j,
        full(paddle, "float32") * 2j,
    ]


@cases.add("promotion/zero_d")
def _(paddle, draw):
    pairs = [("float32", "float64"), ("int32", "int64"), ("int64", "float32"),
        ("int64", "float64"), ("bool", "int32"), ("float32", "int64"),
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
    return [full(paddle, "int32") // full(paddle, "int64", ()),
        full(paddle, "float32") // full(paddle, "float64", ()),
            paddle.floor_divide(full(paddle, "int32"), 2), full(paddle, "int32") // 2,
                paddle.mod(full(paddle, "int64"), 2.5)]  # fmt: skip


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
    return [
        paddle.atan2(x, y),
        paddle.copysign(x, y),
        paddle.copysign(x, -1.0),
        paddle.hypot(x, y),
        paddle.logaddexp(x, y),
        paddle.heaviside(x, y),
    ]


for name in OPERATORS:
    cases.error(
        f"promotion/int_with_float/{name}",
        lambda paddle, f=OPERATORS[name]: f(full(paddle, "int64"), full(paddle, "float32")),
    )
cases.error(
    "promotion/int32_with_int64", lambda paddle: full(paddle, "int32") + full(paddle, "int64")
)
cases.error(
    "promotion/bool_with_float", lambda paddle: full(paddle, "bool") * full(paddle, "float32")
)
cases.error(
    "promotion/maximum_zero_d_integer",
    lambda paddle: paddle.maximum(full(paddle, "float32"), full(paddle, "int64", ())),
)
cases.error("error/broadcast", lambda paddle: paddle.ones([2, 3]) + paddle.ones([2]))
cases.error("error/list_operand", lambda paddle: paddle.ones([2]) + [1, 2])
cases.error("error/none_operand", lambda paddle: paddle.ones([2]) * None)
cases.error(
    "error/integer_division_by_zero",
    lambda paddle: paddle.to_tensor([1, 2]) // paddle.to_tensor([0, 1]),
)
cases.error("error/integer_modulo_by_zero", lambda paddle: paddle.to_tensor([1, 2]) % 0)
cases.error(
    "error/subtract_bools", lambda paddle: paddle.to_tensor([True]) - paddle.to_tensor([True])
)
