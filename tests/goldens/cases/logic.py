"""Comparisons, logical and bitwise functions."""

import operator

import numpy as np

from goldens.harness import Cases

cases = Cases("logic")

SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5], "float32")
COMPARISONS = ("equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal")
OPERATORS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")


def full(paddle, dtype, shape=(2,), value=3):
    return paddle.full(list(shape), value, dtype="float32").astype(dtype)


def function(name):
    """The call ``paddle.<name>(*tensors)``."""
    return lambda paddle, *tensors: getattr(paddle, name)(*tensors)


for name in COMPARISONS:
    cases.op(
        name,
        function(name),
        lambda d: (d.integers(2, 3, high=3), d.integers(3, high=3)),
        grad=False,
    )
    cases.op(
        f"{name}/special_values",
        function(name),
        lambda d: (SPECIAL[:, None].copy(), SPECIAL),
        grad=False,
    )
    cases.op(
        f"{name}/bool",
        function(name),
        lambda d: (d.mask(4), d.mask(4)),
        grad=False,
    )
for fn in OPERATORS:
    cases.op(f"operator/{fn.__name__}", lambda paddle, x, y,
        f=fn: [f(x, y), f(x, 1), f(x, 1.5), f(1, x), f(x.astype("float32"), 1), f(x, True)],
             lambda d: (d.integers(5, high=3), d.integers(5, high=3)), grad=False)  # fmt: skip

cases.op("aliases", lambda paddle, x, y: [getattr(paddle, f)(x, y)
    for f in ("eq", "ne", "lt", "le", "gt", "ge", "less", "greater")],
         lambda d: (d.integers(5, high=3), d.integers(5, high=3)), grad=False)  # fmt: skip
cases.op(
    "compare/0d",
    lambda paddle, x: [x == x, x < 3, paddle.equal(x, x), x.equal(3)],
    lambda d: np.array(2),
    grad=False,
)
cases.op("compare/empty", lambda paddle, x: [x == x, x < 3], lambda d: d.normal(0, 2), grad=False)
cases.op(
    "compare/mixed_floats",
    lambda paddle, x: [x == x.astype("float64"), x < x.astype("float64")],
    lambda d: d.integers(3, dtype="float32"),
    grad=False,
)


@cases.add("compare/0d_of_another_dtype")
def _(paddle, draw):
    x = paddle.to_tensor([1, 2, 3])
    return [
        x == paddle.to_tensor(2.0),
        x < paddle.to_tensor(2.5),
        paddle.to_tensor([1.0, 2.0]) == paddle.to_tensor(2),
    ]


@cases.add("compare/none")
def _(paddle, draw):
    x = paddle.to_tensor([1.0])
    return [x == None, x != None]  # noqa: E711


for name in ("logical_and", "logical_or", "logical_xor"):
    cases.op(name, function(name), lambda d: (d.mask(2, 3), d.mask(3)), grad=False)
    cases.op(
        f"{name}/numbers",
        function(name),
        lambda d: (d.integers(6, high=2), d.integers(6, high=2)),
        grad=False,
    )
    cases.op(
        f"{name}/floats",
        function(name),
        lambda d: (SPECIAL, SPECIAL[::-1].copy()),
        grad=False,
    )
cases.op(
    "logical_not",
    lambda paddle, x, y: [paddle.logical_not(x), paddle.logical_not(y)],
    lambda d: (d.mask(4), d.integers(4, high=2)),
    grad=False,
)

for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    cases.op(name, lambda paddle, x, y, f=name: [getattr(paddle, f)(x.astype(t), y.astype(t))
        for t in INTEGERS],
             lambda d: (d.integers(2, 3), d.integers(3)), grad=False)  # fmt: skip
    cases.op(
        f"{name}/bool",
        function(name),
        lambda d: (d.mask(4), d.mask(4)),
        grad=False,
    )
cases.op(
    "bitwise_not",
    lambda paddle, x, y: [paddle.bitwise_not(x), ~x, paddle.bitwise_invert(x), ~y],
    lambda d: (d.integers(4), d.mask(3)),
    grad=False,
)
cases.op("operator/bitwise", lambda paddle, x, y: [x & y, x | y, x ^ y, x << y, x >> y, x << 1,
    1 << y, x >> 2],
         lambda d: (d.integers(4, low=-9, high=9), d.integers(4, high=5)), grad=False)  # fmt: skip
for arithmetic in (True, False):
    for name in ("bitwise_left_shift", "bitwise_right_shift"):
        cases.op(
            f"{name}/arithmetic={arithmetic}",
            lambda paddle, x, y, f=name, a=arithmetic: [
                getattr(paddle, f)(x.astype(t), y.astype(t), is_arithmetic=a) for t in INTEGERS
            ],
            lambda d: (d.integers(8, low=-100, high=100), d.integers(8, high=8)),
            grad=False,
        )

cases.op(
    "equal_all",
    lambda paddle, x: [
        paddle.equal_all(x, x),
        paddle.equal_all(x, x + 1),
        paddle.equal_all(x, x[:1]),
    ],
    lambda d: d.integers(3),
    grad=False,
)
cases.op("isclose", lambda paddle, x: [paddle.isclose(x, x + 1e-6), paddle.isclose(x, x * 1.1),
    paddle.isclose(x, x * 1.1, rtol=0.2), paddle.isclose(x, x + 0.5, atol=1.0)],
         lambda d: d.uniform(3, low=1.0, high=2.0), grad=False)  # fmt: skip
cases.op(
    "isclose/nan",
    lambda paddle, x: [paddle.isclose(x, x), paddle.isclose(x, x, equal_nan=True)],
    lambda d: np.array([np.nan, 1.0], "float32"),
    grad=False,
)
cases.op("allclose", lambda paddle, x: [paddle.allclose(x, x + 1e-7), paddle.allclose(x, x + 1.0),
    paddle.allclose(x, x + 0.5, atol=1.0)],
         lambda d: d.uniform(3, low=1.0, high=2.0), grad=False)  # fmt: skip
cases.op(
    "is_empty",
    lambda paddle, x, y: [paddle.is_empty(x), paddle.is_empty(y)],
    lambda d: (d.normal(0, 3), d.normal()),
    grad=False,
)
cases.op("isin", lambda paddle, x, y: [paddle.isin(x, y), paddle.isin(x, y, invert=True),
    paddle.isin(x, y, assume_unique=True)],
         lambda d: (d.integers(3, 4), np.array([1, 4, 7])), grad=False)  # fmt: skip
cases.op("isin/floats_and_0d", lambda paddle, x, y: [paddle.isin(x, y), paddle.isin(x[0], y)],
    lambda d: (np.array([1.0, 2.0, 3.0], "float32"),
         np.array([[2.0], [3.0]], "float32")), grad=False)  # fmt: skip


@cases.add("is_tensor")
def _(paddle, draw):
    x = paddle.to_tensor([1.0])
    return [paddle.is_tensor(x), paddle.is_tensor([1.0]), paddle.is_tensor(np.ones(1))]


@cases.add("inplace")
def _(paddle, draw):
    results = {}
    for name in (
        "equal_",
        "less_than_",
        "greater_equal_",
        "logical_and_",
        "bitwise_xor_",
        "bitwise_left_shift_",
    ):
        x = paddle.to_tensor([1, 2, 3])
        results[name] = [getattr(x, name)(paddle.to_tensor([3, 2, 1])) is x, x]
    for name in ("logical_not_", "bitwise_not_"):
        x = paddle.to_tensor([1, 0, 3])
        results[name] = [getattr(x, name)() is x, x]
    return results


cases.error("error/int_with_float", lambda paddle: full(paddle, "int64") == full(paddle, "float32"))
cases.error(
    "error/bool_with_int", lambda paddle: paddle.equal(full(paddle, "bool"), full(paddle, "int64"))
)
cases.error(
    "error/less_than_int32_int64",
    lambda paddle: paddle.less_than(full(paddle, "int32"), full(paddle, "int64")),
)
cases.error(
    "error/logical_and_mixed",
    lambda paddle: paddle.logical_and(full(paddle, "int64"), full(paddle, "float32")),
)
cases.error(
    "error/logical_and_0d_mixed",
    lambda paddle: paddle.logical_and(full(paddle, "bool", ()), full(paddle, "int64")),
)
cases.error(
    "error/broadcast", lambda paddle: full(paddle, "int64", (2, 3)) == full(paddle, "int64", (2,))
)
cases.error(
    "error/bitwise_floats", lambda paddle: full(paddle, "float32") & full(paddle, "float32")
)
cases.error("error/bitwise_not_floats", lambda paddle: ~full(paddle, "float32"))
cases.error("error/shift_floats", lambda paddle: full(paddle, "float32") << full(paddle, "float32"))
cases.error(
    "error/equal_all_dtypes",
    lambda paddle: paddle.equal_all(full(paddle, "int64"), full(paddle, "float32")),
)
cases.error(
    "error/isin_dtypes", lambda paddle: paddle.isin(full(paddle, "int64"), full(paddle, "float32"))
)
cases.error("error/isin_list", lambda paddle: paddle.isin(full(paddle, "int64"), [1, 2]))
