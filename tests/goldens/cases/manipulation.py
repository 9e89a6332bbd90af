"""Changing shape and order, joining and splitting, gathering and scattering."""

import numpy as np

from goldens.harness import Cases

cases = Cases("manipulation")


def empty(*shape):
    return lambda d: np.zeros(shape, "float32")


# -- shape
# --------------------------------------------------------------------------------------------------

for label, shape in {
    "infer": [2, -1], "zero_copies": [0, 2, 2], "infer_and_zero": [-1, 0], "int": 12,
    "tuple": (3, 4), "ones": [1, 12, 1],
}.items():  # fmt: skip
    cases.op(
        f"reshape_{label}",
        lambda paddle, x, s=shape: paddle.reshape(x, s),
        lambda d: d.normal(3, 4),
    )
for label, source, shape in [
    ("last", (2, 0, 3), [0, -1]), ("front", (2, 0, 3), [-1, 0]), ("infer", (2, 0, 3), [6, -1]),
    ("flat", (2, 0, 3), [-1]),
    ("other", (0, 3), [3, 0]), ("batch", (0, 4), [-1, 2, 2]), ("zero", (0, 4), [0, 2, -1]),
]:  # fmt: skip
    cases.op(
        f"reshape_empty_{label}",
        lambda paddle, x, s=shape: paddle.reshape(x, s),
        empty(*source),
        grad=False,
    )


@cases.add("reshape_tensors_as_shape")
def _(paddle, draw):
    x = paddle.to_tensor(draw.normal(3, 4))
    t = paddle.to_tensor
    results = [
        paddle.reshape(x, s) for s in (t([6, 2]), t([2, -1], dtype="int32"), [t(6), 2], [t([6]), 2])
    ]
    return results + [
        x.reshape(4, 3),
        x.reshape(-1),
        paddle.to_tensor(1.0).reshape([1, 1]),
        paddle.ones([1]).reshape([]),
    ]


@cases.add("in_place_shapes")
def _(paddle, draw):
    x = paddle.to_tensor(draw.normal(1, 3, 4))
    shapes = []
    for change in (
        lambda: x.squeeze_(0), lambda: x.unsqueeze_([0, 2]), lambda: x.reshape_([4, 3]),
        lambda: x.flatten_(),
        lambda: x.reshape_([2, 6]), lambda: x.t_(), lambda: x.transpose_([1, 0]),
    ):  # fmt: skip
        assert change() is x
        shapes.append(list(x.shape))
    return shapes, x, x.cast_("int32").dtype == paddle.int32


cases.op("reshape_in_graph", lambda paddle, x: (x * 2).reshape_([4, 3]), lambda d: d.normal(3, 4))
cases.op("view", lambda paddle, x: x.view([2, -1]), lambda d: d.normal(3, 4))
cases.op(
    "view_dtype",
    lambda paddle, x: [x.view("int32"), x.view("uint8")],
    lambda d: d.normal(3, 4),
    grad=False,
)
cases.op("view_as", lambda paddle, x, y: x.view_as(y), lambda d: (d.normal(3, 4), d.normal(6, 2)))
cases.op(
    "flatten_middle", lambda paddle, x: paddle.flatten(x, 1, 2), lambda d: d.normal(2, 3, 1, 2)
)
cases.op(
    "flatten_negative", lambda paddle, x: paddle.flatten(x, -2, -1), lambda d: d.normal(2, 3, 4)
)
cases.op("flatten_scalar", lambda paddle, x: paddle.flatten(x), lambda d: d.normal())
cases.op("flatten_empty", lambda paddle, x: paddle.flatten(x, 0, 1), empty(2, 0, 3), grad=False)
cases.op("unflatten", lambda paddle, x: paddle.unflatten(x, -1, [2, -1]), lambda d: d.normal(3, 4))
for label, axis in {
    "all": None,
    "one": 0,
    "stays": 1,
    "list": [0, -1],
    "tuple": (0, 1),
    "empty_list": [],
}.items():
    cases.op(
        f"squeeze_{label}",
        lambda paddle, x, a=axis: paddle.squeeze(x, a),
        lambda d: d.normal(1, 3, 1),
    )
cases.op(
    "squeeze_scalar",
    lambda paddle, x: [x.squeeze(), x.squeeze(0), x.squeeze(-1)],
    lambda d: d.normal(),
)
for label, axis in {
    "front": 0,
    "list": [0, 2],
    "unsorted": [2, 0],
    "twice": [0, 0],
    "negative": [-1, -2],
    "none": [],
}.items():
    cases.op(
        f"unsqueeze_{label}",
        lambda paddle, x, a=axis: paddle.unsqueeze(x, a),
        lambda d: d.normal(3, 4),
    )


@cases.add("axes_as_tensors")
def _(paddle, draw):
    x, t = paddle.to_tensor(draw.normal(1, 3, 1)), paddle.to_tensor
    return [
        x.squeeze(t(0)), x.squeeze(t([0, 2])), x.unsqueeze(t(1)), x.unsqueeze(t([0, 1])),
            x.unsqueeze([t(0)]),
        paddle.concat([x, x], t(1)), paddle.split(x, 3, t(1)), paddle.tile(x, [t(2), 1, 1]),
            paddle.expand(x, [2, t(3), 2]),
        paddle.roll(x, t(1), 1), paddle.gather(x, t([0]), t(1)), paddle.argmax(x, t(1)),
    ]  # fmt: skip


for label, perm in {"swap": [1, 0, 2], "negative": [-1, 0, 1], "short": [1, 0]}.items():
    cases.op(
        f"transpose_{label}",
        lambda paddle, x, p=perm: paddle.transpose(x, p),
        lambda d: d.normal(2, 3, 4),
    )
cases.op(
    "transposes",
    lambda paddle, x: [x.T, x.mT, x.transpose(0, 1), x.permute(2, 0, 1)],
    lambda d: d.normal(2, 3, 4),
)
cases.op(
    "t",
    lambda paddle, x, v: [paddle.t(x), paddle.t(v), v.T],
    lambda d: (d.normal(2, 3), d.normal(3)),
)
cases.op(
    "moveaxis",
    lambda paddle, x: [x.moveaxis(0, -1), x.moveaxis([0, 1], [1, 0])],
    lambda d: d.normal(2, 3, 4),
)
cases.op("swapaxes", lambda paddle, x: paddle.swapaxes(x, 0, -1), lambda d: d.normal(2, 3, 4))
cases.op(
    "flip", lambda paddle, x: [x.flip(0), x.flip([0, -1]), x.flip([])], lambda d: d.normal(2, 3)
)
for k in (-1, 0, 1, 2, 5):
    cases.op(f"rot90_{k}", lambda paddle, x, k=k: paddle.rot90(x, k), lambda d: d.normal(2, 3))
cases.op("rot90_axes", lambda paddle, x: paddle.rot90(x, 1, [2, 0]), lambda d: d.normal(2, 3, 4))
cases.op(
    "roll",
    lambda paddle, x: [x.roll(1), x.roll(-1, -1), x.roll([1, 2], [0, 1]), x.roll(7, 0)],
    lambda d: d.normal(3, 4),
)
cases.op("as_complex", lambda paddle, x: paddle.as_complex(x), lambda d: d.normal(3, 2))
cases.op("as_real", lambda paddle, x: paddle.as_real(x * (1 + 2j)), lambda d: d.normal(3))
cases.op(
    "real_imag",
    lambda paddle, x, y: [(z := paddle.complex(x, y)).real(), z.imag()],
    lambda d: (d.normal(3), d.normal(3)),
)
cases.op(
    "as_strided",
    lambda paddle, x: x.as_strided([2, 2], [1, 2], 8),
    lambda d: d.normal(3, 4),
    grad=False,
)
cases.op(
    "unfold",
    lambda paddle, x: [paddle.unfold(x, 1, 2, 2), x.unfold(0, 2, 2)],
    lambda d: d.normal(3, 4),
)
cases.op(
    "unfold_overlap",
    lambda paddle, x: paddle.unfold(x, 1, 3, 1),
    lambda d: d.normal(3, 5),
    grad=False,
)
cases.op("crop", lambda paddle, x: paddle.crop(x, [2, -1], [0, 1]), lambda d: d.normal(3, 4))
cases.op(
    "crop_default",
    lambda paddle, x: [paddle.crop(x), paddle.crop(x, [2, 2])],
    lambda d: d.normal(3, 4),
)
cases.op(
    "shard_index",
    lambda paddle, x: [paddle.shard_index(x, 20, 3, i, -9) for i in range(3)],
    lambda d: d.integers(5, 1, high=20),
)
cases.op("atleast", lambda paddle, x, v, m: [
    paddle.atleast_1d(x), paddle.atleast_2d(x, v), paddle.atleast_3d(x, v, m)],
    lambda d: (d.normal(), d.normal(2), d.normal(2, 3)))  # fmt: skip

# -- type
# --------------------------------------------------------------------------------------------------

for dtype in ("float64", "float16", "bfloat16", "int32", "int64", "uint8", "bool", "complex64"):
    cases.op(
        f"cast_{dtype}",
        lambda paddle, x, t=dtype: paddle.cast(x, t),
        lambda d: d.uniform(4, low=0, high=5),
        grad=False,
    )
cases.op("cast_gradient", lambda paddle, x: x.astype("float64") * 3, lambda d: d.normal(3))
cases.op(
    "cast_negative",
    lambda paddle, x: x.astype("int64"),
    lambda d: np.array([1.9, -1.9, 0.5], "float32"),
    grad=False,
)


@cases.add("astype_names")
def _(paddle, draw):
    x = paddle.ones([2])
    kinds = [
        float,
        int,
        bool,
        complex,
        "float",
        "double",
        "int",
        "long",
        "half",
        np.float64,
        np.int32,
        paddle.int8,
    ]
    return [x.astype(k) for k in kinds], x.astype("float32") is x, x.cast("float32") is x


@cases.add("to")
def _(paddle, draw):
    x, other = paddle.ones([2]), paddle.ones([1], "int64")
    return [x.to("float64"), x.to("cpu"), x.to(paddle.CPUPlace(), "float64"), x.to(other),
        x.to(dtype="int32"),
            x.to(device="cpu", dtype="int8", blocking=True), x.cpu() is x, x.type_as(other),
                x.float(), x.double(), x.half(),
            x.long(), x.int(), x.bool(), x.new_zeros([2]), other.new_full([2], 3),
                x.new_ones(2, 3)]  # fmt: skip


# -- joining and splitting
# --------------------------------------------------------------------------------------

for axis in (0, 1, -1):
    cases.op(
        f"concat_{axis}",
        lambda paddle, x, y, a=axis: paddle.concat([x, y], a),
        lambda d: (d.normal(2, 3), d.normal(2, 3)),
    )
    cases.op(
        f"stack_{axis}",
        lambda paddle, x, y, a=axis: paddle.stack([x, y], a),
        lambda d: (d.normal(2, 3), d.normal(2, 3)),
    )
cases.op(
    "concat_uneven",
    lambda paddle, *x: paddle.concat(x, 1),
    lambda d: (d.normal(2, 1), d.normal(2, 3), d.normal(2, 0)),
)
cases.op("concat_bool", lambda paddle, x: paddle.concat((x, x)), lambda d: d.mask(3), grad=False)
cases.op(
    "stack_scalars", lambda paddle, x, y: paddle.stack([x, y]), lambda d: (d.normal(), d.normal())
)
cases.op(
    "stacks",
    lambda paddle, x, y: [paddle.hstack([x, y]), paddle.vstack([x, y]), paddle.dstack([x, y]),
    paddle.row_stack([x, y]),
                          paddle.column_stack([x, y])],
    lambda d: (d.normal(2, 3), d.normal(2, 3)),
)  # fmt: skip
cases.op("stacks_of_vectors", lambda paddle, x, y: [
    f([x, y]) for f in (paddle.hstack, paddle.vstack, paddle.dstack, paddle.column_stack)],
        lambda d: (d.normal(3), d.normal(3)))  # fmt: skip
cases.op(
    "block_diag",
    lambda paddle, *x: paddle.block_diag(list(x)),
    lambda d: (d.normal(2, 3), d.normal(2), d.normal()),
)
for label, parts in {"equal": 2, "sizes": [1, 3], "rest": [1, -1, 2], "one": 1}.items():
    cases.op(
        f"split_{label}",
        lambda paddle, x, p=parts: paddle.split(x, p, -1),
        lambda d: d.normal(3, 4),
    )
cases.op(
    "split_empty_part", lambda paddle, x: x.split([0, 3]), lambda d: d.normal(3, 2), grad=False
)
cases.op("chunk", lambda paddle, x: x.chunk(2, axis=1), lambda d: d.normal(3, 4))
cases.op(
    "tensor_split",
    lambda paddle, x: [paddle.tensor_split(x, 2), x.tensor_split([1, 2]), x.tensor_split(3, 1)],
    lambda d: d.normal(3, 4),
)
cases.op(
    "tensor_split_beyond",
    lambda paddle, x: [x.tensor_split([1, 9]), x.tensor_split(5)],
    lambda d: d.normal(3, 2),
    grad=False,
)
cases.op(
    "hvd_split",
    lambda paddle, x: [x.hsplit(2), x.vsplit([1]), x.dsplit(2)],
    lambda d: d.normal(2, 4, 2),
)
cases.op("hsplit_vector", lambda paddle, x: paddle.hsplit(x, 2), lambda d: d.normal(4))
cases.op("unbind", lambda paddle, x: [x.unbind(), paddle.unbind(x, -1)], lambda d: d.normal(2, 3))
cases.op(
    "unstack", lambda paddle, x: [x.unstack(), paddle.unstack(x, 1, 3)], lambda d: d.normal(2, 3)
)
for label, times in {"int": 2, "list": [2, 1], "long": [2, 1, 2], "zero": [0, 1]}.items():
    cases.op(
        f"tile_{label}",
        lambda paddle, x, t=times: paddle.tile(x, t),
        lambda d: d.normal(2, 3),
        grad=label != "zero",
    )
cases.op("tile_scalar", lambda paddle, x: [x.tile([]), x.tile([3])], lambda d: d.normal())
for label, shape in {"front": [3, 4, 1], "keep": [3, -1, -1], "grow": [2, 4, 2]}.items():
    cases.op(
        f"expand_{label}", lambda paddle, x, s=shape: paddle.expand(x, s), lambda d: d.normal(4, 1)
    )
cases.op("expand_scalar", lambda paddle, x: x.expand([2, 2]), lambda d: d.normal())
cases.op("expand_to_nothing", lambda paddle, x: x.expand([0]), lambda d: d.normal(1), grad=False)
cases.op(
    "expand_as", lambda paddle, x, y: x.expand_as(y), lambda d: (d.normal(1, 2), d.integers(3, 2))
)
cases.op("broadcast_to", lambda paddle, x: paddle.broadcast_to(x, [2, 3]), lambda d: d.normal(3))
cases.op(
    "broadcast_tensors",
    lambda paddle, x, y: paddle.broadcast_tensors([x, y]),
    lambda d: (d.normal(2), d.normal(3, 1)),
)
cases.add("broadcast_shape")(
    lambda paddle, draw: [
        paddle.broadcast_shape([2, 1, 3], [3, 1]),
        paddle.broadcast_shape([], [2]),
    ]
)
cases.op(
    "repeat_interleave",
    lambda paddle, x: [x.repeat_interleave(2), x.repeat_interleave(2, 1)],
    lambda d: d.normal(2, 3),
)
cases.op(
    "repeat_interleave_each",
    lambda paddle, x, n: paddle.repeat_interleave(x, n, 0),
    lambda d: (d.normal(3, 2), np.array([1, 0, 2])),
)
cases.op("combinations", lambda paddle, x: [
    paddle.combinations(x), x.combinations(3), x.combinations(2, True), x.combinations(5),
        x.combinations(1)], lambda d: d.integers(4))  # fmt: skip
cases.op(
    "cartesian_prod",
    lambda paddle, x, y: [paddle.cartesian_prod([x, y]), paddle.cartesian_prod([x])],
    lambda d: (d.normal(2), d.normal(3)),
)
for label, options in {
    "plain": {}, "all": {"return_index": True, "return_inverse": True, "return_counts": True},
    "int32": {"return_counts": True, "dtype": "int32"},
    "rows": {"axis": 0, "return_index": True, "return_inverse": True, "return_counts": True},
    "columns": {"axis": 1, "return_inverse": True},
}.items():  # fmt: skip
    cases.op(
        f"unique_{label}",
        lambda paddle, x, o=options: paddle.unique(x, **o),
        lambda d: d.integers(4, 2, high=2),
        grad=False,
    )
cases.op(
    "unique_float",
    lambda paddle, x: paddle.unique(x),
    lambda d: np.array([2.5, -1, 2.5], "float32"),
    grad=False,
)
cases.op("unique_scalar", lambda paddle, x: paddle.unique(x), lambda d: d.normal(), grad=False)
cases.op(
    "unique_consecutive",
    lambda paddle, x: paddle.unique_consecutive(x, True, True),
    lambda d: d.integers(8, high=2),
    grad=False,
)
cases.op(
    "unique_consecutive_rows",
    lambda paddle, x: paddle.unique_consecutive(x, True, True, axis=0),
    lambda d: d.integers(6, 1, high=2),
    grad=False,
)

# -- slices
# --------------------------------------------------------------------------------------------------

for label, bounds in {
    "one": ([0], [0], [2]), "two": ([0, 1], [0, -3], [2, -1]), "beyond": ([0], [-100], [100]),
    "last_axis": ([-1], [1], [3]),
}.items():  # fmt: skip
    cases.op(
        f"slice_{label}", lambda paddle, x, b=bounds: paddle.slice(x, *b), lambda d: d.normal(3, 4)
    )
cases.op(
    "slice_nothing",
    lambda paddle, x: paddle.slice(x, [0], [2], [1]),
    lambda d: d.normal(3, 4),
    grad=False,
)
cases.op(
    "slice_tensors",
    lambda paddle, x, a, b: [paddle.slice(x, [0], a, b), paddle.slice(x, [0], [a], [b])],
    lambda d: (d.normal(3, 4), np.array([0]), np.array([2])),
)
for label, bounds in {
    "both_ways": ([0, 1], [0, 3], [3, 0], [2, -1]), "to_front": ([1], [3], [-5], [-1]),
    "negative": ([1], [-1], [0], [-2]),
    "forward": ([0, 1], [0, 1], [3, 4], [2, 2]),
}.items():  # fmt: skip
    cases.op(
        f"strided_slice_{label}",
        lambda paddle, x, b=bounds: paddle.strided_slice(x, *b),
        lambda d: d.normal(3, 4),
    )
cases.op(
    "slice_scatter",
    lambda paddle, x, v: paddle.slice_scatter(x, v, [1], [0], [4], [2]),
    lambda d: (d.normal(3, 4), d.normal(3, 2)),
)
cases.op(
    "slice_scatter_broadcast",
    lambda paddle, x, v: paddle.slice_scatter(x, v, [0, 1], [0, 1], [2, 3], [1, 1]),
    lambda d: (d.normal(3, 4), d.normal(1, 2)),
)
cases.op(
    "select_scatter",
    lambda paddle, x, v: paddle.select_scatter(x, v, 0, 1),
    lambda d: (d.normal(3, 4), d.normal(4)),
)
cases.op(
    "diagonal_scatter",
    lambda paddle, x, v: paddle.diagonal_scatter(x, v, 1),
    lambda d: (d.normal(3, 4), d.normal(3)),
    grad=False,
)
cases.op("fill_diagonal", lambda paddle, x: (x * 1).fill_diagonal_(5.0), lambda d: d.normal(3, 4))
cases.op(
    "fill_diagonal_offset",
    lambda paddle, x: [(x * 1).fill_diagonal_(5.0, k) for k in (-1, 1, 2)],
    lambda d: d.normal(3, 3),
    grad=False,
)
cases.op(
    "fill_diagonal_wrap",
    lambda paddle, x: [(x * 1).fill_diagonal_(5.0, 0, w) for w in (True, False)],
    lambda d: d.normal(7, 3),
    grad=False,
)
cases.op(
    "fill_diagonal_cube",
    lambda paddle, x: (x * 1).fill_diagonal_(5.0),
    lambda d: d.normal(2, 2, 2),
    grad=False,
)
cases.op(
    "fill_diagonal_tensor",
    lambda paddle, x, v: x.fill_diagonal_tensor(v),
    lambda d: (d.normal(3, 3), d.normal(3)),
    grad=False,
)
cases.op("fill", lambda paddle, x: [(x * 1).fill_(3), (x * 1).zero_()], lambda d: d.normal(2))


@cases.add("attributes")
def _(paddle, draw):
    x, i, c = paddle.ones([2, 3]), paddle.ones([2], "int32"), paddle.ones([1], "complex64")
    kinds = [
        [f(v) for v in (x, i, c, i > 0)]
        for f in (paddle.is_complex, paddle.is_floating_point, paddle.is_integer)
    ]
    scalar = paddle.to_tensor(1.0)
    return (
        kinds,
        paddle.shape(x),
        paddle.shape(scalar),
        paddle.numel(x),
        x.numel(),
        paddle.rank(x),
        paddle.rank(scalar),
        x.tolist(),
    )


@cases.add("memory_is_shared_or_copied")
def _(paddle, draw):
    def shares(make):
        x = paddle.zeros([2, 2])
        make(x).fill_(9.0)
        return bool((x.numpy() == 9).any())

    return [shares(f) for f in (
        lambda x: x.reshape([4]), lambda x: x.flatten(), lambda x: x.squeeze(),
        lambda x: x.unsqueeze(0), lambda x: x.T,
        lambda x: x.transpose([1, 0]), lambda x: x[0], lambda x: x[:, 0], lambda x: x.split(2)[0],
        lambda x: x.expand([2, 2]),
        lambda x: paddle.assign(x), lambda x: x.clone(), lambda x: x.detach(),
        lambda x: x.unbind()[0], lambda x: x.chunk(2)[0],
        lambda x: x.view([4]), lambda x: paddle.slice(x, [0], [0], [1]), lambda x: x.cpu(),
        lambda x: x.to("float32"),
        lambda x: x.unstack()[0], lambda x: x.tile([1]), lambda x: paddle.concat([x]),
        lambda x: x.flip([]), lambda x: x.moveaxis(0, 1),
        lambda x: x.expand_as(x), lambda x: x.broadcast_to([2, 2]), lambda x: paddle.to_tensor(x),
        lambda x: x.cast("float32"),
        lambda x: x.astype("float32"), lambda x: paddle.strided_slice(x, [0], [0], [2], [1]),
        lambda x: paddle.atleast_2d(x),
        lambda x: x.as_strided([2], [1]), lambda x: x[[0]],
        lambda x: x.index_select(paddle.to_tensor([0])), lambda x: x.hsplit(2)[0],
    )]  # fmt: skip


# -- errors
# --------------------------------------------------------------------------------------------------

M = lambda paddle: paddle.ones([3, 4])  # noqa: E731
for label, fail in {
    "reshape_size": lambda p: p.reshape(M(p), [5, -1]),
    "reshape_two_unknown": lambda p: p.reshape(M(p), [-1, -1]),
    "reshape_zero_beyond": lambda p: p.reshape(M(p), [3, 4, 0]),
    "reshape_negative": lambda p: p.reshape(M(p), [-2, 6]),
    "reshape_float": lambda p: p.reshape(M(p), [2.0, 6]),
    "reshape_text": lambda p: p.reshape(M(p), "a"),
    "reshape_leaf": lambda p: p.to_tensor([1.0, 2.0], stop_gradient=False).reshape_([2, 1]),
    "view_strided": lambda p: M(p).T.view([12]),
    "transpose_twice": lambda p: p.transpose(M(p), [0, 0]),
    "transpose_long": lambda p: p.transpose(M(p), [0, 1, 2]),
    "transpose_range": lambda p: p.transpose(M(p), [0, 5]),
    "mT_vector": lambda p: p.ones([2]).mT,
    "t_rank": lambda p: p.t(p.ones([1, 2, 3])),
    "flatten_order": lambda p: p.flatten(p.ones([1, 2, 3]), 2, 1),
    "flatten_range": lambda p: p.flatten(M(p), 5),
    "squeeze_range": lambda p: p.squeeze(M(p), 5),
    "unsqueeze_range": lambda p: p.unsqueeze(M(p), 4),
    "unsqueeze_below": lambda p: p.unsqueeze(M(p), -4),
    "concat_ints": lambda p: p.concat([M(p), M(p).astype("int64")]),
    "concat_floats": lambda p: p.concat([M(p), M(p).astype("float64")]),
    "concat_tensor": lambda p: p.concat(M(p)),
    "concat_rank": lambda p: p.concat([M(p), p.ones([4])]),
    "concat_empty_vector": lambda p: p.concat([M(p), p.zeros([0])]),
    "concat_scalars": lambda p: p.concat([p.ones([]), p.ones([])]),
    "concat_range": lambda p: p.concat([M(p), M(p)], 2),
    "concat_nothing": lambda p: p.concat([]),
    "concat_number": lambda p: p.concat([M(p), 1]),
    "concat_extent": lambda p: p.concat([M(p), p.ones([3, 5])]),
    "stack_shape": lambda p: p.stack([M(p), p.ones([4])]),
    "stack_range": lambda p: p.stack([M(p), M(p)], 3),
    "stack_dtype": lambda p: p.stack([M(p), M(p).astype("int64")]),
    "block_diag_dtype": lambda p: p.block_diag([M(p), M(p).astype("int64")]),
    "split_uneven": lambda p: p.split(M(p), 2),
    "split_sum": lambda p: p.split(M(p), [1, 2], 1),
    "split_two_unknown": lambda p: p.split(M(p), [-1, -1], 1),
    "split_range": lambda p: p.split(M(p), 2, 5),
    "split_zero": lambda p: p.split(M(p), 0),
    "split_scalar": lambda p: p.split(p.ones([]), 1),
    "chunk_many": lambda p: p.chunk(M(p), 5),
    "vsplit_vector": lambda p: p.vsplit(p.ones([1]), 1),
    "unbind_range": lambda p: p.unbind(M(p), 2),
    "unbind_scalar": lambda p: p.unbind(p.ones([])),
    "unstack_num": lambda p: p.unstack(M(p), 1, 3),
    "tile_negative": lambda p: p.tile(M(p), [-1]),
    "expand_new_unknown": lambda p: p.expand(p.ones([2]), [-1, 2]),
    "expand_mismatch": lambda p: p.expand(p.ones([2]), [3, 3]),
    "expand_short": lambda p: p.expand(p.ones([1, 1]), [2]),
    "broadcast_tensors": lambda p: p.broadcast_tensors([p.ones([2]), p.ones([3])]),
    "broadcast_shape": lambda p: p.broadcast_shape([2], [3]),
    "flip_range": lambda p: p.flip(M(p), 2),
    "rot90_same": lambda p: p.rot90(M(p), 1, [0, 0]),
    "rot90_vector": lambda p: p.rot90(p.ones([2])),
    "roll_range": lambda p: p.roll(M(p), 5, 3),
    "roll_lengths": lambda p: p.roll(M(p), [1], [0, 1]),
    "cast_unknown": lambda p: p.cast(M(p), "foo"),
    "to_unknown": lambda p: M(p).to("foo"),
    "to_nothing": lambda p: M(p).to(),
    "slice_lengths": lambda p: p.slice(M(p), [0, 1], [0], [2]),
    "slice_int": lambda p: p.slice(M(p), 0, 0, 2),
    "strided_slice_zero": lambda p: p.strided_slice(M(p), [1], [0], [4], [0]),
    "as_complex": lambda p: p.as_complex(M(p)),
    "moveaxis_range": lambda p: p.moveaxis(M(p), 0, 5),
    "moveaxis_lengths": lambda p: p.moveaxis(M(p), [0], [0, 1]),
    "unflatten_range": lambda p: p.unflatten(M(p), 5, [1]),
    "unflatten_size": lambda p: p.unflatten(M(p), 1, [3, 2]),
    "unfold_size": lambda p: p.unfold(M(p), 1, 9, 1),
    "crop_outside": lambda p: p.crop(M(p), [2, 9], [0, 1]),
    "shard_index_outside": lambda p: p.shard_index(p.to_tensor([[25]]), 20, 2, 0),
    "repeat_interleave_length": lambda p: p.repeat_interleave(M(p), p.to_tensor([1, 0]), 0),
    "repeat_interleave_zero": lambda p: p.repeat_interleave(M(p), 0),
    "repeat_interleave_range": lambda p: p.repeat_interleave(M(p), 2, 5),
    "repeat_interleave_list": lambda p: p.repeat_interleave(M(p), [1, 0, 2], 0),
    "is_integer": lambda p: p.is_integer(1),
    "shape_of_list": lambda p: p.shape([1, 2]),
}.items():  # fmt: skip
    cases.error(f"error_{label}", fail)
