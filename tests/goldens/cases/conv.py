"""Convolutions: functions, layers, paddings, layouts, gradients of weights."""

from goldens.harness import Cases

cases = Cases("conv")

# Sums over windows are added in another order than Paddle's.
RTOL = 1e-5


def conv(name, call, x, w, bias=None, **kwargs):
    """One function on an input, a weight and perhaps a bias of these shapes."""
    shapes = (x, w) if bias is None else (x, w, bias)
    cases.op(
        name,
        lambda paddle, x, w, b=None: getattr(paddle.nn.functional, call)(x, w, b, **kwargs),
        lambda d: tuple(d.normal(*shape) for shape in shapes),
        rtol=RTOL,
    )


X2, W2 = (2, 4, 7, 6), (6, 4, 3, 3)

conv("conv2d", "conv2d", X2, W2)
conv("conv2d bias", "conv2d", X2, W2, (6,))
conv("conv2d stride", "conv2d", X2, W2, (6,), stride=2)
conv("conv2d stride list", "conv2d", X2, W2, (6,), stride=[2, 1])
conv("conv2d padding", "conv2d", X2, W2, (6,), padding=1)
conv("conv2d padding list", "conv2d", X2, W2, padding=[2, 0])
conv("conv2d padding tuple", "conv2d", X2, W2, padding=(1, 2))
conv("conv2d padding four", "conv2d", X2, W2, (6,), padding=[0, 1, 2, 1])
conv("conv2d padding four equal", "conv2d", X2, W2, padding=[1, 1, 2, 2])
conv("conv2d padding pairs", "conv2d", X2, W2, padding=[[0, 0], [0, 0], [1, 2], [0, 1]])
conv("conv2d same", "conv2d", X2, W2, (6,), padding="SAME")
conv("conv2d same lower case", "conv2d", X2, W2, padding="same")
conv("conv2d same stride", "conv2d", X2, W2, (6,), padding="SAME", stride=2)
conv("conv2d same even window", "conv2d", X2, (6, 4, 2, 4), padding="SAME", stride=[1, 2])
conv("conv2d same drops dilation", "conv2d", X2, W2, padding="SAME", dilation=2)
conv("conv2d valid", "conv2d", X2, W2, padding="VALID")
conv("conv2d dilation", "conv2d", X2, W2, padding=2, dilation=2)
conv("conv2d dilation list", "conv2d", X2, W2, padding=2, dilation=[2, 1])
conv("conv2d groups", "conv2d", X2, (6, 2, 3, 3), (6,), groups=2)
conv("conv2d depthwise", "conv2d", X2, (8, 1, 3, 3), (8,), groups=4, padding=1)
conv("conv2d nhwc", "conv2d", (2, 7, 6, 4), W2, (6,), data_format="NHWC", padding=1)
conv(
    "conv2d nhwc pairs",
    "conv2d",
    (2, 7, 6, 4),
    W2,
    data_format="NHWC",
    padding=[[0, 0], [1, 0], [0, 2], [0, 0]],
)
conv(
    "conv2d nhwc same",
    "conv2d",
    (2, 7, 6, 4),
    W2,
    (6,),
    data_format="NHWC",
    padding="SAME",
    stride=2,
)
conv("conv2d 1x1", "conv2d", X2, (3, 4, 1, 1), (3,))
conv("conv1d", "conv1d", (2, 3, 9), (4, 3, 3), (4,))
conv("conv1d padding pair", "conv1d", (2, 3, 9), (4, 3, 3), padding=[2, 1])
conv("conv1d same", "conv1d", (2, 3, 9), (4, 3, 4), padding="SAME", stride=2)
conv("conv1d groups dilation", "conv1d", (2, 4, 9), (4, 2, 3), (4,), groups=2, dilation=2, stride=2)
conv("conv1d nlc", "conv1d", (2, 9, 3), (4, 3, 3), (4,), data_format="NLC", padding=1)
conv("conv3d", "conv3d", (1, 2, 5, 4, 4), (3, 2, 3, 2, 2), (3,))
conv(
    "conv3d padding stride", "conv3d", (1, 2, 5, 4, 4), (3, 2, 3, 2, 2), padding=[1, 0, 2], stride=2
)
conv("conv3d six paddings", "conv3d", (1, 2, 5, 4, 4), (3, 2, 3, 2, 2), padding=[1, 0, 0, 1, 2, 0])
conv(
    "conv3d ndhwc same",
    "conv3d",
    (1, 5, 4, 4, 2),
    (3, 2, 3, 2, 2),
    (3,),
    data_format="NDHWC",
    padding="SAME",
)

T2 = (4, 3, 3, 3)

conv("conv2d_transpose", "conv2d_transpose", (2, 4, 4, 3), T2, (3,))
conv("conv2d_transpose stride", "conv2d_transpose", (2, 4, 4, 3), T2, (3,), stride=2)
conv("conv2d_transpose padding", "conv2d_transpose", (2, 4, 4, 3), T2, stride=2, padding=1)
conv(
    "conv2d_transpose four paddings",
    "conv2d_transpose",
    (2, 4, 4, 3),
    T2,
    (3,),
    stride=2,
    padding=[0, 1, 2, 1],
)
conv(
    "conv2d_transpose output_padding",
    "conv2d_transpose",
    (2, 4, 4, 3),
    T2,
    stride=2,
    padding=1,
    output_padding=1,
)
conv(
    "conv2d_transpose output_padding list",
    "conv2d_transpose",
    (1, 4, 4, 3),
    T2,
    stride=3,
    output_padding=[2, 1],
)
conv(
    "conv2d_transpose output_size",
    "conv2d_transpose",
    (2, 4, 4, 3),
    T2,
    (3,),
    stride=2,
    output_size=[10, 7],
)
conv(
    "conv2d_transpose output_size int",
    "conv2d_transpose",
    (1, 4, 4, 4),
    T2,
    stride=2,
    output_size=10,
)
conv("conv2d_transpose same", "conv2d_transpose", (2, 4, 4, 3), T2, (3,), stride=2, padding="SAME")
conv("conv2d_transpose dilation", "conv2d_transpose", (2, 4, 4, 3), T2, dilation=2, padding=1)
conv("conv2d_transpose groups", "conv2d_transpose", (2, 4, 4, 3), (4, 2, 3, 3), (4,), groups=2)
conv(
    "conv2d_transpose depthwise",
    "conv2d_transpose",
    (2, 4, 4, 3),
    (4, 1, 3, 3),
    (4,),
    groups=4,
    stride=2,
)
conv(
    "conv2d_transpose nhwc",
    "conv2d_transpose",
    (2, 4, 3, 4),
    T2,
    (3,),
    stride=2,
    data_format="NHWC",
)
conv("conv1d_transpose", "conv1d_transpose", (2, 3, 5), (3, 4, 3), (4,), stride=2, padding=1)
conv(
    "conv1d_transpose output_size",
    "conv1d_transpose",
    (2, 3, 5),
    (3, 4, 3),
    stride=2,
    output_size=12,
)
conv(
    "conv1d_transpose output_padding",
    "conv1d_transpose",
    (2, 3, 5),
    (3, 4, 3),
    stride=2,
    output_padding=1,
)
conv("conv1d_transpose nlc", "conv1d_transpose", (2, 5, 3), (3, 4, 3), (4,), data_format="NLC")
conv(
    "conv3d_transpose",
    "conv3d_transpose",
    (1, 2, 3, 3, 2),
    (2, 3, 2, 2, 2),
    (3,),
    stride=2,
    padding=1,
)
conv(
    "conv3d_transpose output_size",
    "conv3d_transpose",
    (1, 2, 3, 3, 2),
    (2, 3, 2, 2, 2),
    stride=2,
    output_size=[7, 6, 5],
)

cases.op(
    "conv2d float64",
    lambda paddle, x, w: paddle.nn.functional.conv2d(x, w, padding=1),
    lambda d: (d.normal(1, 2, 4, 4, dtype="float64"), d.normal(2, 2, 3, 3, dtype="float64")),
    rtol=1e-10,
)


def layer(name, make, shape, *call_args):
    """Output, gradients of input and parameters of a layer with drawn parameters."""

    @cases.add(name, rtol=RTOL)
    def run(paddle, d):
        net = make(paddle)
        for _, p in sorted(net.named_parameters()):
            p.set_value(d.normal(*p.shape))
        x = paddle.to_tensor(d.normal(*shape), stop_gradient=False)
        y = net(x, *call_args)
        (y * y).sum().backward()
        grads = {n: p.grad for n, p in sorted(net.named_parameters())}
        return {"out": y, "x": x.grad, "grads": grads, "repr": repr(net)}


layer("Conv2D", lambda p: p.nn.Conv2D(2, 3, 3), (1, 2, 5, 5))
layer(
    "Conv2D options",
    lambda p: p.nn.Conv2D(4, 6, (3, 2), stride=2, padding=[1, 0], dilation=2, groups=2),
    (1, 4, 7, 7),
)
layer("Conv2D no bias", lambda p: p.nn.Conv2D(2, 3, 3, bias_attr=False), (1, 2, 5, 5))
layer("Conv2D bias False", lambda p: p.nn.Conv2D(2, 3, 3, bias=False), (1, 2, 5, 5))
layer("Conv2D same", lambda p: p.nn.Conv2D(2, 3, 4, padding="SAME"), (1, 2, 5, 5))
layer("Conv2D nhwc", lambda p: p.nn.Conv2D(2, 3, 3, padding=1, data_format="NHWC"), (1, 5, 5, 2))
layer("Conv2D depthwise", lambda p: p.nn.Conv2D(3, 3, 3, padding=1, groups=3), (2, 3, 4, 4))
for mode in ("reflect", "replicate", "circular"):
    layer(
        f"Conv2D {mode}",
        lambda p, m=mode: p.nn.Conv2D(2, 2, 3, padding=1, padding_mode=m),
        (1, 2, 4, 5),
    )
    layer(
        f"Conv1D {mode}",
        lambda p, m=mode: p.nn.Conv1D(2, 2, 3, padding=2, padding_mode=m),
        (1, 2, 6),
    )
layer("Conv1D", lambda p: p.nn.Conv1D(2, 3, 3, padding=1, stride=2), (2, 2, 7))
layer("Conv3D", lambda p: p.nn.Conv3D(2, 2, 2, padding=1), (1, 2, 3, 3, 3))
layer(
    "Conv1DTranspose",
    lambda p: p.nn.Conv1DTranspose(2, 3, 3, stride=2, output_padding=1),
    (2, 2, 4),
)
layer(
    "Conv2DTranspose",
    lambda p: p.nn.Conv2DTranspose(2, 3, 3, stride=2, padding=1, output_padding=1),
    (1, 2, 4, 4),
)
layer(
    "Conv2DTranspose output_size",
    lambda p: p.nn.Conv2DTranspose(2, 3, 3, stride=2, padding=1),
    (1, 2, 4, 4),
    [8, 8],
)
layer("Conv2DTranspose groups", lambda p: p.nn.Conv2DTranspose(4, 4, 3, groups=2), (1, 4, 3, 3))
layer("Conv3DTranspose", lambda p: p.nn.Conv3DTranspose(2, 2, 2, stride=2), (1, 2, 2, 2, 2))


@cases.add("Conv2D names and shapes")
def _(paddle, d):
    with paddle.utils.unique_name.guard():
        nets = [
            paddle.nn.Conv2D(3, 4, 3),
            paddle.nn.Conv1D(3, 4, 3),
            paddle.nn.Conv2DTranspose(3, 4, 3),
            paddle.nn.Conv3D(3, 4, 3, groups=3 - 2),
        ]
        return [[p.name, list(p.shape)] for net in nets for p in net.parameters()]


cases.error(
    "conv2d rank", lambda p: p.nn.functional.conv2d(p.ones([3, 5, 5]), p.ones([2, 3, 3, 3]))
)
cases.error(
    "conv2d channels", lambda p: p.nn.functional.conv2d(p.ones([1, 2, 5, 5]), p.ones([2, 3, 3, 3]))
)
cases.error(
    "conv2d groups error",
    lambda p: p.nn.functional.conv2d(p.ones([1, 3, 5, 5]), p.ones([2, 3, 3, 3]), groups=2),
)
cases.error(
    "conv2d zero groups",
    lambda p: p.nn.functional.conv2d(p.ones([1, 3, 5, 5]), p.ones([2, 3, 3, 3]), groups=0),
)
cases.error(
    "conv2d padding name",
    lambda p: p.nn.functional.conv2d(p.ones([1, 3, 5, 5]), p.ones([2, 3, 3, 3]), padding="full"),
)
cases.error(
    "conv2d padding length",
    lambda p: p.nn.functional.conv2d(p.ones([1, 3, 5, 5]), p.ones([2, 3, 3, 3]), padding=[1, 2, 3]),
)
cases.error(
    "conv2d negative padding",
    lambda p: p.nn.functional.conv2d(p.ones([1, 3, 5, 5]), p.ones([2, 3, 3, 3]), padding=-1),
)
cases.error(
    "conv2d channel padding",
    lambda p: p.nn.functional.conv2d(
        p.ones([1, 3, 5, 5]), p.ones([2, 3, 3, 3]), padding=[[0, 0], [1, 0], [0, 0], [0, 0]]
    ),
)
cases.error(
    "conv2d layout",
    lambda p: p.nn.functional.conv2d(
        p.ones([1, 3, 5, 5]), p.ones([2, 3, 3, 3]), data_format="NCDHW"
    ),
)
cases.error(
    "conv2d stride length",
    lambda p: p.nn.functional.conv2d(p.ones([1, 3, 5, 5]), p.ones([2, 3, 3, 3]), stride=[1, 2, 3]),
)
cases.error(
    "conv2d dtype",
    lambda p: p.nn.functional.conv2d(p.ones([1, 3, 5, 5]), p.ones([2, 3, 3, 3], dtype="float64")),
)
cases.error(
    "conv2d_transpose output_size range",
    lambda p: p.nn.functional.conv2d_transpose(
        p.ones([1, 1, 5, 5]), p.ones([1, 1, 3, 3]), stride=2, output_size=[13, 13]
    ),
)
cases.error(
    "conv2d_transpose both",
    lambda p: p.nn.functional.conv2d_transpose(
        p.ones([1, 1, 5, 5]), p.ones([1, 1, 3, 3]), stride=2, output_size=[12, 12], output_padding=1
    ),
)
cases.error(
    "conv2d_transpose output_padding range",
    lambda p: p.nn.functional.conv2d_transpose(
        p.ones([1, 1, 5, 5]), p.ones([1, 1, 3, 3]), stride=2, output_padding=2
    ),
)
cases.error(
    "Conv2D padding_mode list",
    lambda p: p.nn.Conv2D(1, 1, 3, padding=[1, 1], padding_mode="reflect"),
)
cases.error(
    "Conv2D padding_mode name", lambda p: p.nn.Conv2D(1, 1, 3, padding=1, padding_mode="mirror")
)
cases.error("Conv2D indivisible", lambda p: p.nn.Conv2D(3, 4, 3, groups=2))
cases.error("Conv2D weight_attr", lambda p: p.nn.Conv2D(3, 4, 3, weight_attr=False))


# Differences of the steps before grow with each.
@cases.add("a small network trains", rtol=1e-4)
def _(paddle, d):
    nn = paddle.nn
    net = nn.Sequential(
        nn.Conv2D(2, 4, 3, padding=1, bias_attr=False),
        nn.BatchNorm2D(4),
        nn.ReLU(),
        nn.MaxPool2D(2),
        nn.Conv2D(4, 4, 3, padding="SAME", groups=2),
        nn.GroupNorm(2, 4),
        nn.AdaptiveAvgPool2D(2),
        nn.Flatten(),
        nn.LayerNorm(16),
        nn.Dropout(0.0),
        nn.Linear(16, 3),
    )
    for _, p in sorted(net.named_parameters()):
        if not p.stop_gradient:
            p.set_value(d.normal(*p.shape) * 0.5)
    x = paddle.to_tensor(d.normal(4, 2, 8, 8))
    losses = []
    for _ in range(4):
        loss = (net(x) ** 2).mean()
        loss.backward()
        losses.append(loss)
        for p in net.parameters():
            if not p.stop_gradient:
                p.set_value((p - 0.05 * p.grad).numpy())
                p.clear_grad()
    net.eval()
    return losses, net(x), dict(net.state_dict().items())
