"""Reductions, histograms and their dtype rules."""

import numpy as np

from goldens.harness import Cases

cases = Cases("reduction")

FLOATING = [
    "sum",
    "mean",
    "max",
    "min",
    "amax",
    "amin",
    "prod",
    "logsumexp",
    "std",
    "var",
    "nanmean",
    "nansum",
]
COUNTING = ["all", "any", "count_nonzero"]


def call(fn, **kwargs):
    return lambda paddle, x: getattr(paddle, fn)(x, **kwargs)


for fn in FLOATING + COUNTING:
    grad = fn in FLOATING
    shape = (2, 3, 4)
    for label, kwargs in {
        "all": {},
        "keepdim": {"keepdim": True},
        "axis1": {"axis": 1},
        "last": {"axis": -1, "keepdim": True},
        "pair": {"axis": [0, -1]},
        "tuple": {"axis": (1, 2), "keepdim": True},
        "no_axes": {"axis": []},
    }.items():
        # sums of 24 numbers are added in another order
        cases.op(
            f"{fn}_{label}",
            call(fn, **kwargs),
            lambda d: d.distinct(2, 3, 4) + 0.1,
            grad=grad,
            rtol=1e-5,
        )
    cases.op(f"{fn}_0d", call(fn), lambda d: d.normal(), grad=grad)
    cases.op(f"{fn}_0d_axis", call(fn, axis=0), lambda d: d.normal(), grad=grad)
    cases.op(
        f"{fn}_float64",
        call(fn, axis=0),
        lambda d: d.distinct(3, 2, dtype="float64") + 0.1,
        grad=grad,
    )
    cases.op(
        f"{fn}_method",
        lambda paddle, x, fn=fn: getattr(x, fn)(1),
        lambda d: d.distinct(2, 3) + 0.1,
        grad=grad,
        rtol=1e-5,
    )
    cases.error(
        f"{fn}_axis_too_large",
        lambda paddle, fn=fn: getattr(paddle, fn)(paddle.ones([2, 3]), axis=2),
    )
    cases.error(
        f"{fn}_axis_twice",
        lambda paddle, fn=fn: getattr(paddle, fn)(paddle.ones([2, 3]), axis=[0, 0]),
    )
    cases.error(
        f"{fn}_axis_text", lambda paddle, fn=fn: getattr(paddle, fn)(paddle.ones([2, 3]), axis="a")
    )

for fn in [
    "sum",
    "mean",
    "prod",
    "logsumexp",
    "std",
    "var",
    "nanmean",
    "nansum",
    "all",
    "any",
    "count_nonzero",
    "median",
]:
    cases.op(f"{fn}_empty", call(fn), lambda d: np.zeros((0, 3), "float32"), grad=False)
    cases.op(
        f"{fn}_empty_axis0", call(fn, axis=0), lambda d: np.zeros((0, 3), "float32"), grad=False
    )
    cases.op(
        f"{fn}_empty_axis1", call(fn, axis=1), lambda d: np.zeros((0, 3), "float32"), grad=False
    )
cases.op("max_empty_kept", call("max", axis=1), lambda d: np.zeros((0, 3), "float32"), grad=False)
cases.error("max_of_nothing", lambda paddle: paddle.max(paddle.zeros([0, 3])))
cases.error("sum_of_a_list", lambda paddle: paddle.sum([1.0, 2.0]))

INTEGERS = {
    "sum": ["bool", "uint8", "int8", "int16", "int32", "int64"],
    "mean": ["bool", "int32", "int64"],
    "max": ["int32", "int64"],
    "amin": ["int32", "int64"],
    "prod": ["int32", "int64"],
    "all": ["bool", "int32", "int64"],
    "any": ["bool", "int32", "int64"],
    "count_nonzero": ["bool", "uint8", "int16", "int64"],
    "logsumexp": ["int32", "int64"],
    "std": ["int32", "int64"],
    "var": ["int32", "int64"],
    "nansum": ["int32", "int64"],
    "nanmean": ["int64"],
    "median": ["bool", "int32", "int64"],
    "nanmedian": ["int32", "int64"],
}
for fn, kinds in INTEGERS.items():
    for kind in kinds:
        low = 0 if kind in ("bool", "uint8") else -5
        cases.op(
            f"{fn}_{kind}",
            call(fn),
            lambda d, k=kind, low=low: d.integers(2, 5, low=low, high=4, dtype=k),
        )
        cases.op(
            f"{fn}_{kind}_axis",
            call(fn, axis=1),
            lambda d, k=kind, low=low: d.integers(2, 5, low=low, high=4, dtype=k),
        )
for fn in ("sum", "mean", "prod", "nansum"):
    cases.op(
        f"{fn}_complex",
        call(fn, axis=1),
        lambda d: (d.normal(2, 3) + 1j * d.normal(2, 3)).astype("complex64"),
        grad=False,
    )
cases.op("sum_float16", call("sum"), lambda d: d.integers(4).astype("float16"), grad=False)
cases.op("sum_dtype", call("sum", dtype="float64"), lambda d: d.normal(2, 3))
cases.op("sum_dtype_int", call("sum", dtype="int32"), lambda d: d.integers(3, dtype="int32"))
cases.op("sum_dtype_bool", call("sum", dtype="bool"), lambda d: d.mask(3))
cases.op("mean_dtype", call("mean", dtype="float32"), lambda d: d.integers(3))
cases.op("prod_dtype", call("prod", dtype="float64"), lambda d: d.integers(3, low=1))
cases.op(
    "sum_tensor_axis",
    lambda paddle, x: paddle.sum(x, axis=paddle.to_tensor([0, 1])),
    lambda d: d.normal(2, 3),
    rtol=1e-5,
)
cases.op(
    "mean_tensor_axis",
    lambda paddle, x: paddle.mean(x, axis=[paddle.to_tensor(1)]),
    lambda d: d.normal(2, 3),
)

TIES = np.array([[1, 3, 3], [2, 2, 2]], "float32")
for fn in ("max", "amax", "min", "amin", "median", "nanmedian"):
    cases.op(f"{fn}_ties", call(fn), lambda d: TIES)
    cases.op(f"{fn}_ties_axis", call(fn, axis=1), lambda d: TIES)

cases.op("std_biased", call("std", axis=0, unbiased=False), lambda d: d.normal(4, 2))
cases.op("std_constant", call("std"), lambda d: np.ones(3, "float32"))
cases.op("var_biased", call("var", unbiased=False, keepdim=True), lambda d: d.normal(4, 2))
cases.op("var_correction", call("var", axis=0, correction=0.5), lambda d: d.normal(4, 2))
cases.op("var_one_value", call("var", axis=0), lambda d: d.normal(1, 2))
cases.error("var_both", lambda paddle: paddle.var(paddle.ones([3]), unbiased=False, correction=2))

NANS = np.array([[1, np.nan, 3, 5], [np.nan, 2, 0.5, np.nan], [4, 3, 2, 1]], "float32")
for fn in ("nanmean", "nansum", "nanmedian", "median", "count_nonzero", "max"):
    cases.op(f"{fn}_nan", call(fn), lambda d: NANS, grad=fn in ("nanmean", "nansum"))
    cases.op(
        f"{fn}_nan_axis",
        call(fn, axis=1),
        lambda d: NANS,
        grad=fn in ("nanmean", "nansum", "nanmedian"),
    )
cases.op("nanmedian_axes", call("nanmedian", axis=[0, 2]), lambda d: d.distinct(2, 3, 4))
cases.op(
    "nanmedian_all_nan", call("nanmedian"), lambda d: np.full((2,), np.nan, "float32"), grad=False
)
for n in (3, 4):
    cases.op(f"median_{n}", call("median"), lambda d, n=n: d.distinct(n))
    cases.op(
        f"median_axis_{n}", call("median", axis=-1, keepdim=True), lambda d, n=n: d.distinct(2, n)
    )
    cases.op(f"median_min_{n}", call("median", axis=1, mode="min"), lambda d, n=n: d.distinct(2, n))
    cases.op(f"median_min_all_{n}", call("median", mode="min"), lambda d, n=n: d.distinct(2, n))
    cases.op(
        f"nanmedian_min_{n}", call("nanmedian", axis=1, mode="min"), lambda d, n=n: d.distinct(2, n)
    )
cases.op(
    "median_min_int",
    call("median", axis=0, mode="min"),
    lambda d: d.distinct(4).astype("float64").argsort(),
)
cases.op("median_0d", call("median"), lambda d: d.normal())
cases.error("median_mode", lambda paddle: paddle.median(paddle.ones([3]), mode="max"))
cases.error("median_axes", lambda paddle: paddle.median(paddle.ones([3, 2]), axis=[0, 1]))
cases.error("median_0d_axis", lambda paddle: paddle.median(paddle.ones([]), axis=1))
cases.error("median_list", lambda paddle: paddle.median([1.0, 2.0]))

for how in ("linear", "lower", "higher", "nearest", "midpoint"):
    cases.op(
        f"quantile_{how}",
        call("quantile", q=[0.0, 0.3, 0.8, 1.0], axis=1, interpolation=how),
        lambda d: d.distinct(2, 6),
    )
cases.op("quantile_all", call("quantile", q=0.3), lambda d: d.distinct(2, 6))
cases.op(
    "quantile_keepdim",
    call("quantile", q=[0.25, 0.5], axis=[0, 2], keepdim=True),
    lambda d: d.distinct(2, 3, 4),
)
cases.op(
    "quantile_tensor",
    lambda paddle, x: paddle.quantile(x, paddle.to_tensor([0.1, 0.9]), 0),
    lambda d: d.distinct(5, 2),
)
cases.op("quantile_nan", call("quantile", q=0.5, axis=1), lambda d: NANS, grad=False)
cases.op("nanquantile", call("nanquantile", q=[0.3, 0.9], axis=1), lambda d: NANS, grad=False)
cases.op("quantile_float64", call("quantile", q=0.7), lambda d: d.distinct(7, dtype="float64"))
cases.error("quantile_above_1", lambda paddle: paddle.quantile(paddle.ones([3]), 1.5))
cases.error(
    "quantile_how", lambda paddle: paddle.quantile(paddle.ones([3]), 0.5, interpolation="cubic")
)
cases.error("quantile_none", lambda paddle: paddle.quantile(paddle.ones([3]), []))

for shape in ([3], [1, 3], [2, 1], [1], [], [2, 3]):
    tag = "x".join(map(str, shape)) or "0d"
    cases.op(
        f"reduce_as_{tag}",
        lambda paddle, x, s=shape: paddle.reduce_as(x, paddle.ones(s)),
        lambda d: d.normal(2, 3),
    )

cases.op("histogram", call("histogram", bins=4, min=-1, max=1), lambda d: d.normal(20), grad=False)
cases.op("histogram_own_range", call("histogram", bins=5), lambda d: d.normal(20), grad=False)
cases.op(
    "histogram_int", call("histogram", bins=3, min=0, max=6), lambda d: d.integers(9), grad=False
)
cases.op(
    "histogram_flat", call("histogram", bins=3), lambda d: np.full((4,), 2.0, "float32"), grad=False
)
cases.op(
    "histogram_density",
    call("histogram", bins=4, min=-1, max=1, density=True),
    lambda d: d.normal(20),
    grad=False,
)
cases.op(
    "histogram_weight",
    lambda paddle, x, w: paddle.histogram(x, bins=4, min=-1, max=1, weight=w),
    lambda d: (d.normal(9), d.uniform(9)),
    grad=False,
)
cases.op(
    "histogram_bin_edges", call("histogram_bin_edges", bins=4), lambda d: d.normal(9), grad=False
)
cases.op(
    "histogram_bin_edges_given",
    call("histogram_bin_edges", bins=2, min=-1, max=4),
    lambda d: d.normal(9),
    grad=False,
)
cases.op(
    "histogramdd",
    call("histogramdd", bins=[3, 4], ranges=[-2.0, 2.0, -2.0, 2.0]),
    lambda d: d.normal(20, 2),
    grad=False,
)
cases.op(
    "histogramdd_int",
    call("histogramdd", bins=2, density=True),
    lambda d: d.normal(20, 2),
    grad=False,
)
cases.op(
    "histogramdd_weights",
    lambda paddle, x, w: paddle.histogramdd(x, bins=2, weights=w),
    lambda d: (d.normal(9, 2), d.uniform(9)),
    grad=False,
)
cases.error("histogram_no_bins", lambda paddle: paddle.histogram(paddle.ones([3]), bins=0))
cases.error("histogram_range", lambda paddle: paddle.histogram(paddle.ones([3]), min=2, max=1))
cases.op("bincount", call("bincount"), lambda d: d.integers(9))
cases.op("bincount_int32", call("bincount", minlength=12), lambda d: d.integers(9, dtype="int32"))
cases.op(
    "bincount_weights",
    lambda paddle, x, w: paddle.bincount(x, w),
    lambda d: (d.integers(9), d.uniform(9)),
    grad=False,
)
cases.op(
    "bincount_int_weights",
    lambda paddle, x, w: paddle.bincount(x, w),
    lambda d: (d.integers(9), d.integers(9)),
    grad=False,
)
cases.error("bincount_negative", lambda paddle: paddle.bincount(paddle.to_tensor([-1, 2])))
cases.error("bincount_float", lambda paddle: paddle.bincount(paddle.to_tensor([1.0])))
cases.error("bincount_matrix", lambda paddle: paddle.bincount(paddle.zeros([2, 2], "int64")))
