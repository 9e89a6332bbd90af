"""``paddle.vision.ops``: bent convolutions, regions, boxes, proposals, YOLO."""

import numpy as np

from goldens.harness import Cases

cases = Cases("detection")

# Sums in another order than Paddle's.
RTOL = 1e-5


def ops(paddle):
    return paddle.vision.ops


def boxes_in(d, n, size=12.0, low=0.5, high=6.0):
    """Boxes inside of a square, and some that reach out."""
    start = d.uniform(n, 2, low=-1.0, high=size - 4)
    return np.concatenate([start, start + d.uniform(n, 2, low=low, high=high)], 1)


# Deformable convolution.


def deform(name, out_size, shape=(2, 4, 6, 5), kernel=(3, 3), filters=4, with_mask=False, **kw):
    groups, deformable = kw.get("groups", 1), kw.get("deformable_groups", 1)
    points = kernel[0] * kernel[1]

    def inputs(d):
        arrays = [
            d.normal(*shape),
            # no whole numbers: there the gradient has two sides
            d.uniform(shape[0], 2 * deformable * points, *out_size, low=-2.5, high=2.5),
            d.normal(filters, shape[1] // groups, *kernel),
            d.normal(filters),
        ]
        if with_mask:
            arrays.append(d.uniform(shape[0], deformable * points, *out_size))
        return tuple(arrays)

    def run(paddle, x, offset, weight, bias, mask=None):
        return ops(paddle).deform_conv2d(x, offset, weight, bias, mask=mask, **kw)

    cases.op(f"deform_conv2d {name}", run, inputs, rtol=RTOL)


deform("plain", (4, 3))
deform("mask", (4, 3), with_mask=True)
deform("stride", (3, 3), stride=2, padding=1, with_mask=True)
deform("sides", (4, 2), stride=[1, 2], padding=[1, 0], dilation=[2, 1])
deform("groups", (4, 3), groups=2, with_mask=True)
deform("deformable groups", (4, 3), deformable_groups=2, with_mask=True)
deform("one pixel", (1, 1), shape=(1, 2, 1, 1), kernel=(1, 1), filters=2)


@cases.add("DeformConv2D", rtol=RTOL)
def _(paddle, d):
    layer = ops(paddle).DeformConv2D(3, 4, [3, 2], padding=1)
    shapes = {key: list(value.shape) for key, value in layer.state_dict().items()}
    for value in layer.parameters():
        value.set_value(d.normal(*value.shape))
    x, offset = d.normal(1, 3, 5, 5), np.zeros((1, 12, 5, 6), "float32")
    out = layer(paddle.to_tensor(x), paddle.to_tensor(offset))
    return {"out": out, "weight": shapes["weight"], "bias": shapes["bias"]}


cases.error("error DeformConv2D groups", lambda p: ops(p).DeformConv2D(3, 4, 3, groups=2))
cases.error("error DeformConv2D weight", lambda p: ops(p).DeformConv2D(3, 4, 3, weight_attr=False))

# Regions.


def region(name, call, *args, channels=3, counts=(3, 2), low=2.2, grad=True, **kw):
    def inputs(d):
        boxes = boxes_in(d, sum(counts), low=low)
        return d.normal(len(counts), channels, 12, 10), boxes

    def run(paddle, x, boxes):
        count = paddle.to_tensor(np.array(counts, "int32"))
        return getattr(ops(paddle), call)(x, boxes, count, *args, **kw)

    cases.op(f"{call} {name}", run, inputs, rtol=RTOL, grad=grad)


region("plain", "roi_align", 3)
# Paddle's gradient on the CPU takes regions to be at least one pixel wide, its result does not.
region("small", "roi_align", 3, 0.5, low=0.5, grad=False)
region("sizes", "roi_align", [2, 4], 0.5)
region("ratio", "roi_align", 3, sampling_ratio=2)
region("not aligned", "roi_align", 3, 0.7, aligned=False)
region("none of an image", "roi_align", 2, counts=(0, 4))
region("plain", "roi_pool", 3, low=0.5)
region("sizes", "roi_pool", (2, 4), 0.5)
region("none of an image", "roi_pool", 2, counts=(0, 4))
region("plain", "psroi_pool", 3, channels=18, low=0.5)
region("sizes", "psroi_pool", (2, 3), 0.5, channels=12)


@cases.add("layers of regions", rtol=RTOL)
def _(paddle, d):
    x, count = paddle.to_tensor(d.normal(1, 8, 9, 9)), paddle.to_tensor(np.array([3], "int32"))
    boxes = paddle.to_tensor(boxes_in(d, 3, 9.0))
    kinds = (ops(paddle).RoIAlign, ops(paddle).RoIPool, ops(paddle).PSRoIPool)
    return [kind(2, 0.9)(x, boxes, count) for kind in kinds]


def _call(paddle, name, *args, **kw):
    x = paddle.ones([1, 4, 6, 6])
    boxes = paddle.to_tensor(np.array([[0.0, 0.0, 3.0, 3.0]], "float32"))
    count = paddle.to_tensor(np.array([1], "int32"))
    return getattr(ops(paddle), name)(x, boxes, count, *args, **kw)


cases.error("error roi_pool size", lambda p: _call(p, "roi_pool", 2.0))
cases.error("error psroi_pool size", lambda p: _call(p, "psroi_pool", (0, 2)))
cases.error(
    "error roi_align count",
    lambda p: ops(p).roi_align(p.ones([1, 1, 2, 2]), p.ones([1, 4]), None, 2),
)

# Which boxes stay.


def stay(name, *args, use=(), n=24, **kw):
    def inputs(d):
        return boxes_in(d, n), d.distinct(n), d.integers(n, low=0, high=4)

    def run(paddle, boxes, scores, kinds):
        given = {"scores": scores, "category_idxs": kinds}
        return ops(paddle).nms(boxes, *args, **{key: given[key] for key in use}, **kw)

    cases.op(f"nms {name}", run, inputs, grad=False)


stay("plain")
stay("threshold", 0.1)
stay("scores", 0.2, use=("scores",))
stay("scores and top_k", 0.2, use=("scores",), top_k=2)
stay("categories", 0.2, use=("scores", "category_idxs"), categories=[0, 1, 2, 3])
stay("some categories", 0.2, use=("scores", "category_idxs"), categories=[1, 3])
stay("top_k", 0.2, use=("scores", "category_idxs"), categories=[0, 1, 2, 3], top_k=4)


def matrix(name, *args, **kw):
    def inputs(d):
        scores = d.distinct(2, 3, 16) / 24.0 + 0.5
        return np.stack([boxes_in(d, 16), boxes_in(d, 16)]), scores

    def run(paddle, boxes, scores):
        found = ops(paddle).matrix_nms(boxes, scores, *args, **kw)
        return [part for part in found if part is not None]

    cases.op(f"matrix_nms {name}", run, inputs, grad=False, rtol=RTOL)


matrix("plain", 0.3, 0.1, 10, 8)
matrix("all", 0.0, 0.0, -1, -1, background_label=-1, return_index=True)
matrix("gaussian", 0.3, 0.1, 10, 8, use_gaussian=True, gaussian_sigma=1.5, return_index=True)
matrix("pixels", 0.3, 0.1, 10, 8, normalized=False, return_index=True, return_rois_num=False)
matrix("none", 5.0, 0.1, 10, 8, return_index=True)

# Boxes relative to others.


def coder(name, variance, shape, **kw):
    def inputs(d):
        priors = boxes_in(d, 5)
        spread = d.uniform(5, 4, low=0.1, high=0.5)
        target = boxes_in(d, 3) if len(shape) == 2 else d.normal(*shape) * 0.5
        return priors, spread, target

    def run(paddle, priors, spread, target):
        chosen = spread if variance is None else variance
        return ops(paddle).box_coder(priors, chosen, target, **kw)

    cases.op(f"box_coder {name}", run, inputs, grad=False, rtol=RTOL)


coder("encode", None, (3, 4))
coder("encode, numbers", [0.1, 0.1, 0.2, 0.2], (3, 4))
coder("encode pixels", None, (3, 4), box_normalized=False)
coder("decode", None, (3, 5, 4), code_type="decode_center_size")
coder("decode, numbers", [0.1, 0.1, 0.2, 0.2], (3, 5, 4), code_type="decode_center_size")
coder("decode axis", None, (5, 3, 4), code_type="decode_center_size", axis=1)
coder("decode pixels", None, (3, 5, 4), code_type="decode_center_size", box_normalized=False)
cases.error("error box_coder", lambda p: ops(p).box_coder(p.ones([1, 4]), 1.0, p.ones([1, 4])))
cases.error("error box_coder 4", lambda p: ops(p).box_coder(p.ones([1, 4]), [1.0], p.ones([1, 4])))


def prior(name, *args, **kw):
    cases.op(
        f"prior_box {name}",
        lambda paddle, x, image: ops(paddle).prior_box(x, image, *args, **kw),
        lambda d: (d.normal(1, 2, 3, 4), d.normal(1, 3, 24, 40)),
        grad=False,
        rtol=RTOL,
    )


prior("plain", 4.0)
prior("sizes", [4.0, 8.0], [9.0, 12.0], clip=True)
prior("ratios", [4.0], [9.0], [1.0, 2.0, 3.0], flip=True)
prior("order", [4.0, 8.0], [9.0, 12.0], [2.0], min_max_aspect_ratios_order=True)
prior("steps", [4.0], steps=[5.0, 6.0], offset=0.3, variance=[0.2, 0.2, 0.3, 0.3])
cases.error(
    "error prior_box",
    lambda p: ops(p).prior_box(p.ones([1, 1, 2, 2]), p.ones([1, 1, 4, 4]), 1.0, steps=[1.0]),
)

# Proposals.


def distribute(name, **kw):
    def inputs(d):
        start = d.uniform(20, 2, high=50.0)
        return np.concatenate([start, start + d.uniform(20, 2, low=1.0, high=200.0)], 1)

    def run(paddle, rois):
        count = paddle.to_tensor(np.array([8, 12], "int32"))
        levels, gone_to, counts = ops(paddle).distribute_fpn_proposals(
            rois, 2, 5, 4, 100, rois_num=count, **kw
        )
        return {"levels": levels, "gone_to": gone_to, "counts": counts}

    cases.op(f"distribute_fpn_proposals {name}", run, inputs, grad=False)


distribute("plain")
distribute("pixels", pixel_offset=True)
cases.error(
    "error distribute", lambda p: ops(p).distribute_fpn_proposals(p.ones([1, 4]), 3, 3, 3, 10)
)


def propose(name, **kw):
    def inputs(d):
        corner = d.uniform(4, 5, 3, 2, high=30.0)
        anchors = np.concatenate([corner, corner + d.uniform(4, 5, 3, 2, low=4.0, high=20.0)], 3)
        return (
            d.distinct(2, 3, 4, 5),
            d.normal(2, 12, 4, 5),
            np.array([[40.0, 50.0], [30.0, 30.0]], "float32"),
            anchors,
            d.uniform(4, 5, 3, 4, low=0.1, high=1.0),
        )

    def run(paddle, *tensors):
        return ops(paddle).generate_proposals(*tensors, return_rois_num=True, **kw)

    cases.op(f"generate_proposals {name}", run, inputs, grad=False, rtol=RTOL)


propose("plain")
propose("few", pre_nms_top_n=20, post_nms_top_n=5, nms_thresh=0.7)
propose("pixels", pixel_offset=True, min_size=4.0)
propose("falling threshold", nms_thresh=0.9, eta=0.8)
propose("none", min_size=100.0)

# YOLO.

ANCHORS = [10, 13, 16, 30, 33, 23]


def yolo_box(name, classes=3, **kw):
    more = 3 if kw.get("iou_aware") else 0

    thresh = kw.pop("thresh", 0.4)

    def run(paddle, x, size):
        return ops(paddle).yolo_box(x, size, ANCHORS, classes, thresh, 8, **kw)

    cases.op(
        f"yolo_box {name}",
        run,
        lambda d: (
            d.normal(2, 3 * (5 + classes) + more, 3, 4),
            np.array([[60, 80], [40, 90]], "int32"),
        ),
        grad=False,
        rtol=RTOL,
    )


yolo_box("plain")
yolo_box("all", thresh=0.0)
yolo_box("not clipped", clip_bbox=False, scale_x_y=1.2)
yolo_box("iou aware", iou_aware=True, iou_aware_factor=0.3)


def yolo_loss(name, mask=(0, 1, 2), with_score=False, **kw):
    def inputs(d):
        # centers in cells of their own
        cells = [(0.1, 0.15), (0.4, 0.9), (0.6, 0.35), (0.9, 0.6)]
        center = np.array([cells, cells[::-1]]) + d.uniform(2, 4, 2, low=-0.05, high=0.05)
        size = d.uniform(2, 4, 2, low=0.1, high=0.6)
        size[1, 3] = 0  # no box
        arrays = [d.normal(2, len(mask) * 8, 5, 5), np.concatenate([center, size], 2)]
        arrays[1] = arrays[1].astype("float32")
        return (*arrays, d.integers(2, 4, high=3, dtype="int32"), d.uniform(2, 4, low=0.2))

    def run(paddle, x, boxes, labels, scores):
        given = {"gt_score": scores} if with_score else {}
        boxes.stop_gradient = scores.stop_gradient = True
        return ops(paddle).yolo_loss(
            x, boxes, labels, ANCHORS, list(mask), 3, 0.5, 8, **given, **kw
        )

    cases.op(f"yolo_loss {name}", run, inputs, rtol=RTOL)


yolo_loss("plain")
yolo_loss("score", with_score=True)
yolo_loss("some anchors", mask=(1, 2))
yolo_loss("no smoothing", use_label_smooth=False, scale_x_y=1.1)


@cases.add("ConvNormActivation", rtol=RTOL)
def _(paddle, d):
    block = ops(paddle).ConvNormActivation(3, 4, 3, stride=2, groups=1, dilation=2)
    bare = ops(paddle).ConvNormActivation(3, 4, 1, norm_layer=None, activation_layer=None)
    for layer in (block, bare):
        for key, value in layer.state_dict().items():
            low = 0.5 if "variance" in key else -1.0
            value.set_value(d.uniform(*value.shape, low=low))
    x = paddle.to_tensor(d.normal(2, 3, 6, 6))
    return {"block": block(x), "bare": bare(x), "keys": [*block.state_dict(), *bare.state_dict()]}
