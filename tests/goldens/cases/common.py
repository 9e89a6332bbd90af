"""Padding, resizing, sampling, windows as columns, embedding, dropout's deterministic part,
attention.
"""

import numpy as np

from goldens.harness import Cases

cases = Cases("common")

# Interpolation weights and products are rounded in another order than Paddle's.
RTOL = 1e-5


def op(name, fn, inputs, rtol=RTOL, **kwargs):
    cases.op(name, lambda paddle, *t: fn(paddle.nn.functional, *t), inputs, rtol=rtol, **kwargs)


# -- padding
# --------------------------------------------------------------------------------------------------


def pad(name, amounts, *args, shape=(2, 3, 4, 5), **kwargs):
    op(f"pad {name}", lambda F, x: F.pad(x, amounts, *args, **kwargs), lambda d: d.normal(*shape))


pad("spatial", [1, 2, 0, 3])
pad("value", [1, 2, 0, 3], value=2.5)
pad("tuple", (1, 2, 0, 3))
pad("nhwc", [1, 2, 0, 3], data_format="NHWC")
pad("negative", [-1, 2, 0, -1])
pad("last axis only", [1, 2])
pad("three axes", [1, 2, 0, 1, 2, 0])
pad("all axes", [1, 0, 0, 2, 1, 1, 0, 3])
pad("all axes from the right", [1, 0, 0, 2, 1, 1, 0, 3], pad_from_left_axis=False)
pad("3d", [1, 2], shape=(2, 3, 4))
pad("3d nlc", [1, 2], data_format="NLC", shape=(2, 3, 4))
pad("5d", [1, 0, 2, 1, 0, 1], shape=(1, 2, 2, 3, 2))
pad("5d ndhwc", [1, 0, 2, 1, 0, 1], data_format="NDHWC", shape=(1, 2, 3, 2, 2))
pad("2d", [1, 2], shape=(2, 3))
pad("2d all", [1, 2, 0, 1], shape=(2, 3))
pad("1d", [1, 2], shape=(3,))
for mode in ("reflect", "replicate", "circular"):
    pad(mode, [1, 2, 0, 3], mode)
    pad(f"{mode} nhwc", [1, 2, 0, 1], mode, data_format="NHWC")
    pad(f"{mode} 3d", [2, 1], mode, shape=(2, 3, 4))
    pad(f"{mode} 5d", [1, 0, 2, 1, 0, 1], mode, shape=(1, 2, 2, 3, 2))
pad("replicate wide", [6, 1, 0, 0], "replicate")
pad("circular wide", [5, 5, 0, 0], "circular")
op(
    "pad integers",
    lambda F, x: [F.pad(x, [1, 1, 1, 0], m) for m in ("constant", "reflect", "circular")],
    lambda d: d.integers(1, 2, 3, 3),
)
op(
    "pad by tensor",
    lambda F, x, p: F.pad(x, p),
    lambda d: (d.normal(1, 2, 3, 3), np.array([1, 2, 0, 1], "int32")),
)
op("zeropad2d", lambda F, x: F.zeropad2d(x, [1, 2, 0, 3]), lambda d: d.normal(2, 3, 4, 5))


@cases.add("padding layers")
def _(paddle, d):
    nn = paddle.nn
    inputs = [paddle.to_tensor(d.normal(*s)) for s in ((2, 3, 4), (2, 3, 4, 4), (1, 2, 4, 4, 4))]
    result = []
    for n, x in enumerate(inputs, 1):
        for kind in ("Zero", "Replication", "Reflection", "Circular"):
            net = getattr(nn, f"{kind}Pad{n}D")(2)
            result.append([repr(net), net(x)])
        constant = getattr(nn, f"ConstantPad{n}D")([1, 2] * n, 3.0)
        general = getattr(nn, f"Pad{n}D")(1, mode="reflect")
        result += [[repr(constant), constant(x)], [repr(general), general(x)]]
    return result


cases.error(
    "pad mode", lambda p: p.nn.functional.pad(p.ones([1, 1, 2, 2]), [1, 1, 1, 1], mode="mirror")
)
cases.error(
    "pad reflect too wide",
    lambda p: p.nn.functional.pad(p.ones([1, 1, 2, 2]), [2, 1, 1, 1], mode="reflect"),
)
cases.error(
    "pad reflect rank", lambda p: p.nn.functional.pad(p.ones([2, 2]), [1, 1], mode="reflect")
)
cases.error(
    "pad layout",
    lambda p: p.nn.functional.pad(p.ones([1, 1, 2, 2]), [1, 1, 1, 1], data_format="NCL"),
)
cases.error(
    "pad negative all axes",
    lambda p: p.nn.functional.pad(p.ones([1, 1, 2, 2]), [0, 0, 0, 0, -1, 0, 0, 0]),
)

# -- resizing
# --------------------------------------------------------------------------------------------------


def resize(name, shape=(2, 3, 4, 5), **kwargs):
    op(f"interpolate {name}", lambda F, x: F.interpolate(x, **kwargs), lambda d: d.normal(*shape))


resize("nearest", size=[7, 3])
resize("nearest scale", scale_factor=2)
resize("nearest fraction", scale_factor=1.7)
resize("nearest scale list", scale_factor=[2.5, 0.6])
resize("nearest 5d", (1, 2, 2, 3, 2), size=[3, 2, 5])
resize("nearest nhwc", size=[7, 3], data_format="NHWC")
for corners in (False, True):
    for align in (0, 1):
        resize(
            f"bilinear {corners} {align}",
            size=[7, 3],
            mode="bilinear",
            align_corners=corners,
            align_mode=align,
        )
        resize(
            f"bilinear scale {corners} {align}",
            scale_factor=1.7,
            mode="bilinear",
            align_corners=corners,
            align_mode=align,
        )
    resize(f"bicubic {corners}", size=[7, 3], mode="bicubic", align_corners=corners)
    resize(f"bicubic scale {corners}", scale_factor=[1.5, 2], mode="bicubic", align_corners=corners)
    resize(f"linear {corners}", (2, 3, 5), size=[8], mode="linear", align_corners=corners)
    resize(
        f"trilinear {corners}",
        (1, 2, 2, 3, 2),
        size=[3, 5, 4],
        mode="trilinear",
        align_corners=corners,
    )
resize("linear align_mode", (2, 3, 5), scale_factor=1.6, mode="linear", align_mode=1)
resize("trilinear align_mode", (1, 2, 2, 3, 2), size=[3, 5, 4], mode="trilinear", align_mode=1)
resize("bilinear nhwc", (2, 4, 5, 3), size=[7, 3], mode="bilinear", data_format="NHWC")
resize("linear nwc", (2, 5, 3), size=[8], mode="linear", data_format="NWC")
resize("bilinear to one", size=[1, 1], mode="bilinear", align_corners=True)
resize("area", size=[2, 3], mode="area")
resize("area 3d", (2, 3, 5), size=[2], mode="area")
resize("recompute", scale_factor=1.7, mode="bilinear", recompute_scale_factor=True)
resize("antialias bilinear", (1, 2, 7, 6), size=[3, 4], mode="bilinear", antialias=True)
resize("antialias bicubic", (1, 2, 7, 6), size=[3, 4], mode="bicubic", antialias=True)
op(
    "interpolate by tensor",
    lambda F, x, s: F.interpolate(x, size=s),
    lambda d: (d.normal(1, 2, 3, 3), np.array([5, 4], "int32")),
)
op(
    "upsample",
    lambda F, x: F.upsample(x, scale_factor=2, mode="bilinear"),
    lambda d: d.normal(1, 2, 3, 3),
)


@cases.add("resizing layers", rtol=RTOL)
def _(paddle, d):
    nn = paddle.nn
    x = paddle.to_tensor(d.normal(1, 2, 3, 4))
    nets = [
        nn.Upsample(size=[6, 5], mode="bilinear", data_format="NCHW"),
        nn.Upsample(scale_factor=2, mode="BICUBIC", align_corners=True, data_format="NCHW"),
        nn.UpsamplingNearest2D(size=6),
        nn.UpsamplingBilinear2D(scale_factor=2),
    ]
    return [[repr(net), net(x)] for net in nets]


cases.error("interpolate neither", lambda p: p.nn.functional.interpolate(p.ones([1, 1, 2, 2])))
cases.error(
    "interpolate both", lambda p: p.nn.functional.interpolate(p.ones([1, 1, 2, 2]), [3, 3], 2)
)
cases.error(
    "interpolate mode",
    lambda p: p.nn.functional.interpolate(p.ones([1, 1, 2, 2]), [3, 3], mode="cubic"),
)
cases.error(
    "interpolate rank",
    lambda p: p.nn.functional.interpolate(p.ones([1, 2, 2]), [3], mode="nearest"),
)
cases.error(
    "interpolate size length", lambda p: p.nn.functional.interpolate(p.ones([1, 1, 2, 2]), [3])
)
cases.error(
    "interpolate nearest corners",
    lambda p: p.nn.functional.interpolate(p.ones([1, 1, 2, 2]), [3, 3], align_corners=True),
)
cases.error(
    "interpolate align_mode",
    lambda p: p.nn.functional.interpolate(p.ones([1, 1, 2, 2]), [3, 3], align_mode=2),
)
cases.error(
    "interpolate zero scale",
    lambda p: p.nn.functional.interpolate(p.ones([1, 1, 2, 2]), scale_factor=0),
)
cases.error(
    "interpolate layout",
    lambda p: p.nn.functional.interpolate(p.ones([1, 1, 2, 2]), [3, 3], data_format="NCW"),
)
cases.error(
    "interpolate antialias",
    lambda p: p.nn.functional.interpolate(p.ones([1, 1, 2, 2]), [3, 3], antialias=True),
)

# -- images
# --------------------------------------------------------------------------------------------------


def _grid(d, *shape):
    return d.uniform(*shape, low=-1.3, high=1.3)


for mode in ("bilinear", "nearest"):
    for border in ("zeros", "border", "reflection"):
        for corners in (True, False):
            op(
                f"grid_sample {mode} {border} {corners}",
                lambda F, x, g, m=mode, b=border, c=corners: F.grid_sample(x, g, m, b, c),
                lambda d: (d.normal(2, 2, 4, 5), _grid(d, 2, 3, 3, 2)),
                grad=mode == "bilinear",
            )
op(
    "grid_sample 5d",
    lambda F, x, g: F.grid_sample(x, g),
    lambda d: (d.normal(1, 2, 3, 4, 3), _grid(d, 1, 2, 2, 3, 3)),
)
op("affine_grid", lambda F, t: F.affine_grid(t, [2, 3, 4, 5]), lambda d: d.normal(2, 2, 3))
op(
    "affine_grid centres",
    lambda F, t: F.affine_grid(t, [2, 3, 4, 5], align_corners=False),
    lambda d: d.normal(2, 2, 3),
)
op("affine_grid 5d", lambda F, t: F.affine_grid(t, [1, 3, 2, 4, 3]), lambda d: d.normal(1, 3, 4))
op("pixel_shuffle", lambda F, x: F.pixel_shuffle(x, 2), lambda d: d.normal(2, 8, 2, 3))
op("pixel_shuffle nhwc", lambda F, x: F.pixel_shuffle(x, 2, "NHWC"), lambda d: d.normal(2, 2, 3, 8))
op("pixel_unshuffle", lambda F, x: F.pixel_unshuffle(x, 2), lambda d: d.normal(2, 2, 4, 6))
op(
    "pixel_unshuffle nhwc",
    lambda F, x: F.pixel_unshuffle(x, 2, "NHWC"),
    lambda d: d.normal(2, 4, 6, 2),
)
op("channel_shuffle", lambda F, x: F.channel_shuffle(x, 3), lambda d: d.normal(2, 6, 2, 2))
op(
    "channel_shuffle nhwc",
    lambda F, x: F.channel_shuffle(x, 3, "NHWC"),
    lambda d: d.normal(2, 2, 2, 6),
)
op("temporal_shift", lambda F, x: F.temporal_shift(x, 3, 0.25), lambda d: d.normal(6, 8, 2, 2))
op("temporal_shift ratio", lambda F, x: F.temporal_shift(x, 2, 0.4), lambda d: d.normal(4, 5, 2, 2))
op(
    "temporal_shift nhwc",
    lambda F, x: F.temporal_shift(x, 3, data_format="NHWC"),
    lambda d: d.normal(6, 2, 2, 8),
)
op("unfold", lambda F, x: F.unfold(x, 2), lambda d: d.normal(2, 2, 4, 5))
op(
    "unfold options",
    lambda F, x: F.unfold(x, [2, 3], [1, 2], [1, 0], [2, 1]),
    lambda d: d.normal(2, 2, 5, 5),
)
op(
    "unfold four paddings",
    lambda F, x: F.unfold(x, 2, paddings=[1, 0, 2, 1]),
    lambda d: d.normal(1, 2, 4, 4),
)
op("fold", lambda F, x: F.fold(x, [4, 5], 2), lambda d: d.normal(2, 8, 12))
op(
    "fold options",
    lambda F, x: F.fold(x, [5, 5], [2, 3], [1, 2], [1, 0], [2, 1]),
    lambda d: d.normal(2, 12, 10),
)
op(
    "fold four paddings",
    lambda F, x: F.fold(x, [4, 4], 2, paddings=[1, 0, 1, 0]),
    lambda d: d.normal(1, 8, 15),
)


@cases.add("image layers")
def _(paddle, d):
    nn = paddle.nn
    x = paddle.to_tensor(d.normal(1, 4, 4, 4))
    nets = [nn.PixelShuffle(2), nn.PixelUnshuffle(2), nn.ChannelShuffle(2), nn.Unfold(2, strides=2)]
    columns = nn.Unfold(2, strides=2)(x)
    fold = nn.Fold([4, 4], 2, strides=2)
    return [[repr(net), net(x)] for net in nets], repr(fold), fold(columns)


cases.error(
    "pixel_shuffle channels", lambda p: p.nn.functional.pixel_shuffle(p.ones([1, 3, 2, 2]), 2)
)
cases.error(
    "pixel_shuffle type", lambda p: p.nn.functional.pixel_shuffle(p.ones([1, 4, 2, 2]), 2.0)
)
cases.error("pixel_unshuffle rank", lambda p: p.nn.functional.pixel_unshuffle(p.ones([4, 2, 2]), 2))
cases.error(
    "channel_shuffle positive", lambda p: p.nn.functional.channel_shuffle(p.ones([1, 4, 2, 2]), 0)
)
cases.error("unfold rank", lambda p: p.nn.functional.unfold(p.ones([4, 2, 2]), 2))
cases.error(
    "fold paddings", lambda p: p.nn.functional.fold(p.ones([1, 4, 4]), 4, 2, paddings=[1, 2, 3])
)

# -- ids
# --------------------------------------------------------------------------------------------------


def look_up(name, ids=(2, 3), **kwargs):
    @cases.add(f"embedding {name}")
    def run(paddle, d):
        weight = paddle.to_tensor(d.normal(5, 2), stop_gradient=False)
        out = paddle.nn.functional.embedding(
            paddle.to_tensor(d.integers(*ids, high=5)), weight, **kwargs
        )
        (out * out).sum().backward()
        return out, weight.grad, weight


look_up("plain")
look_up("one id", ids=())
look_up("no ids", ids=(0,))
look_up("padding", padding_idx=2)
look_up("negative padding", padding_idx=-1)
look_up("by frequency", scale_grad_by_freq=True)


@cases.add("embedding int32")
def _(paddle, d):
    return paddle.nn.functional.embedding(
        paddle.to_tensor(d.integers(3, high=5, dtype="int32")), paddle.to_tensor(d.normal(5, 2))
    )


@cases.add("embedding max_norm")
def _(paddle, d):
    weight = paddle.to_tensor(d.normal(5, 3) * 2)
    out = paddle.nn.functional.embedding(
        paddle.to_tensor(np.array([0, 3, 0])), weight, max_norm=1.0, norm_type=2.0
    )
    return out, weight


@cases.add("embedding sparse")
def _(paddle, d):
    net = paddle.nn.Embedding(6, 2, sparse=True)
    net.weight.set_value(d.normal(6, 2))
    out = net(paddle.to_tensor(np.array([[1, 3], [3, 0]])))
    (out * out).sum().backward()
    values, rows = net.weight.gradient()
    dense = np.zeros([6, 2], "float32")
    np.add.at(dense, rows, values)
    return out, dense, str(net.weight.grad.is_selected_rows()), repr(net)


@cases.add("Embedding layer")
def _(paddle, d):
    with paddle.utils.unique_name.guard():
        net = paddle.nn.Embedding(6, 2, padding_idx=-2)
    start = net.weight[4]
    net.weight.set_value(d.normal(6, 2))
    out = net(paddle.to_tensor(np.array([[1, 4], [3, 0]])))
    (out * out).sum().backward()
    return (
        start,
        out,
        net.weight.grad,
        repr(net),
        net.weight.name,
        str(net.weight.grad.is_selected_rows()),
    )


op("one_hot", lambda F, x: F.one_hot(x, 4), lambda d: d.integers(2, 3, high=4))
op("one_hot int32", lambda F, x: F.one_hot(x, 4), lambda d: d.integers(3, high=4, dtype="int32"))
op("one_hot number", lambda F, x: F.one_hot(x, 4), lambda d: np.array(2))
op("one_hot width", lambda F, x: F.one_hot(x), lambda d: np.array([0, 2, 1]))
op("sequence_mask", lambda F, x: F.sequence_mask(x), lambda d: d.integers(2, 3, low=1, high=5))
op(
    "sequence_mask maxlen",
    lambda F, x: F.sequence_mask(x, maxlen=6, dtype="float32"),
    lambda d: d.integers(3, high=5),
)
op(
    "sequence_mask bool",
    lambda F, x: F.sequence_mask(x, 3, "bool"),
    lambda d: d.integers(3, high=5, dtype="int32"),
)
op(
    "gather_tree",
    lambda F, i, p: F.gather_tree(i, p),
    lambda d: (d.integers(3, 2, 2), d.integers(3, 2, 2, high=2)),
)
op(
    "label_smooth",
    lambda F, x: F.label_smooth(x, epsilon=0.2),
    lambda d: np.eye(3, 4, dtype="float32"),
)
op(
    "label_smooth prior",
    lambda F, x, p: F.label_smooth(x, p, 0.3),
    lambda d: (np.eye(3, 4, dtype="float32"), d.uniform(1, 4)),
    grad=False,
)
cases.error(
    "embedding range", lambda p: p.nn.functional.embedding(p.to_tensor([5]), p.ones([3, 2]))
)
cases.error(
    "embedding padding range",
    lambda p: p.nn.functional.embedding(p.to_tensor([1]), p.ones([3, 2]), padding_idx=3),
)
cases.error("Embedding size", lambda p: p.nn.Embedding(0, 3))
cases.error("Embedding padding range", lambda p: p.nn.Embedding(3, 3, padding_idx=3))
cases.error("one_hot range", lambda p: p.nn.functional.one_hot(p.to_tensor([5]), 3))
cases.error(
    "label_smooth epsilon", lambda p: p.nn.functional.label_smooth(p.ones([2, 3]), epsilon=1.5)
)

# -- linear maps, similarity, attention
# ------------------------------------------------------------------------------

op(
    "linear",
    lambda F, x, w, b: F.linear(x, w, b),
    lambda d: (d.normal(2, 3, 4), d.normal(4, 5), d.normal(5)),
)
op(
    "bilinear",
    lambda F, x, y, w, b: F.bilinear(x, y, w, b),
    lambda d: (d.normal(2, 3), d.normal(2, 4), d.normal(5, 3, 4), d.normal(1, 5)),
)
op(
    "bilinear no bias",
    lambda F, x, y, w: F.bilinear(x, y, w),
    lambda d: (d.normal(2, 3), d.normal(2, 4), d.normal(5, 3, 4)),
)
op(
    "cosine_similarity",
    lambda F, x, y: F.cosine_similarity(x, y),
    lambda d: (d.normal(3, 4), d.normal(3, 4)),
)
op(
    "cosine_similarity axis",
    lambda F, x, y: F.cosine_similarity(x, y, axis=-1),
    lambda d: (d.normal(2, 3, 4), d.normal(2, 3, 4)),
)
op(
    "cosine_similarity broadcast",
    lambda F, x, y: F.cosine_similarity(x, y),
    lambda d: (d.normal(3, 4), d.normal(1, 4)),
)
op(
    "cosine_similarity one repeated",
    lambda F, x, y: F.cosine_similarity(x, y, axis=0),
    lambda d: (d.normal(3, 4), d.normal(1, 4)),
    grad=False,
)
op(
    "cosine_similarity zero",
    lambda F, x, y: F.cosine_similarity(x, y),
    lambda d: (np.zeros([2, 3], "float32"), d.normal(2, 3)),
    grad=False,
)


@cases.add("Bilinear and CosineSimilarity layers", rtol=RTOL)
def _(paddle, d):
    net = paddle.nn.Bilinear(3, 4, 5)
    net.weight.set_value(d.normal(5, 3, 4))
    x, y = paddle.to_tensor(d.normal(2, 3)), paddle.to_tensor(d.normal(2, 4))
    cosine = paddle.nn.CosineSimilarity(axis=0)
    return net(x, y), repr(net), list(net.bias.shape), cosine(x, x * 2), repr(cosine)


@cases.add("reshaping layers")
def _(paddle, d):
    nn = paddle.nn
    x = paddle.to_tensor(d.normal(2, 3, 4))
    return (
        nn.Flatten()(x),
        nn.Flatten(0, 1)(x),
        nn.Unflatten(2, [2, 2])(x),
        repr(nn.Unflatten(2, [2, 2])),
        nn.Identity(3)(x),
    )


def attend(name, q=(2, 3, 2, 4), k=(2, 5, 2, 4), mask=None, **kwargs):
    op(
        f"attention {name}",
        lambda F, q, k, v, m=None: F.scaled_dot_product_attention(q, k, v, m, **kwargs),
        lambda d: (d.normal(*q), d.normal(*k), d.normal(*k), *([] if mask is None else [mask(d)])),
    )


attend("plain")
attend("causal", k=(2, 3, 2, 4), is_causal=True)
attend("causal longer keys", is_causal=True)
attend("mask", mask=lambda d: d.normal(2, 2, 3, 5))
attend("bool mask", mask=lambda d: np.tril(np.ones([2, 1, 3, 5], "bool"), 1))
attend("grouped heads", q=(1, 3, 4, 4), k=(1, 3, 2, 4))
attend("scale", scale=0.3)
attend("eval", dropout_p=0.5, training=False)
op(
    "flash_attention",
    lambda F, q, k, v: F.flash_attention.flash_attention(q, k, v, causal=True)[0],
    lambda d: (d.normal(2, 3, 2, 4), d.normal(2, 3, 2, 4), d.normal(2, 3, 2, 4)),
)
op(
    "flash_attention softmax",
    lambda F, q, k, v: F.flash_attention.flash_attention(q, k, v, causal=True, return_softmax=True),
    lambda d: (d.normal(2, 3, 2, 4), d.normal(2, 3, 2, 4), d.normal(2, 3, 2, 4)),
)

# -- dropout
# --------------------------------------------------------------------------------------------------

op("dropout off", lambda F, x: F.dropout(x, 0.3, training=False), lambda d: d.normal(3, 4))
op(
    "dropout downscale off",
    lambda F, x: F.dropout(x, 0.3, training=False, mode="downscale_in_infer"),
    lambda d: d.normal(3, 4),
)
op(
    "dropout downscale axis off",
    lambda F, x: F.dropout(x, 0.3, 0, False, mode="downscale_in_infer"),
    lambda d: d.normal(3, 4),
)
op("dropout none", lambda F, x: F.dropout(x, 0), lambda d: d.normal(3, 4))
op("dropout all", lambda F, x: F.dropout(x, 1.0), lambda d: d.normal(3, 4))
op("dropout all of an axis", lambda F, x: F.dropout(x, 1.0, axis=[0]), lambda d: d.normal(3, 4))
op(
    "dropout2d off",
    lambda F, x: F.dropout2d(x, 0.3, training=False),
    lambda d: d.normal(1, 2, 2, 2),
)
op(
    "alpha_dropout off",
    lambda F, x: F.alpha_dropout(x, 0.3, training=False),
    lambda d: d.normal(3, 4),
)
op("alpha_dropout all", lambda F, x: F.alpha_dropout(x, 1.0), lambda d: d.normal(3, 4))


@cases.add("dropout layers print")
def _(paddle, d):
    nn = paddle.nn
    nets = [
        nn.Dropout(0.2),
        nn.Dropout(axis=[0], mode="downscale_in_infer"),
        nn.Dropout2D(),
        nn.Dropout3D(0.1),
    ]
    return [
        repr(net)
        for net in [
            *nets,
            nn.AlphaDropout(),
            nn.FeatureAlphaDropout(0.2),
            nn.Identity(),
            nn.Linear(2, 3),
        ]
    ]


cases.error("dropout range", lambda p: p.nn.functional.dropout(p.ones([3]), 1.5))
cases.error("dropout type", lambda p: p.nn.functional.dropout(p.ones([3]), "0.5"))
cases.error("dropout mode", lambda p: p.nn.functional.dropout(p.ones([3]), mode="scale"))
cases.error("dropout axis range", lambda p: p.nn.functional.dropout(p.ones([3, 2]), axis=2))
cases.error("dropout2d rank", lambda p: p.nn.functional.dropout2d(p.ones([3, 2])))
cases.error(
    "dropout3d layout",
    lambda p: p.nn.functional.dropout3d(p.ones([1, 2, 2, 2, 2]), data_format="NCHW"),
)
cases.error("alpha_dropout type", lambda p: p.nn.functional.alpha_dropout(p.ones([3]), "0.5"))
