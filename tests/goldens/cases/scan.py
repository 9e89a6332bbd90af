"""Running totals, differences and integrals."""

import numpy as np

from goldens.harness import Cases

cases = Cases("scan")

# Sums are added up in another order.
CLOSE = 1e-5
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")

for axis in (None, 0, -1):
    cases.op(
        f"cumsum/axis={axis}",
        lambda paddle, x, a=axis: paddle.cumsum(x, axis=a),
        lambda d: d.normal(2, 3),
        rtol=CLOSE,
    )
    cases.op(
        f"cumprod/axis={axis}",
        lambda paddle, x, a=axis: paddle.cumprod(x, dim=a),
        lambda d: d.normal(2, 3) + 2.0,
        rtol=CLOSE,
    )
    cases.op(
        f"logcumsumexp/axis={axis}",
        lambda paddle, x, a=axis: paddle.logcumsumexp(x, axis=a),
        lambda d: d.normal(2, 3),
        rtol=CLOSE,
    )
    cases.op(
        f"cummax/axis={axis}",
        lambda paddle, x, a=axis: paddle.cummax(x, axis=a),
        lambda d: d.distinct(3, 4),
    )
    cases.op(
        f"cummin/axis={axis}",
        lambda paddle, x, a=axis: paddle.cummin(x, axis=a),
        lambda d: d.distinct(3, 4),
    )
cases.op(
    "cumprod/zeros",
    lambda paddle, x: paddle.cumprod(x, dim=0),
    lambda d: np.array([2.0, 0.0, 3.0, 0.0], "float32"),
    rtol=CLOSE,
)
cases.op(
    "cummax/ties",
    lambda paddle, x: [paddle.cummax(x, axis=1), paddle.cummin(x, axis=1)],
    lambda d: np.array([[1, 3, 3, 2], [2, 2, 1, 1]]),
)
cases.op(
    "cummax/index_dtype",
    lambda paddle, x: paddle.cummax(x, axis=0, dtype="int32"),
    lambda d: d.integers(5),
)
cases.op("cumsum/dtypes", lambda paddle, x: [paddle.cumsum(x.astype(d))
    for d in INTEGERS] + [paddle.cumsum(x, dtype="float64"), x.cumsum(0, "int32")],
         lambda d: d.integers(4))  # fmt: skip
cases.op(
    "cumprod/dtypes",
    lambda paddle, x: [paddle.cumprod(x.astype("int32"), 0), paddle.cumprod(x, 0, dtype="float64")],
    lambda d: d.integers(4),
)
cases.op(
    "cumsum/0d",
    lambda paddle, x: [paddle.cumsum(x), paddle.cumsum(x, axis=0)],
    lambda d: d.normal(),
)
cases.op(
    "diff",
    lambda paddle, x: [paddle.diff(x), paddle.diff(x, n=2), paddle.diff(x, axis=0)],
    lambda d: d.normal(3, 4),
)
cases.op(
    "diff/extended",
    lambda paddle, x, y: paddle.diff(x, prepend=y, append=y),
    lambda d: (d.normal(2, 3), d.normal(2, 2)),
)
cases.op(
    "diff/bool_and_int",
    lambda paddle, x: [paddle.diff(x), paddle.diff(x > 3), paddle.diff(x, n=9)],
    lambda d: d.integers(5),
)
cases.op(
    "trapezoid",
    lambda paddle, y: [
        paddle.trapezoid(y),
        paddle.trapezoid(y, dx=0.5),
        paddle.trapezoid(y, axis=0),
    ],
    lambda d: d.normal(3, 4),
    rtol=CLOSE,
)
cases.op(
    "trapezoid/points",
    lambda paddle, y, x: [paddle.trapezoid(y, x), paddle.cumulative_trapezoid(y, x)],
    lambda d: (d.normal(3, 4), d.normal(4)),
    rtol=CLOSE,
)
cases.op(
    "cumulative_trapezoid",
    lambda paddle, y: paddle.cumulative_trapezoid(y, dx=2.0),
    lambda d: d.normal(3, 4),
    rtol=CLOSE,
)
cases.error("error/cumsum_axis", lambda paddle: paddle.cumsum(paddle.ones([2, 3]), axis=2))
cases.error(
    "error/cummax_index_dtype", lambda paddle: paddle.cummax(paddle.ones([2]), dtype="float32")
)
cases.error("error/diff_order", lambda paddle: paddle.diff(paddle.ones([3]), n=0))
cases.error(
    "error/trapezoid_x_and_dx",
    lambda paddle: paddle.trapezoid(paddle.ones([3]), paddle.ones([3]), dx=1.0),
)
