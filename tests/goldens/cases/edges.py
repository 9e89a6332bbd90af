"""Where values are special: ties, zeros, nan, what is no Tensor beside one, changes in place."""

from __future__ import annotations

import operator

import numpy as np

from goldens.harness import Cases

cases = Cases("edges")

TIES = np.array([[0, 1, -2], [2, 0, -2]], "float32")
INF = float("inf")

for p in (0, 1, 2, 3, INF, -INF):
    for axis in (None, 0, -1):
        cases.op(
            f"norm/{p}/{axis}", lambda paddle, x, p=p, a=axis: paddle.norm(x, p, a), lambda d: TIES
        )
        cases.op(
            f"vector_norm/{p}/{axis}",
            lambda paddle, x, p=p, a=axis: paddle.linalg.vector_norm(x, p, a, keepdim=True),
            lambda d: TIES,
        )
    pair = (TIES, np.array([[0, 1, 1], [2, 1, -2]], "float32"))
    cases.op(f"dist/{p}", lambda paddle, x, y, p=p: paddle.dist(x, y, p), lambda d, v=pair: v)
    cases.op(
        f"pairwise_distance/{p}",
        lambda paddle, x, y, p=p: paddle.nn.functional.pairwise_distance(x, y, p, 0.0),
        lambda d, v=pair: v,
    )
    cases.op(
        f"normalize/{p}",
        lambda paddle, x, p=p: paddle.nn.functional.normalize(x, p),
        lambda d: TIES,
        rtol=1e-5,
    )
cases.op("norm/zeros", lambda paddle, x: paddle.norm(x, 0), lambda d: np.zeros((2, 3), "float32"))

SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 2.5, -1e38], "float32")
cases.op("sign", lambda paddle, x: paddle.sign(x), lambda d: SPECIAL)

for with_weight in (True, False):
    cases.op(
        f"group_norm/alone/{with_weight}",
        lambda paddle, x, w, b, with_weight=with_weight: paddle.nn.functional.group_norm(
            x, 4, weight=w if with_weight else None, bias=b
        ),
        lambda d: (d.normal(3, 4), d.normal(4), d.normal(4)),
        grad=with_weight,
    )


@cases.add("group_norm/bias_only", rtol=1e-5)
def _(paddle, draw):
    x, bias = paddle.to_tensor(draw.normal(2, 4, 3, 3)), paddle.to_tensor(draw.normal(4))
    bias.stop_gradient = False
    out = paddle.nn.functional.group_norm(x, 2, bias=bias)
    (out * out).sum().backward()
    return [out, bias.grad]


cases.op(
    "batch_norm/one_value_per_channel",
    lambda paddle, x, w, b: paddle.nn.functional.batch_norm(
        x, paddle.zeros([4]), paddle.ones([4]), w, b, training=True
    ),
    lambda d: (d.normal(1, 4, 1, 1), d.normal(4), d.normal(4)),
)

OPERATORS = ("add", "sub", "mul", "truediv", "eq", "ne", "lt", "le", "gt", "ge")
OTHERS = {
    "text": "1.5",
    "word": "a",
    "named": "True",
    "prefix": " 2abc",
    "float32": np.float32(1.5),
    "float16": np.float16(1.5),
    "float64": np.float64(1.5),
    "int32": np.int32(2),
}
for dtype in ("float32", "int64", "bool"):
    for name, other in OTHERS.items():
        for symbol in OPERATORS:
            if dtype == "bool" and symbol in ("sub", "truediv"):
                continue  # Paddle has them for some kinds of numbers only
            if isinstance(other, str) and symbol == "mul":
                continue  # Python takes the text for a sequence

            @cases.add(f"operand/{dtype}/{name}/{symbol}")
            def _(paddle, draw, dtype=dtype, other=other, call=getattr(operator, symbol)):
                x = paddle.to_tensor([1, 0, 3]).astype(dtype)
                return [call(x, other), x + other, other in x]


for name, other in {"none": None, "list": [1.0], "dict": {}, "object": int}.items():

    @cases.add(f"contains/{name}")
    def _(paddle, draw, other=other):
        return np.asarray([other in paddle.ones([3]), paddle.ones([3]) == other])


cases.op(
    "heaviside",
    lambda paddle, x, y: paddle.heaviside(x, y),
    lambda d: (np.array([0.0, 1.0, -1.0, np.nan], "float32"), d.normal(4)),
)
cases.op("mode/nan", lambda paddle, x: paddle.mode(x), lambda d: SPECIAL[[0, 0]])
for mode in ("bilinear", "bicubic", "nearest"):
    for size in ((1, 1), (1, 4), (9, 1)):
        for aligned in (False, True) if mode != "nearest" else (False,):
            cases.op(
                f"interpolate/{mode}/{size}/{aligned}",
                lambda paddle, x, m=mode, s=size, a=aligned: paddle.nn.functional.interpolate(
                    x, size=s, mode=m, align_corners=a
                ),
                lambda d: d.normal(1, 2, 5, 6),
                rtol=1e-5,
            )


@cases.add("unique/no_gradient")
def _(paddle, draw):
    x = paddle.to_tensor([2.0, 1.0, 2.0], stop_gradient=False)
    points = paddle.to_tensor(draw.uniform(5, 2), stop_gradient=False)
    found = [paddle.unique(x), paddle.unique_consecutive(x), paddle.histogramdd(points, 3)[0]]
    return [*found, np.asarray([f.stop_gradient for f in found])]


@cases.add("bits/number_first")
def _(paddle, draw):
    x, y = paddle.to_tensor([True, False]), paddle.to_tensor([1, 6], dtype="int32")
    return [2 & x, 2 | x, 2 ^ x, 2 & y, 2 | y, 2 ^ y]


@cases.add("matmul/array_of_another_dtype")
def _(paddle, draw):
    array = np.array([1.0, 2.0, 3.0])
    return [paddle.to_tensor([1, 0, 3]) @ array, paddle.ones([3]) @ array]


@cases.add("index/array_of_no_dimension")
def _(paddle, draw):
    x = paddle.to_tensor(draw.normal(3, 4))
    part = x[np.array(1)]
    x[np.array(2)] = 7.0
    return [part, x]


def changed(paddle, change):
    x = paddle.to_tensor([0.5, 1.0], stop_gradient=False)
    y = x * 1.0
    z = y**2
    change(paddle, y)
    z.sum().backward()
    return x.grad


for name, change in {
    "add_": lambda paddle, y: y.add_(paddle.ones([2])),
    "tanh_": lambda paddle, y: y.tanh_(),
    "fill_": lambda paddle, y: y.fill_(3.0),
    "reshape_": lambda paddle, y: y.reshape_([2, 1]),
    "setitem": lambda paddle, y: y.__setitem__(0, 5.0),
    "assign": lambda paddle, y: paddle.assign(paddle.zeros([2]), y),
    "detached": lambda paddle, y: y.detach().add_(paddle.ones([2])),
}.items():
    cases.error(f"changed/{name}", lambda paddle, change=change: changed(paddle, change))
cases.error(
    "changed/result", lambda paddle: changed(paddle, lambda p, y: p.exp(y).add_(y).sum().backward())
)


@cases.add("changed/set_value")
def _(paddle, draw):
    return changed(paddle, lambda p, y: y.set_value(p.to_tensor([3.0, 4.0])))
