"""Making tensors: values, and above all the dtypes that Paddle chooses."""

import numpy as np

from goldens.harness import Cases

cases = Cases("creation")


@cases.add("to_tensor_dtypes")
def _(paddle, draw):
    data = [
        1, 1.5, True, 1 + 2j, [1, 2.5], [], (), [[]], np.float64(1.5), np.int32(3),
        [np.float64(1.5)], [np.int32(1)],
        np.array([1.5]), [np.array([1.5]), np.array([2.5])], (1, 2), [1, True], [True, False],
            np.array(3.0),
        np.array([1 + 1j]), [1 + 1j], np.array([1], "uint8"), np.array([1], "float16"),
            np.zeros((0, 3)), 10**18,
    ]  # fmt: skip
    return [paddle.to_tensor(d) for d in data]


@cases.add("to_tensor_asked_dtype")
def _(paddle, draw):
    return [
        paddle.to_tensor(1, dtype="float32"),
        paddle.to_tensor([1.7, -1.7], dtype="int32"),
        paddle.to_tensor([1, 0], dtype="bool"),
        paddle.to_tensor([1.5, 2], dtype=paddle.float64),
        paddle.to_tensor(draw.normal(2), dtype=np.float64),
        paddle.to_tensor(paddle.to_tensor([1.5]), dtype="int64"),
    ]


@cases.add("to_tensor_of_tensors")
def _(paddle, draw):
    one = paddle.to_tensor
    return [
        paddle.to_tensor([one(1), one(2)]),
        paddle.to_tensor([one(1.0), 2]),
        paddle.to_tensor([one(1), one(2.5)]),
        paddle.to_tensor([one([1, 2]), one([2, 3])]),
        paddle.to_tensor([[one(1.0), 2], [3, 4.0]]),
    ]


@cases.add("to_tensor_default_float64")
def _(paddle, draw):
    paddle.set_default_dtype("float64")
    try:
        return [
            paddle.to_tensor(1.5),
            paddle.to_tensor([1j]),
            paddle.zeros([1]),
            paddle.arange(2.0),
            paddle.full([1], 2),
        ]
    finally:
        paddle.set_default_dtype("float32")


@cases.add("shapes_in_every_form")
def _(paddle, draw):
    t = paddle.to_tensor
    shapes = [
        3,
        [2],
        [],
        (),
        [2, t(3)],
        t([2, 3]),
        t([2, 3], dtype="int32"),
        t(3),
        [np.int64(2)],
        np.array([2, 3]),
        [0, 3],
    ]
    return [paddle.zeros(s) for s in shapes] + [
        paddle.zeros(2, 3),
        paddle.ones((2, t([1])), "int32"),
        paddle.zeros([2], float),
    ]


@cases.add("full_dtypes")
def _(paddle, draw):
    t = paddle.to_tensor
    values = [1, 1.5, True, t(1.5), t([1]), 1 + 2j, "3", np.float64(3), np.int64(3)]
    results = [paddle.full([2], v) for v in values]
    return results + [
        paddle.full([2], 3.7, "int32"),
        paddle.full([2], 3, "bool"),
        paddle.full([], 5),
        paddle.full(2, "nan"),
    ]


@cases.add("likes")
def _(paddle, draw):
    f, i, b = paddle.ones([2, 2]), paddle.ones([2], "int64"), paddle.ones([2], "bool")
    return [
        paddle.full_like(i, 1.5), paddle.full_like(f, True),
            paddle.full_like(i, 2, dtype="float64"), paddle.ones_like(b),
        paddle.zeros_like(f, dtype="int64"), paddle.zeros_like(i), paddle.empty_like(i).shape,
            paddle.empty([2, 3]).shape,
    ]  # fmt: skip


@cases.add("arange")
def _(paddle, draw):
    t = paddle.to_tensor
    args = [
        (5,), (5.0,), (1, 5, 2), (1, 5.5, 2), (0, 1, 0.25), (5, 0, -1), (5, 0), (t(5),), (t(5.0),),
        (t([5]),), (True,),
        (t(1, dtype="int32"), t(5, dtype="int32")), (np.int32(4),), (np.float32(4),),
        (0, 10, 3, "int32"), (0.5, 3.9, 1, "int64"),
    ]  # fmt: skip
    return [paddle.arange(*a) for a in args] + [
        paddle.arange(3, dtype="float32"),
        paddle.arange(1.0, 3, dtype="int32"),
    ]


@cases.add("linspace")
def _(paddle, draw):
    t = paddle.to_tensor
    return [
        paddle.linspace(0, 1, 5), paddle.linspace(0, 10, 5, "int32"), paddle.linspace(0, 1, 1),
            paddle.linspace(0, 1, 0),
        paddle.linspace(t(0), t(1), t(5)), paddle.linspace(0, 1, 7, "float64"),
            paddle.linspace(5, 1, 3),
        paddle.linspace(0, 10, 4, "int64"), paddle.linspace(-1.5, 2.25, 6),
    ]  # fmt: skip


# powers are computed in another order
@cases.add("logspace", rtol=1e-5)
def _(paddle, draw):
    return [
        paddle.logspace(0, 3, 4), paddle.logspace(0, 3, 4, 2),
            paddle.logspace(0, 1, 3, 10, "float64"),
        paddle.logspace(0, 3, 4, dtype="int64"), paddle.logspace(-1, 1, 5, 3.0),
    ]  # fmt: skip


@cases.add("eye")
def _(paddle, draw):
    return [
        paddle.eye(2),
        paddle.eye(2, 3, "int32"),
        paddle.eye(3, 2),
        paddle.eye(paddle.to_tensor(2)),
        paddle.eye(0),
    ]


cases.op(
    "meshgrid", lambda paddle, x, y: paddle.meshgrid(x, y), lambda d: (d.normal(2), d.normal(3))
)
cases.op(
    "meshgrid_list",
    lambda paddle, x, y: paddle.meshgrid([x, y]),
    lambda d: (d.normal(2), d.normal()),
)
cases.op(
    "meshgrid_three",
    lambda paddle, *xs: paddle.meshgrid(*xs),
    lambda d: (d.normal(2), d.normal(1), d.normal(3)),
)

for offset in (0, 1, -1):
    cases.op(
        f"diag_vector_{offset}",
        lambda paddle, x, o=offset: paddle.diag(x, o),
        lambda d: d.normal(3),
    )
    cases.op(
        f"diag_matrix_{offset}",
        lambda paddle, x, o=offset: paddle.diag(x, o),
        lambda d: d.normal(3, 4),
    )
    cases.op(
        f"diagflat_{offset}",
        lambda paddle, x, o=offset: paddle.diagflat(x, o),
        lambda d: d.normal(2, 2),
    )
    cases.op(
        f"diag_embed_{offset}",
        lambda paddle, x, o=offset: paddle.diag_embed(x, o),
        lambda d: d.normal(2, 3),
        grad=False,
    )
    cases.op(
        f"tril_{offset}", lambda paddle, x, o=offset: paddle.tril(x, o), lambda d: d.normal(3, 4)
    )
    cases.op(
        f"triu_{offset}", lambda paddle, x, o=offset: paddle.triu(x, o), lambda d: d.normal(2, 4, 3)
    )
cases.op("diag_padding", lambda paddle, x: paddle.diag(x, 1, 9), lambda d: d.normal(3))
cases.op("diag_scalar", lambda paddle, x: paddle.diag(x), lambda d: d.normal())
cases.op("diag_int", lambda paddle, x: paddle.diag(x, -1), lambda d: d.integers(3))
cases.op(
    "diag_embed_axes",
    lambda paddle, x: paddle.diag_embed(x, 1, 0, 2),
    lambda d: d.normal(2, 3),
    grad=False,
)
cases.op("tril_bool", lambda paddle, x: paddle.tril(x), lambda d: d.mask(3, 3), grad=False)
cases.op(
    "vander", lambda paddle, x: paddle.vander(x), lambda d: d.uniform(3, low=0.5, high=2), rtol=1e-5
)
cases.op(
    "vander_increasing",
    lambda paddle, x: paddle.vander(x, 4, True),
    lambda d: d.uniform(3, low=0.5, high=2),
    rtol=1e-5,
)
cases.op("vander_int", lambda paddle, x: paddle.vander(x, 2), lambda d: d.integers(3))
cases.op("vander_none", lambda paddle, x: paddle.vander(x, 0), lambda d: d.normal(2), grad=False)


@cases.add("triangle_indices")
def _(paddle, draw):
    return [
        paddle.tril_indices(3, 3), paddle.tril_indices(2, 3), paddle.tril_indices(3, 2, -1),
            paddle.tril_indices(2, 2, 5),
        paddle.triu_indices(3), paddle.triu_indices(3, 4, -1, "int32"),
            paddle.triu_indices(2, 2, 3),
    ]  # fmt: skip


@cases.add("assign")
def _(paddle, draw):
    target = paddle.zeros([2])
    returned = paddle.assign(paddle.to_tensor([1.0, 2.0]), target)
    data = [[1.5], 1, 1.5, [1], True, np.array([1.5]), np.array([1], "int32"), (1, 2), [1 + 2j]]
    return [paddle.assign(d) for d in data] + [target, returned]


cases.op("assign_gradient", lambda paddle, x: paddle.assign(x * 2), lambda d: d.normal(3))
cases.op("clone", lambda paddle, x: x.clone() * 2, lambda d: d.normal(3))
cases.op(
    "complex", lambda paddle, x, y: paddle.complex(x, y), lambda d: (d.normal(2, 1), d.normal(3))
)
cases.op(
    "polar",
    lambda paddle, r, a: paddle.polar(r, a),
    lambda d: (d.uniform(3), d.normal(3)),
    rtol=1e-5,
)
cases.op(
    "complex_double",
    lambda paddle, x, y: paddle.complex(x, y),
    lambda d: (d.normal(2, dtype="float64"),) * 2,
    grad=False,
)


@cases.add("fill_constant")
def _(paddle, draw):
    fill_constant = paddle.tensor.creation.fill_constant
    return [fill_constant([2], "int64", 3), fill_constant([1], "float32", 3.5)]


cases.error("to_tensor_ragged", lambda paddle: paddle.to_tensor([1, [2, 3]]))
cases.error("to_tensor_text", lambda paddle: paddle.to_tensor("abc"))
cases.error("to_tensor_none", lambda paddle: paddle.to_tensor(None))
cases.error("to_tensor_none_inside", lambda paddle: paddle.to_tensor([None]))
cases.error("to_tensor_range", lambda paddle: paddle.to_tensor(range(3)))
cases.error("to_tensor_uint32", lambda paddle: paddle.to_tensor(np.array([1], "uint32")))
cases.error("to_tensor_list_of_text", lambda paddle: paddle.to_tensor(["a"]))
cases.error("zeros_negative", lambda paddle: paddle.zeros([2, -1]))
cases.error("zeros_float_shape", lambda paddle: paddle.zeros([2.5]))
cases.error("zeros_unknown_dtype", lambda paddle: paddle.zeros([2], "foo"))
cases.error("arange_step", lambda paddle: paddle.arange(0, 5, 0))
cases.error("linspace_negative", lambda paddle: paddle.linspace(0, 1, -1))
cases.error("eye_negative", lambda paddle: paddle.eye(-1))
cases.error("meshgrid_rank", lambda paddle: paddle.meshgrid(paddle.ones([1, 1]), paddle.ones([1])))
cases.error(
    "meshgrid_dtypes", lambda paddle: paddle.meshgrid(paddle.ones([1]), paddle.ones([1], "int64"))
)
cases.error("diag_rank", lambda paddle: paddle.diag(paddle.ones([2, 2, 2])))
cases.error("diag_embed_same", lambda paddle: paddle.diag_embed(paddle.ones([2, 2]), 0, 0, 0))
cases.error("diag_embed_axis", lambda paddle: paddle.diag_embed(paddle.ones([2, 2]), 0, 5, 0))
cases.error("tril_vector", lambda paddle: paddle.tril(paddle.ones([2])))
cases.error("tril_indices_negative", lambda paddle: paddle.tril_indices(-1, 2))
cases.error("vander_rank", lambda paddle: paddle.vander(paddle.ones([2, 2])))
cases.error("vander_negative", lambda paddle: paddle.vander(paddle.ones([2]), -1))
cases.error(
    "complex_mixed", lambda paddle: paddle.complex(paddle.ones([1]), paddle.ones([1], "float64"))
)
