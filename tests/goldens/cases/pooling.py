"""Pooling: windows, paddings, ceil_mode, masks, adaptive sizes, unpooling."""

from goldens.harness import Cases

cases = Cases("pooling")

# Means are summed in another order than Paddle's.
RTOL = 1e-5


def pool(name, call, *args, shape=(2, 3, 7, 6), rtol=RTOL, **kwargs):
    """One pooling function on an input without ties."""
    cases.op(
        name,
        lambda paddle, x: getattr(paddle.nn.functional, call)(x, *args, **kwargs),
        lambda d: d.distinct(*shape),
        rtol=rtol,
    )


pool("avg_pool2d", "avg_pool2d", 2)
pool("avg_pool2d stride", "avg_pool2d", 3, 2)
pool("avg_pool2d list", "avg_pool2d", [2, 3], [1, 2])
pool("avg_pool2d padding", "avg_pool2d", 3, 2, 1)
pool("avg_pool2d padding inclusive", "avg_pool2d", 3, 2, 1, exclusive=False)
pool("avg_pool2d four paddings", "avg_pool2d", 3, 2, [0, 1, 1, 0])
pool("avg_pool2d four paddings inclusive", "avg_pool2d", 3, 2, [0, 1, 1, 0], exclusive=False)
pool("avg_pool2d pairs", "avg_pool2d", 3, 2, [[0, 0], [0, 0], [1, 0], [1, 1]])
pool("avg_pool2d ceil", "avg_pool2d", 2, 2, ceil_mode=True, shape=(1, 2, 5, 5))
pool("avg_pool2d ceil padding", "avg_pool2d", 3, 2, 1, ceil_mode=True, shape=(1, 2, 6, 5))
pool(
    "avg_pool2d ceil inclusive",
    "avg_pool2d",
    3,
    2,
    1,
    ceil_mode=True,
    exclusive=False,
    shape=(1, 2, 6, 5),
)
pool(
    "avg_pool2d ceil list inclusive",
    "avg_pool2d",
    2,
    2,
    0,
    ceil_mode=True,
    exclusive=False,
    shape=(1, 2, 5, 5),
)
pool("avg_pool2d same", "avg_pool2d", 3, 2, "SAME")
pool("avg_pool2d same even", "avg_pool2d", 2, 2, "SAME", shape=(1, 2, 5, 5))
pool("avg_pool2d same inclusive", "avg_pool2d", 2, 2, "SAME", exclusive=False, shape=(1, 2, 5, 5))
pool("avg_pool2d valid", "avg_pool2d", 2, 2, "VALID", shape=(1, 2, 5, 5))
pool("avg_pool2d divisor", "avg_pool2d", 2, 2, 1, divisor_override=3)
pool("avg_pool2d nhwc", "avg_pool2d", 3, 2, 1, data_format="NHWC")
pool("avg_pool1d", "avg_pool1d", 3, shape=(2, 3, 10))
pool("avg_pool1d padding", "avg_pool1d", 3, 2, 1, shape=(2, 3, 10))
pool("avg_pool1d inclusive ceil", "avg_pool1d", 3, 2, 1, False, True, shape=(2, 3, 10))
pool("avg_pool1d pair", "avg_pool1d", 3, 2, [0, 1], shape=(2, 3, 10))
pool("avg_pool1d same", "avg_pool1d", 4, 3, "SAME", shape=(2, 3, 10))
pool("avg_pool3d", "avg_pool3d", 2, shape=(1, 2, 4, 5, 4))
pool("avg_pool3d options", "avg_pool3d", 3, 2, 1, True, False, shape=(1, 2, 4, 5, 4))
pool("avg_pool3d divisor", "avg_pool3d", 2, divisor_override=5, shape=(1, 2, 4, 5, 4))
pool("avg_pool3d ndhwc", "avg_pool3d", 2, data_format="NDHWC", shape=(1, 4, 5, 4, 2))

pool("max_pool2d", "max_pool2d", 2)
pool("max_pool2d stride padding", "max_pool2d", 3, 2, 1)
pool("max_pool2d list", "max_pool2d", [2, 3], [1, 2], [0, 1])
pool("max_pool2d ceil", "max_pool2d", 2, 2, ceil_mode=True, shape=(1, 2, 5, 5))
pool("max_pool2d ceil padding", "max_pool2d", 3, 2, 1, ceil_mode=True, shape=(1, 2, 6, 5))
pool("max_pool2d same", "max_pool2d", 2, 2, "SAME", shape=(1, 2, 5, 5))
pool("max_pool2d same wide", "max_pool2d", 3, 1, "SAME")
pool("max_pool2d four paddings", "max_pool2d", 3, 2, [0, 1, 1, 0])
pool("max_pool2d wide padding", "max_pool2d", 2, 1, 1)
pool("max_pool2d nhwc", "max_pool2d", 2, data_format="NHWC")
pool("max_pool2d mask", "max_pool2d", 2, return_mask=True)
pool("max_pool2d mask padding", "max_pool2d", 3, 2, 1, return_mask=True)
pool(
    "max_pool2d mask ceil", "max_pool2d", 2, 2, ceil_mode=True, return_mask=True, shape=(1, 2, 5, 5)
)
pool(
    "max_pool2d mask same is valid",
    "max_pool2d",
    2,
    2,
    "SAME",
    return_mask=True,
    shape=(1, 2, 5, 5),
)
pool("max_pool2d window larger than its input", "max_pool2d", 9, shape=(1, 2, 5, 6))
pool(
    "max_pool2d mask window larger than its input",
    "max_pool2d",
    [9, 3],
    return_mask=True,
    shape=(1, 2, 5, 6),
)
pool("avg_pool2d window larger than its input", "avg_pool2d", 9, shape=(1, 2, 5, 6))
pool(
    "avg_pool2d inclusive window larger than its input",
    "avg_pool2d",
    9,
    9,
    1,
    exclusive=False,
    shape=(1, 2, 5, 6),
)
pool("max_pool1d", "max_pool1d", 3, 2, 1, shape=(2, 3, 10))
pool("max_pool1d mask", "max_pool1d", 3, 2, return_mask=True, shape=(2, 3, 10))
pool("max_pool1d ceil", "max_pool1d", 3, 2, ceil_mode=True, shape=(2, 3, 10))
pool("max_pool1d same", "max_pool1d", 4, 3, "SAME", shape=(2, 3, 10))
pool("max_pool3d", "max_pool3d", 2, shape=(1, 2, 4, 5, 4))
pool("max_pool3d options", "max_pool3d", 3, 2, 1, ceil_mode=True, shape=(1, 2, 4, 5, 4))
pool("max_pool3d mask", "max_pool3d", 2, return_mask=True, shape=(1, 2, 4, 5, 4))
pool("max_pool3d ndhwc", "max_pool3d", 2, data_format="NDHWC", shape=(1, 4, 5, 4, 2))


# A window that lies wholly in the padding: the lowest number, no position, no mean.
@cases.add("empty windows")
def _(paddle, d):
    F = paddle.nn.functional
    x = paddle.to_tensor(d.distinct(1, 1, 3, 3))
    return [
        F.max_pool2d(x, 2, 2, 1, ceil_mode=True),
        F.max_pool2d(x, 2, 2, 1, ceil_mode=True, return_mask=True),
        F.avg_pool2d(x, 2, 2, 1, ceil_mode=True),
        F.max_pool2d(x, 2, 2, 2),
    ]


@cases.add("ties go to the first")
def _(paddle, d):
    x = paddle.ones([1, 1, 4, 4])
    x.stop_gradient = False
    paddle.nn.functional.max_pool2d(x, 2).sum().backward()
    return x.grad


cases.op(
    "lp_pool2d",
    lambda paddle, x: paddle.nn.functional.lp_pool2d(x, 2, 2),
    lambda d: d.uniform(1, 2, 5, 4, low=0.1),
    rtol=RTOL,
)
cases.op(
    "lp_pool2d options",
    lambda paddle, x: paddle.nn.functional.lp_pool2d(x, 3.0, 3, 2, 1, True),
    lambda d: d.uniform(1, 2, 6, 5, low=0.1),
    rtol=RTOL,
)
cases.op(
    "lp_pool2d nhwc",
    lambda paddle, x: paddle.nn.functional.lp_pool2d(x, 2, 2, data_format="NHWC"),
    lambda d: d.uniform(1, 5, 4, 2, low=0.1),
    rtol=RTOL,
)
cases.op(
    "lp_pool2d infinite",
    lambda paddle, x: paddle.nn.functional.lp_pool2d(x, float("inf"), 2),
    lambda d: d.distinct(1, 2, 4, 4),
    grad=False,
)
cases.op(
    "lp_pool2d negative sum",
    lambda paddle, x: paddle.nn.functional.lp_pool2d(x, 3, 2),
    lambda d: d.distinct(1, 1, 4, 4),
    grad=False,
    rtol=RTOL,
)
cases.op(
    "lp_pool1d",
    lambda paddle, x: paddle.nn.functional.lp_pool1d(x, 2, 3, 2),
    lambda d: d.uniform(1, 2, 9, low=0.1),
    rtol=RTOL,
)

for n, shape in ((1, (2, 3, 7)), (2, (2, 3, 7, 5)), (3, (1, 2, 5, 4, 3))):
    pool(f"adaptive_avg_pool{n}d", f"adaptive_avg_pool{n}d", 3, shape=shape)
    pool(f"adaptive_avg_pool{n}d to one", f"adaptive_avg_pool{n}d", 1, shape=shape)
    pool(f"adaptive_max_pool{n}d", f"adaptive_max_pool{n}d", 2, shape=shape)
    pool(f"adaptive_max_pool{n}d mask", f"adaptive_max_pool{n}d", 3, return_mask=True, shape=shape)
pool("adaptive_avg_pool2d None", "adaptive_avg_pool2d", [None, 2])
pool(
    "adaptive_avg_pool2d nhwc",
    "adaptive_avg_pool2d",
    [3, 2],
    data_format="NHWC",
    shape=(2, 7, 5, 3),
)
pool("adaptive_max_pool2d None", "adaptive_max_pool2d", [2, None])
pool("adaptive_avg_pool3d list", "adaptive_avg_pool3d", [2, None, 1], shape=(1, 2, 5, 4, 3))
pool(
    "adaptive_avg_pool3d ndhwc",
    "adaptive_avg_pool3d",
    2,
    data_format="NDHWC",
    shape=(1, 5, 4, 3, 2),
)

for u in (0.1, 0.5, 0.9):
    pool(
        f"fractional_max_pool2d {u}",
        "fractional_max_pool2d",
        [3, 4],
        random_u=u,
        return_mask=True,
        shape=(1, 2, 7, 9),
    )
    pool(f"fractional_max_pool2d kernel {u}", "fractional_max_pool2d", 3, 2, u, shape=(1, 2, 7, 9))
pool(
    "fractional_max_pool3d",
    "fractional_max_pool3d",
    2,
    random_u=0.4,
    return_mask=True,
    shape=(1, 2, 5, 5, 4),
)


def unpool(name, n, shape, **kwargs):
    cases.op(
        name,
        lambda paddle, x: getattr(paddle.nn.functional, f"max_unpool{n}d")(
            *getattr(paddle.nn.functional, f"max_pool{n}d")(x, 2, return_mask=True), 2, **kwargs
        ),
        lambda d: d.distinct(*shape),
    )


unpool("max_unpool1d", 1, (2, 2, 6))
unpool("max_unpool2d", 2, (2, 2, 6, 4))
unpool("max_unpool2d output_size", 2, (1, 2, 5, 5), output_size=[5, 5])
unpool("max_unpool2d full output_size", 2, (1, 2, 5, 5), output_size=[1, 2, 5, 5])
unpool("max_unpool3d", 3, (1, 2, 4, 4, 2))


@cases.add("layers", rtol=RTOL)
def _(paddle, d):
    nn = paddle.nn
    x1, x2, x3 = (
        paddle.to_tensor(d.distinct(*s)) for s in ((1, 2, 8), (1, 2, 6, 6), (1, 2, 4, 4, 4))
    )
    nets = [
        (nn.AvgPool1D(2), x1),
        (nn.AvgPool2D(2, 2, 1, exclusive=False), x2),
        (nn.AvgPool3D(2, divisor_override=3), x3),
        (nn.MaxPool1D(2, return_mask=True), x1),
        (nn.MaxPool2D(3, 2, 1), x2),
        (nn.MaxPool3D(2), x3),
        (nn.LPPool1D(2, 2), x1),
        (nn.LPPool2D(2, 2), x2),
        (nn.AdaptiveAvgPool1D(3), x1),
        (nn.AdaptiveAvgPool2D((2, 3)), x2),
        (nn.AdaptiveAvgPool3D(2), x3),
        (nn.AdaptiveMaxPool1D(3), x1),
        (nn.AdaptiveMaxPool2D(2, return_mask=True), x2),
        (nn.AdaptiveMaxPool3D(2), x3),
        (nn.FractionalMaxPool2D(3, random_u=0.3), x2),
        (nn.FractionalMaxPool3D(3, random_u=0.3), x3),
    ]
    results = [[repr(net), net(x)] for net, x in nets]
    out, mask = paddle.nn.functional.max_pool2d(x2, 2, return_mask=True)
    return [*results, [repr(nn.MaxUnPool2D(2)), nn.MaxUnPool2D(2)(out, mask)]]


cases.error(
    "max_pool2d no window", lambda p: p.nn.functional.max_pool2d(p.ones([1, 1, 4, 4]), 9, 2)
)
cases.error(
    "max_pool2d layout",
    lambda p: p.nn.functional.max_pool2d(p.ones([1, 1, 4, 4]), 2, data_format="NCL"),
)
cases.error(
    "max_pool2d mask nhwc",
    lambda p: p.nn.functional.max_pool2d(
        p.ones([1, 4, 4, 1]), 2, return_mask=True, data_format="NHWC"
    ),
)
cases.error(
    "max_pool2d mask uneven",
    lambda p: p.nn.functional.max_pool2d(
        p.ones([1, 1, 4, 4]), 2, 2, [1, 0, 0, 1], return_mask=True
    ),
)
cases.error(
    "avg_pool2d padding name",
    lambda p: p.nn.functional.avg_pool2d(p.ones([1, 1, 4, 4]), 2, padding="FULL"),
)
cases.error(
    "avg_pool2d valid ceil",
    lambda p: p.nn.functional.avg_pool2d(p.ones([1, 1, 4, 4]), 2, padding="VALID", ceil_mode=True),
)
cases.error("avg_pool2d zero kernel", lambda p: p.nn.functional.avg_pool2d(p.ones([1, 1, 4, 4]), 0))
cases.error("avg_pool1d rank", lambda p: p.nn.functional.avg_pool1d(p.ones([1, 4, 4, 1]), 2))
cases.error("avg_pool2d rank", lambda p: p.nn.functional.avg_pool2d(p.ones([4, 4]), 2))
cases.error(
    "avg_pool2d kernel length",
    lambda p: p.nn.functional.avg_pool2d(p.ones([1, 1, 4, 4]), [2, 2, 2]),
)
cases.error("lp_pool2d zero", lambda p: p.nn.functional.lp_pool2d(p.ones([1, 1, 4, 4]), 0, 2))
cases.error(
    "adaptive_max_pool2d rank", lambda p: p.nn.functional.adaptive_max_pool2d(p.ones([1, 4, 4]), 2)
)
cases.error(
    "fractional range",
    lambda p: p.nn.functional.fractional_max_pool2d(p.ones([1, 1, 4, 4]), 2, random_u=1.5),
)
cases.error(
    "max_unpool2d output_size range",
    lambda p: p.nn.functional.max_unpool2d(
        p.ones([1, 1, 2, 2]), p.zeros([1, 1, 2, 2], "int32"), 2, output_size=[9, 9]
    ),
)
