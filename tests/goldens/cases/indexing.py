"""``x[...]``, ``x[...] = v``, gather and scatter, masks."""

import numpy as np

from goldens.harness import Cases

cases = Cases("indexing")

# -- reading
# --------------------------------------------------------------------------------------------------

t = lambda paddle, *a, **k: paddle.to_tensor(*a, **k)  # noqa: E731

READS = {
    "int": lambda p, x: x[1],
    "negative_int": lambda p, x: x[-1],
    "two_ints": lambda p, x: x[0, -1],
    "all_ints": lambda p, x: x[1, 2, 3],
    "slice": lambda p, x: x[:, 1:3],
    "steps": lambda p, x: x[::2, 1::2, ::3],
    "beyond": lambda p, x: [x[0:100], x[5:], x[-100:1]],
    "reversed": lambda p, x: x[::-1],
    "reversed_two": lambda p, x: x[::-1, :, ::-2],
    "reversed_part": lambda p, x: x[:, 2:0:-1],
    "reversed_after_int": lambda p, x: x[1, ::-1],
    "reversed_after_ellipsis": lambda p, x: x[..., ::-1],
    "reversed_after_none": lambda p, x: x[None, ::-1],
    "ellipsis": lambda p, x: [x[...], x[..., 0], x[0, ...], x[0, ..., 1]],
    "none": lambda p, x: [x[None], x[:, None], x[..., None], x[0, None, 1:2]],
    "empty_tuple": lambda p, x: x[()],
    "true": lambda p, x: x[True],
    "false": lambda p, x: x[False],
    "true_tensor": lambda p, x: x[t(p, True)],
    "list": lambda p, x: x[[1, 0, 1]],
    "empty_list": lambda p, x: x[[]],
    "nested_list": lambda p, x: x[[[0, 1], [1, 0]]],
    "tuple_item": lambda p, x: x[(0, 1), (1, 2)],
    "range": lambda p, x: x[range(2)],
    "array": lambda p, x: x[np.array([1, 0])],
    "numpy_int": lambda p, x: x[np.int64(1)],
    "list_of_tensors": lambda p, x: x[[t(p, 0), t(p, 1)]],
    "tensor": lambda p, x: x[t(p, [1, 1, 0])],
    "tensor_int32": lambda p, x: x[t(p, [1, 0], dtype="int32")],
    "tensor_negative": lambda p, x: x[t(p, [-1, 0])],
    "tensor_matrix": lambda p, x: x[t(p, [[0, 1], [1, 0]])],
    "tensor_scalar": lambda p, x: [x[t(p, 1)], x[t(p, 1), t(p, 2)], x[t(p, 0), 1]],
    "tensors": lambda p, x: x[t(p, [0, 1]), t(p, [2, 0])],
    "tensors_broadcast": lambda p, x: x[t(p, [0, 1]), t(p, [[2], [0]])],
    "tensor_after_slice": lambda p, x: x[:, t(p, [2, 0]), 1:],
    "tensors_apart": lambda p, x: x[[0, 1], :, [0, 2]],
    "tensors_together": lambda p, x: x[:, [0, 1], [0, 2]],
    "int_and_tensor_apart": lambda p, x: x[0, :, [0, 2]],
    "int_and_tensor": lambda p, x: x[0, t(p, [0, 1])],
    "tensor_after_ellipsis": lambda p, x: x[..., t(p, [0, 1])],
    "tensor_and_none": lambda p, x: x[t(p, [0, 1]), None],
    "mask": lambda p, x: x[x > 0],
    "mask_rows": lambda p, x: x[t(p, [True, False])],
    "mask_second": lambda p, x: x[:, t(p, [True, False, True])],
    "mask_list": lambda p, x: x[:, [True, False, True], 1],
    "mask_array": lambda p, x: x[np.array([False, True])],
    "mask_matrix": lambda p, x: x[t(p, [[True, False, True], [True, False, True]])],
    "mask_and_int": lambda p, x: x[t(p, [True, False]), 0],
    "mask_and_list": lambda p, x: x[0, t(p, [True, False, True]), [0, 1]],
    "mask_nothing": lambda p, x: x[x > 1e9],
    "slice_of_tensors": lambda p, x: x[t(p, 0) : t(p, 2), : t(p, -1)],
    "twice": lambda p, x: x[0][1:][:, 2],
}
for label, read in READS.items():
    has_elements = label not in ("false", "empty_list", "mask_nothing", "beyond")
    cases.op(f"get_{label}", read, lambda d: d.normal(2, 3, 4), grad=has_elements)
cases.op("get_scalar", lambda p, x: [x[...], x[None], x[()], x[t(p, True)]], lambda d: d.normal())
cases.op("get_int_tensor", lambda p, x: [x[0], x[x > 3], x[::-1]], lambda d: d.integers(5))
cases.op("iterate", lambda p, x: [row * 2 for row in x], lambda d: d.normal(3, 2))

# -- writing
# --------------------------------------------------------------------------------------------------

WRITES = {
    "int": (lambda p: 0, lambda d: d.normal(3, 4)),
    "broadcast": (lambda p: 1, lambda d: d.normal(4)),
    "slice": (lambda p: (slice(None), slice(1, 3)), lambda d: d.normal(2, 2, 4)),
    "column": (lambda p: (slice(None), 1), lambda d: d.normal(2, 1)),
    "steps": (lambda p: (slice(None), slice(None, None, 2)), lambda d: d.normal(2, 4)),
    "reversed": (lambda p: slice(None, None, -1), lambda d: d.normal(2, 3, 4)),
    "reversed_last": (lambda p: (0, ..., slice(2, 0, -1)), lambda d: d.normal(3, 2)),
    "ellipsis": (lambda p: ..., lambda d: d.normal()),
    "none": (lambda p: (None, 0), lambda d: d.normal(3, 4)),
    "leading_ones": (lambda p: 0, lambda d: d.normal(1, 3, 4)),
    "list": (lambda p: [1, 0], lambda d: d.normal(2, 3, 4)),
    "tensor": (lambda p: t(p, [1]), lambda d: d.normal(3, 4)),
    "tensor_negative": (lambda p: t(p, [-1]), lambda d: d.normal(1, 3, 4)),
    "tensors": (lambda p: (t(p, [0, 1]), t(p, [2, 0])), lambda d: d.normal(2, 4)),
    "tensor_second": (lambda p: (slice(None), t(p, [2, 0])), lambda d: d.normal(2, 4)),
    "mask_rows": (lambda p: t(p, [True, False]), lambda d: d.normal(3, 4)),
    "mask_second": (
        lambda p: (slice(None), t(p, [True, False, True])),
        lambda d: d.normal(2, 2, 4),
    ),
    "scalar_tensor": (lambda p: (0, 1, 2), lambda d: d.normal()),
}


def _assigned(paddle, x, index, value):
    y = x * 1
    y[index] = value
    return y


for label, (index, value) in WRITES.items():
    cases.op(
        f"set_{label}",
        lambda p, x, v, i=index: _assigned(p, x, i(p), v),
        lambda d, v=value: (d.normal(2, 3, 4), v(d)),
    )
cases.op("set_mask_scalar", lambda p, x: _assigned(p, x, x > 0, 0.5), lambda d: d.normal(3, 4))
cases.op("set_number", lambda p, x: _assigned(p, x, (slice(None), 0), 7), lambda d: d.normal(3, 4))


@cases.add("set_conversions")
def _(paddle, draw):
    floats, ints, bools = draw.normal(3, 2), draw.integers(3, 2), draw.mask(3, 2)
    results = []
    for array, index, value in [
        (floats, 0, True), (floats, 0, np.arange(2)), (floats, 1, np.arange(2.0)),
        (floats, 0, paddle.to_tensor(2)),
        (floats, 0, np.float64(1.5)), (ints, (0, 0), 2.7),
        (ints, 0, paddle.to_tensor([2.7, -2.7])), (bools, 0, True),
        (bools, 1, 2), (floats, (0, slice(None)), paddle.to_tensor([5], dtype="int32")),
    ]:  # fmt: skip
        x = paddle.to_tensor(array)
        x[index] = value
        results.append(x)
    return results


@cases.add("set_is_seen_by_others")
def _(paddle, draw):
    x = paddle.zeros([3, 4])
    same, row, flat = x, x[0], x.reshape([12])
    x[0] = 5.0
    row[1] = 6.0
    x[:, ::2][2] = 7.0
    return x, same, row, flat


@cases.add("set_makes_result_differentiable")
def _(paddle, draw):
    x, v = paddle.zeros([3]), paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    x[1:] = v
    (x * x).sum().backward()
    return x.stop_gradient, v.grad


# -- gather and scatter
# -----------------------------------------------------------------------------------------

ids = np.array([2, 0, 2])
cases.op("gather", lambda p, x, i: p.gather(x, i), lambda d: (d.normal(3, 4), ids))
cases.op(
    "gather_axis",
    lambda p, x, i: [p.gather(x, i, axis=1), x.gather(i, -1)],
    lambda d: (d.normal(3, 4), ids),
)
cases.op(
    "gather_negative", lambda p, x, i: p.gather(x, i), lambda d: (d.normal(3, 4), np.array([-1, 0]))
)
cases.op(
    "gather_scalar_index", lambda p, x, i: p.gather(x, i), lambda d: (d.normal(3, 4), np.array(1))
)
cases.op(
    "gather_column_index",
    lambda p, x, i: p.gather(x, i),
    lambda d: (d.normal(3, 4), np.array([[0], [2]], "int32")),
)
cases.op(
    "gather_nothing",
    lambda p, x, i: p.gather(x, i),
    lambda d: (d.normal(3, 4), np.zeros(0, "int64")),
    grad=False,
)
cases.op(
    "gather_nd",
    lambda p, x, i: p.gather_nd(x, i),
    lambda d: (d.normal(3, 4), np.array([[0, 1], [2, 3], [0, 1]])),
)
cases.op(
    "gather_nd_rows",
    lambda p, x, i: [p.gather_nd(x, i), p.gather_nd(x, i[0])],
    lambda d: (d.normal(3, 4), np.array([[-1], [2]])),
)
cases.op(
    "gather_nd_all",
    lambda p, x, i: p.gather_nd(x, i),
    lambda d: (d.normal(3, 4), np.zeros((2, 0), "int64")),
)
cases.op(
    "index_select",
    lambda p, x, i: [p.index_select(x, i), x.index_select(i, 1)],
    lambda d: (d.normal(3, 4), ids),
)
# Paddle sends the gradient of a negative index to the wrong place
cases.op(
    "index_select_negative",
    lambda p, x, i: [x.index_select(i), x.index_select(i, 1)],
    lambda d: (d.normal(3, 4), np.array([0, -1])),
    grad=False,
)
cases.op(
    "index_sample",
    lambda p, x, i: p.index_sample(x, i),
    lambda d: (d.normal(3, 4), d.integers(3, 5, high=4)),
)
cases.op(
    "take",
    lambda p, x, i: [p.take(x, i), x.take(i[0])],
    lambda d: (d.normal(3, 4), np.array([[0, -1, 5], [0, 11, -12]])),
)
for mode in ("wrap", "clip"):
    cases.op(
        f"take_{mode}",
        lambda p, x, i, m=mode: p.take(x, i, mode=m),
        lambda d: (d.normal(3, 4), np.array([12, -13, 3, -1])),
    )
cases.op(
    "take_along_axis",
    lambda p, x, i: p.take_along_axis(x, i, 0),
    lambda d: (d.normal(3, 4), d.integers(2, 4, high=3)),
)
cases.op(
    "take_along_axis_broadcast",
    lambda p, x, i: [x.take_along_axis(i, 1), x.take_along_axis(i, 0)],
    lambda d: (d.normal(3, 4), np.array([[-1]])),
)
cases.op(
    "take_along_axis_exact",
    lambda p, x, i: p.take_along_axis(x, i, 1, False),
    lambda d: (d.normal(3, 4), d.integers(2, 3, high=4)),
)
for reduce in ("assign", "add", "mul", "mean", "amin", "amax"):
    for own in (True, False):
        cases.op(
            f"put_along_axis_{reduce}_{own}",
            lambda p, x, i, v, r=reduce, s=own: p.put_along_axis(x, i, v, 0, r, s),
            lambda d: (d.normal(3, 2) + 3, np.array([[0, 1], [2, 0]]), d.normal(2, 2) + 2),
            rtol=1e-5,
        )
    cases.op(
        f"put_along_axis_{reduce}_duplicates",
        lambda p, x, i, v, r=reduce: p.put_along_axis(x, i, v, 0, r),
        lambda d: (d.normal(3, 2) + 3, np.array([[0, 1], [0, 0]]), d.normal(2, 2) + 2),
        rtol=1e-5,
    )
cases.op(
    "put_along_axis_number",
    lambda p, x, i: p.put_along_axis(x, i, 9.0, 1),
    lambda d: (d.normal(3, 4), np.array([[0]])),
)
cases.op(
    "put_along_axis_exact",
    lambda p, x, i, v: p.put_along_axis(x, i, v, 0, "add", True, False),
    lambda d: (d.normal(3, 4), np.array([[0, 1], [0, 1]]), d.normal(2, 2)),
)
cases.op(
    "put_along_axis_int",
    lambda p, x, i: p.put_along_axis(x, i, 5, 0),
    lambda d: (d.integers(3, 4), np.array([[0, 1, 2, 0]])),
)
for overwrite in (True, False):
    for label, index in {
        "distinct": [2, 0],
        "duplicates": [1, 1],
        "negative": [-1, 0],
        "column": [[1], [0]],
    }.items():
        cases.op(
            f"scatter_{label}_{overwrite}",
            lambda p, x, i, u, o=overwrite: p.scatter(x, i, u, overwrite=o),
            lambda d, i=index: (d.normal(3, 4), np.array(i), d.normal(2, 4)),
        )
cases.op(
    "scatter_one",
    lambda p, x, i, u: p.scatter(x, i, u),
    lambda d: (d.normal(3, 4), np.array(1), d.normal(4)),
)
cases.op(
    "scatter_vector",
    lambda p, x, i, u: p.scatter(x, i, u),
    lambda d: (d.normal(3), np.array([2, 0]), d.normal(2)),
)
cases.op(
    "scatter_in_place",
    lambda p, x, i, u: (x * 1).scatter_(i, u),
    lambda d: (d.normal(3, 4), np.array([2, 0]), d.normal(2, 4)),
)
cases.op(
    "scatter_nd",
    lambda p, i, u: p.scatter_nd(i, u, [3, 2]),
    lambda d: (np.array([[1, 0], [1, 0], [2, 1]]), d.normal(3)),
)
cases.op(
    "scatter_nd_add",
    lambda p, x, i, u: p.scatter_nd_add(x, i, u),
    lambda d: (d.normal(3, 4), np.array([[1], [1], [-1]]), d.normal(3, 4)),
)
cases.op(
    "scatter_nd_add_one",
    lambda p, x, i, u: p.scatter_nd_add(x, i, u),
    lambda d: (d.normal(3, 4), np.array([1, 2]), d.normal()),
)
cases.op(
    "index_add",
    lambda p, x, i, v: [p.index_add(x, i, 0, v), x.index_add(i, 0, v, 2.0)],
    lambda d: (d.normal(3, 4), np.array([0, 0, -1]), d.normal(3, 4)),
)
cases.op(
    "index_fill",
    lambda p, x, i: [p.index_fill(x, i, 0, -1), x.index_fill(i, -1, 2.5)],
    lambda d: (d.normal(3, 4), np.array([0, 2])),
)
cases.op(
    "index_put",
    lambda p, x, i, j, v: x.index_put((i, j), v),
    lambda d: (d.normal(3, 4), np.array([0, 1]), np.array([1, -1]), d.normal(2)),
)
cases.op(
    "index_put_accumulate",
    lambda p, x, i, v: x.index_put((i,), v, True),
    lambda d: (d.normal(3, 4), np.array([0, 0]), d.normal(2, 4)),
)
cases.op(
    "index_put_mask",
    lambda p, x, v: x.index_put((x > 0,), v),
    lambda d: (d.normal(3, 4), d.normal()),
    grad=False,
)
cases.op(
    "scatter_add",
    lambda p, x, i, v: [p.scatter_add(x, 1, i, v), p.scatter_reduce(x, 1, i, v, "prod")],
    lambda d: (d.normal(3, 4) + 3, np.array([[0, 0], [1, 1], [2, 3]]), d.normal(3, 2) + 3),
    rtol=1e-5,
)

# -- masks
# --------------------------------------------------------------------------------------------------

cases.op(
    "masked_fill", lambda p, x, m: p.masked_fill(x, m, -1), lambda d: (d.normal(3, 4), d.mask(3, 4))
)
cases.op(
    "masked_fill_broadcast",
    lambda p, x, m: x.masked_fill(m, 2.5),
    lambda d: (d.normal(3, 4), d.mask(4)),
)
cases.op(
    "masked_fill_grows", lambda p, x, m: p.masked_fill(x, m, 2), lambda d: (d.normal(), d.mask(3))
)
cases.op(
    "masked_fill_int_mask",
    lambda p, x, m: p.masked_fill(x, m, -1),
    lambda d: (d.normal(3), d.integers(3, high=2)),
    grad=False,
)
cases.op(
    "masked_fill_int",
    lambda p, x, m: p.masked_fill(x, m, -1.5),
    lambda d: (d.integers(3), d.mask(3)),
    grad=False,
)
cases.op(
    "masked_fill_tensor",
    lambda p, x, m, v: p.masked_fill(x, m, v),
    lambda d: (d.normal(3, 4), d.mask(3, 4), d.normal(1)),
    grad=False,
)
cases.op(
    "masked_scatter",
    lambda p, x, m, v: p.masked_scatter(x, m, v),
    lambda d: (d.normal(3), np.array([True, False, True]), d.normal(4)),
)
cases.op(
    "masked_scatter_broadcast",
    lambda p, x, m, v: x.masked_scatter(m, v),
    lambda d: (d.normal(3, 2), np.array([True, False]), d.normal(6)),
)

# -- errors
# --------------------------------------------------------------------------------------------------


def _set(paddle, index, value):
    x = paddle.ones([3, 4])
    x[index] = value


def _set_leaf(paddle):
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    x[0] = 1


M = lambda paddle: paddle.ones([3, 4])  # noqa: E731
for label, fail in {
    "get_outside": lambda p: M(p)[3],
    "get_below": lambda p: M(p)[-4],
    "get_second_outside": lambda p: M(p)[0, 5],
    "get_too_many": lambda p: M(p)[0, 1, 2],
    "get_float": lambda p: M(p)[1.5],
    "get_text": lambda p: M(p)["a"],
    "get_float_tensor": lambda p: M(p)[t(p, [1.5])],
    "get_uint8_tensor": lambda p: M(p)[t(p, [0, 1], dtype="uint8")],
    "get_two_ellipses": lambda p: M(p)[..., ...],
    "get_step_zero": lambda p: M(p)[::0],
    "get_mask_length": lambda p: M(p)[[True, False]],
    "get_scalar": lambda p: p.ones([])[0],
    "set_outside": lambda p: _set(p, 5, 1),
    "set_shape": lambda p: _set(p, 0, p.ones([2])),
    "set_list": lambda p: _set(p, 0, [1, 2, 3, 4]),
    "set_text": lambda p: _set(p, 0, "a"),
    "set_none": lambda p: _set(p, 0, None),
    "set_bad_index": lambda p: _set(p, "a", 1),
    "set_leaf": _set_leaf,
    "gather_outside": lambda p: p.gather(M(p), t(p, [5])),
    "gather_outside_second": lambda p: p.gather(M(p), t(p, [5]), 1),
    "gather_below": lambda p: p.gather(M(p), t(p, [-5])),
    "gather_matrix": lambda p: p.gather(M(p), t(p, [[0, 1], [2, 1]])),
    "gather_float": lambda p: p.gather(M(p), t(p, [0.5])),
    "gather_axis": lambda p: p.gather(M(p), t(p, [0]), axis=2),
    "gather_nd_outside": lambda p: p.gather_nd(M(p), t(p, [[0, 9]])),
    "gather_nd_long": lambda p: p.gather_nd(M(p), t(p, [[0, 0, 0]])),
    "index_select_outside": lambda p: p.index_select(M(p), t(p, [0, 9]), 1),
    "index_select_scalar": lambda p: p.index_select(M(p), t(p, 1), 1),
    "index_select_axis": lambda p: p.index_select(M(p), t(p, [1]), 5),
    "index_sample_outside": lambda p: p.index_sample(M(p), t(p, [[5], [0], [0]])),
    "index_sample_below": lambda p: p.index_sample(M(p), t(p, [[-1], [0], [0]])),
    "index_sample_rows": lambda p: p.index_sample(M(p), t(p, [[0, 1]])),
    "take_outside": lambda p: p.take(M(p), t(p, [12])),
    "take_float": lambda p: p.take(M(p), t(p, [0.5])),
    "take_mode": lambda p: p.take(M(p), t(p, [0]), mode="foo"),
    "take_along_axis_outside": lambda p: p.take_along_axis(M(p), t(p, [[9]]), 0),
    "take_along_axis_rank": lambda p: p.take_along_axis(M(p), t(p, [0]), 0),
    "take_along_axis_shape": lambda p: p.take_along_axis(M(p), t(p, [[0, 1]]), 0),
    "put_along_axis_outside": lambda p: p.put_along_axis(M(p), t(p, [[9]]), 2.0, 0),
    "put_along_axis_reduce": lambda p: p.put_along_axis(M(p), t(p, [[1]]), 2.0, 0, "foo"),
    "scatter_outside": lambda p: p.scatter(M(p), t(p, [7]), p.ones([1, 4])),
    "scatter_columns": lambda p: p.scatter(M(p), t(p, [0]), p.ones([1, 3])),
    "scatter_dtype": lambda p: p.scatter(M(p), t(p, [0]), p.ones([1, 4], "int64")),
    "scatter_matrix": lambda p: p.scatter(M(p), t(p, [[0, 1]]), p.ones([1, 4])),
    "scatter_nd_add_outside": lambda p: p.scatter_nd_add(M(p), t(p, [[5]]), p.ones([1, 4])),
    "index_add_outside": lambda p: p.index_add(M(p), t(p, [9]), 0, p.ones([1, 4])),
    "masked_fill_shape": lambda p: p.masked_fill(M(p), M(p) > 0, p.ones([2])),
    "masked_fill_dtype": lambda p: p.masked_fill(M(p), M(p) > 0, t(p, 1)),
    "masked_scatter_few": lambda p: p.masked_scatter(M(p), M(p) > 0, p.ones([2])),
}.items():  # fmt: skip
    cases.error(f"error_{label}", fail)
