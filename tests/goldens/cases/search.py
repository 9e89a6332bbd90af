"""Positions, order and choice of elements."""

import numpy as np

from goldens.harness import Cases

cases = Cases("search")

for name in ("argmax", "argmin"):
    for label, options in {
        "flat": {}, "first": {"axis": 0}, "last": {"axis": -1},
        "keep": {"axis": 1, "keepdim": True},
        "flat_keep": {"keepdim": True}, "int32": {"axis": 0, "dtype": "int32"},
    }.items():  # fmt: skip
        cases.op(
            f"{name}_{label}",
            lambda p, x, n=name, o=options: getattr(p, n)(x, **o),
            lambda d: d.distinct(3, 4),
            grad=False,
        )
    cases.op(
        f"{name}_ties",
        lambda p, x, n=name: getattr(p, n)(x),
        lambda d: np.array([2, 1, 2, 1]),
        grad=False,
    )
    cases.op(
        f"{name}_scalar",
        lambda p, x, n=name: [getattr(x, n)(), getattr(x, n)(0)],
        lambda d: d.normal(),
        grad=False,
    )

for name in ("sort", "argsort"):
    for label, options in {
        "last": {},
        "first": {"axis": 0},
        "descending": {"descending": True},
    }.items():
        cases.op(
            f"{name}_{label}",
            lambda p, x, n=name, o=options: getattr(p, n)(x, **o),
            lambda d: d.distinct(3, 4),
        )
    cases.op(f"{name}_scalar", lambda p, x, n=name: getattr(p, n)(x), lambda d: d.normal())
    cases.op(
        f"{name}_nan",
        lambda p, x, n=name: getattr(p, n)(x),
        lambda d: np.array([1, np.nan, 0], "float32"),
        grad=False,
    )
cases.op(
    "argsort_ties",
    lambda p, x: [p.argsort(x), p.argsort(x, descending=True)],
    lambda d: d.integers(12, high=3),
)
cases.op(
    "argsort_ties_stable",
    lambda p, x: x.argsort(descending=True, stable=True),
    lambda d: d.integers(12, high=3),
)
cases.op(
    "sort_int",
    lambda p, x: [p.sort(x), p.sort(x.astype("int32"), descending=True)],
    lambda d: d.integers(3, 4),
)
cases.op("msort", lambda p, x: p.msort(x), lambda d: d.distinct(3, 2))

for label, options in {
    "plain": {"k": 2}, "smallest": {"k": 2, "largest": False}, "first": {"k": 2, "axis": 0},
    "all": {"k": 4, "axis": -1},
}.items():  # fmt: skip
    cases.op(f"topk_{label}", lambda p, x, o=options: p.topk(x, **o), lambda d: d.distinct(3, 4))
cases.op("topk_tensor", lambda p, x, k: p.topk(x, k), lambda d: (d.distinct(4), np.array([2])))
cases.op("topk_scalar", lambda p, x: p.topk(x, 1), lambda d: d.normal())
cases.op("topk_int", lambda p, x: p.topk(x.astype("int32"), 2), lambda d: np.array([3, 9, 1, 4]))
cases.op(
    "kthvalue", lambda p, x: [p.kthvalue(x, 2), x.kthvalue(3, 0, True)], lambda d: d.distinct(3, 4)
)
cases.op("kthvalue_scalar", lambda p, x: p.kthvalue(x, 1), lambda d: d.normal(), grad=False)
cases.op(
    "mode",
    lambda p, x: [p.mode(x), x.mode(0), x.mode(1, True)],
    lambda d: d.integers(5, 6, high=3).astype("float32"),
)
cases.op("mode_int", lambda p, x: p.mode(x), lambda d: d.integers(4, 5, high=3))
cases.op("mode_scalar", lambda p, x: p.mode(x), lambda d: d.normal(), grad=False)

cases.op(
    "nonzero",
    lambda p, x: [p.nonzero(x), p.nonzero(x, as_tuple=True), x.argwhere()],
    lambda d: d.integers(3, 4, high=2),
)
cases.op(
    "nonzero_none",
    lambda p, x: [p.nonzero(x), p.nonzero(x, True)],
    lambda d: np.zeros((2, 2)),
    grad=False,
)
cases.op("nonzero_bool", lambda p, x: p.nonzero(x), lambda d: d.mask(6), grad=False)
cases.op("where_positions", lambda p, x: p.where(x), lambda d: d.mask(3, 4), grad=False)
cases.op(
    "where",
    lambda p, c, x, y: p.where(c, x, y),
    lambda d: (d.mask(3, 4), d.normal(3, 4), d.normal(3, 4)),
)
cases.op(
    "where_broadcast",
    lambda p, c, x, y: p.where(c, x, y),
    lambda d: (d.mask(2), d.normal(3, 1), d.normal()),
)
cases.op(
    "where_float",
    lambda p, c, x: [p.where(c, x, 0.0), p.where(c, 1.5, x)],
    lambda d: (d.mask(4), d.normal(4)),
)
cases.op(
    "where_numbers",
    lambda p, c: [p.where(c, 1, 0), p.where(c, 1.5, 2.5)],
    lambda d: d.mask(4),
    grad=False,
)
cases.op(
    "where_promotes",
    lambda p, c, x, y: p.where(c, x, y),
    lambda d: (d.mask(4), d.normal(4), d.normal(4, dtype="float64")),
)
cases.op(
    "where_zero_d_promotes",
    lambda p, c, x, y: p.where(c, x, y),
    lambda d: (d.mask(4), d.normal(4), d.normal(dtype="float64")),
)
cases.op(
    "where_half",
    lambda p, c, x: p.where(c, x.astype("float16"), 0.0),
    lambda d: (d.mask(4), d.normal(4)),
    grad=False,
)
cases.op("where_complex", lambda p, c, x: p.where(c, x * 1j, x), lambda d: (d.mask(4), d.normal(4)))
cases.op("where_method", lambda p, x: (x > 0).where(x, x * 2), lambda d: d.normal(4))
cases.op(
    "where_scalar_condition",
    lambda p, c, x: p.where(c, x, x * 2),
    lambda d: (np.array(True), d.normal(4)),
)
cases.op(
    "where_in_place", lambda p, c, x: p.where_(c, x * 1, x * 2), lambda d: (d.mask(4), d.normal(4))
)
cases.op(
    "masked_select", lambda p, x, m: p.masked_select(x, m), lambda d: (d.normal(3, 4), d.mask(3, 4))
)
cases.op(
    "masked_select_broadcast",
    lambda p, x, m: x.masked_select(m),
    lambda d: (d.normal(3, 4), d.mask(4)),
)
cases.op(
    "masked_select_grows", lambda p, x, m: x.masked_select(m), lambda d: (d.normal(2), d.mask(3, 2))
)
cases.op(
    "masked_select_scalar", lambda p, x: x.masked_select(p.to_tensor(True)), lambda d: d.normal()
)

for right in (False, True):
    cases.op(
        f"searchsorted_{right}",
        lambda p, s, v, r=right: p.searchsorted(s, v, r, r),
        lambda d: (
            np.array([1.0, 3, 3, 5], "float32"),
            np.array([[0.0, 3, 4], [5, 6, 1]], "float32"),
        ),
        grad=False,
    )
    cases.op(
        f"bucketize_{right}",
        lambda p, s, v, r=right: p.bucketize(v, s, r, r),
        lambda d: (np.array([1, 3, 5]), d.integers(2, 3)),
        grad=False,
    )
cases.op(
    "searchsorted_rows",
    lambda p, s, v: p.searchsorted(s, v),
    lambda d: (np.array([[1.0, 3, 5], [2, 4, 6]]), np.array([[2.0, 5], [3, 7]])),
    grad=False,
)
cases.op(
    "searchsorted_mixed",
    lambda p, s, v: [p.searchsorted(s, v), p.searchsorted(v, s)],
    lambda d: (np.array([1, 3, 5]), np.array([2.5, 3], "float32")),
    grad=False,
)
cases.op(
    "searchsorted_side",
    lambda p, s: p.searchsorted(s, s, side="right"),
    lambda d: np.array([1, 3, 5]),
    grad=False,
)

M = lambda paddle: paddle.ones([3, 4])  # noqa: E731
for label, fail in {
    "argmax_axis": lambda p: p.argmax(M(p), 2),
    "argmax_dtype": lambda p: p.argmax(M(p), dtype="float32"),
    "argsort_axis": lambda p: p.argsort(M(p), 2),
    "topk_large": lambda p: p.topk(M(p), 9),
    "topk_zero": lambda p: p.topk(M(p), 0),
    "topk_axis": lambda p: p.topk(M(p), 2, 2),
    "kthvalue_large": lambda p: p.kthvalue(M(p), 9),
    "kthvalue_zero": lambda p: p.kthvalue(M(p), 0),
    "nonzero_scalar": lambda p: p.nonzero(p.ones([])),
    "where_int_and_float": lambda p: p.where(M(p) > 0, M(p), 0),
    "where_ints": lambda p: p.where(M(p) > 0, M(p).astype("int32"), 0),
    "where_one": lambda p: p.where(M(p) > 0, M(p)),
    "where_condition": lambda p: p.where(M(p), M(p), M(p)),
    "masked_select_mask": lambda p: p.masked_select(M(p), M(p).astype("int64")),
    "searchsorted_number": lambda p: p.searchsorted(p.ones([2]), 2.0),
    "bucketize_rank": lambda p: p.bucketize(p.ones([2]), p.ones([2, 2])),
}.items():  # fmt: skip
    cases.error(f"error_{label}", fail)
