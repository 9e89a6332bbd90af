"""Ops of detectors: in programs, files, refusals. Values are in the golden cases."""

from __future__ import annotations

import io

import numpy as np
import pytest

import paddle
from paddle.vision import ops

BOXES = np.array([[0, 0, 4, 4], [0, 0, 4, 3.5], [5, 5, 9, 9], [1, 1, 6, 7]], "float32")
SCORES = np.array([0.5, 0.9, 0.3, 0.8], "float32")
ANCHORS = [10, 13, 16, 30]


def _same_in_a_program(call, **arrays):
    """What ``call`` gives in a program is what it gives at once."""
    paddle.disable_static()
    expected = call(**{name: paddle.to_tensor(array) for name, array in arrays.items()})
    paddle.enable_static()
    variables = {
        name: paddle.static.data(name, [None, *array.shape[1:]], str(array.dtype))
        for name, array in arrays.items()
    }
    found = call(**variables)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    parts = list(found) if isinstance(found, (list, tuple)) else [found]
    values = exe.run(feed=arrays, fetch_list=parts)
    wanted = list(expected) if isinstance(expected, (list, tuple)) else [expected]
    for value, part in zip(values, wanted, strict=True):
        np.testing.assert_allclose(value, part.numpy(), rtol=1e-6)


@pytest.mark.parametrize("pool", ["roi_align", "roi_pool", "psroi_pool"])
def test_regions_are_pooled_in_a_program(pool, static_mode):
    _same_in_a_program(
        lambda x, boxes, count: getattr(ops, pool)(x, boxes, count, 2, 0.5),
        x=np.random.RandomState(0).rand(2, 8, 6, 6).astype("float32"),
        boxes=BOXES,
        count=np.array([1, 3], "int32"),
    )


def test_boxes_are_chosen_in_a_program(static_mode):
    _same_in_a_program(lambda boxes: ops.nms(boxes, 0.5), boxes=BOXES)


def test_boxes_of_categories_are_chosen_in_a_program(static_mode):
    _same_in_a_program(
        lambda boxes, scores, kinds: ops.nms(boxes, 0.3, scores, kinds, [0, 1], top_k=2),
        boxes=BOXES,
        scores=SCORES,
        kinds=np.array([0, 0, 1, 1]),
    )


def test_matrix_nms_runs_in_a_program(static_mode):
    _same_in_a_program(
        lambda boxes, scores: ops.matrix_nms(boxes, scores, 0.1, 0.1, 9, 9, return_index=True),
        boxes=BOXES[None],
        scores=np.stack([SCORES, SCORES[::-1]])[None],
    )


def test_proposals_are_made_in_a_program(static_mode):
    rng = np.random.RandomState(1)
    corner = rng.uniform(0, 20, (3, 3, 2, 2))
    _same_in_a_program(
        lambda **given: ops.generate_proposals(**given, return_rois_num=True),
        scores=rng.rand(1, 2, 3, 3).astype("float32"),
        bbox_deltas=rng.randn(1, 8, 3, 3).astype("float32"),
        img_size=np.array([[30, 30]], "float32"),
        anchors=np.concatenate([corner, corner + 8], 3).astype("float32"),
        variances=np.ones((3, 3, 2, 4), "float32"),
    )


def test_yolo_runs_in_a_program(static_mode):
    x = np.random.RandomState(2).randn(1, 14, 3, 3).astype("float32")
    _same_in_a_program(
        lambda x, size: ops.yolo_box(x, size, ANCHORS, 2, 0.3, 8),
        x=x,
        size=np.array([[24, 24]], "int32"),
    )


def test_a_deformable_layer_trains_in_a_program(static_mode):
    x = paddle.static.data("x", [None, 2, 5, 5])
    offset = paddle.static.data("offset", [None, 18, 3, 3])
    layer = ops.DeformConv2D(2, 3, 3)
    loss = (layer(x, offset) ** 2).mean()
    paddle.optimizer.SGD(0.1).minimize(loss)
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    rng = np.random.RandomState(3)
    feed = {
        "x": rng.rand(2, 2, 5, 5).astype("float32"),
        "offset": rng.uniform(-1, 1, (2, 18, 3, 3)).astype("float32"),
    }
    losses = [float(exe.run(feed=feed, fetch_list=[loss])[0]) for _ in range(5)]
    assert losses[-1] < losses[0]


def test_the_function_of_programs_makes_filters(static_mode):
    x = paddle.static.data("x", [2, 4, 5, 5])
    offset = paddle.static.data("offset", [2, 18, 5, 5])
    mask = paddle.static.data("mask", [2, 9, 5, 5])
    one = paddle.static.nn.deform_conv2d(x, offset, None, 6, 3, padding=1)
    two = paddle.static.nn.deform_conv2d(x, offset, mask, 6, 3, padding=1, bias_attr=False)
    block = paddle.static.default_main_program().global_block()
    assert [o.type for o in block.ops] == [
        "deformable_conv_v1",
        "elementwise_add",
        "deformable_conv",
    ]
    names = [p.name for p in block.all_parameters()]
    assert names == ["deformable_conv_0.w_0", "deformable_conv_0.b_0", "deformable_conv_1.w_0"]
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    feed = {"x": np.ones((2, 4, 5, 5), "float32"), "offset": np.zeros((2, 18, 5, 5), "float32")}
    feed["mask"] = np.zeros((2, 9, 5, 5), "float32")
    first, second = exe.run(feed=feed, fetch_list=[one, two])
    assert np.abs(first).min() > 0
    assert np.abs(second).max() == 0


def test_images_of_any_size_are_convolved_in_a_program(static_mode):
    x = paddle.static.data("x", [None, 2, None, None])
    offset = paddle.static.data("offset", [None, 18, None, None])
    out = ops.deform_conv2d(x, offset, paddle.ones([3, 2, 3, 3]), stride=2)
    assert out.shape == [-1, 3, -1, -1]
    feed = {"x": np.ones((1, 2, 7, 5), "float32"), "offset": np.zeros((1, 18, 3, 2), "float32")}
    (found,) = paddle.static.Executor().run(feed=feed, fetch_list=[out])
    np.testing.assert_allclose(found, np.full((1, 3, 3, 2), 18.0))


def test_no_offset_is_a_plain_convolution():
    x, weight = paddle.rand([2, 4, 6, 6]), paddle.rand([6, 2, 3, 3])
    offset = paddle.zeros([2, 18, 3, 3])
    found = ops.deform_conv2d(x, offset, weight, stride=2, padding=1, groups=2)
    plain = paddle.nn.functional.conv2d(x, weight, stride=2, padding=1, groups=2)
    np.testing.assert_allclose(found.numpy(), plain.numpy(), rtol=1e-5)


def test_two_true_boxes_of_one_cell_both_count_in_the_gradient():
    x = paddle.to_tensor(np.random.RandomState(4).randn(1, 14, 3, 3).astype("float64"))
    x.stop_gradient = False
    boxes = paddle.to_tensor([[[0.5, 0.5, 0.4, 0.5], [0.52, 0.5, 0.38, 0.5]]], "float64")
    labels = paddle.to_tensor([[0, 1]], "int32")

    def loss(x):
        return ops.yolo_loss(x, boxes, labels, ANCHORS, [0, 1], 2, 0.7, 8).sum()

    loss(x).backward()
    step = np.random.RandomState(5).randn(*x.shape) * 1e-6
    change = float(loss(paddle.to_tensor(x.numpy() + step)) - loss(x))
    assert change == pytest.approx(float((x.grad.numpy() * step).sum()), rel=1e-4)


def test_bytes_of_a_file(tmp_path):
    (tmp_path / "a").write_bytes(b"\x00\x01\xff")
    found = ops.read_file(str(tmp_path / "a"))
    assert found.dtype == paddle.uint8
    assert found.tolist() == [0, 1, 255]


def test_a_picture_is_decoded(tmp_path):
    image = pytest.importorskip("PIL.Image")
    pixels = np.full((6, 8, 3), (200, 100, 50), "uint8")
    file = io.BytesIO()
    image.fromarray(pixels).save(file, "JPEG", quality=95)
    (tmp_path / "a.jpg").write_bytes(file.getvalue())
    data = ops.read_file(str(tmp_path / "a.jpg"))
    assert ops.decode_jpeg(data, "gray").shape == [1, 6, 8]
    found = ops.decode_jpeg(data)
    assert found.shape == [3, 6, 8]
    assert abs(found.numpy().astype(int) - pixels.transpose(2, 0, 1)).max() < 8
    with pytest.raises(ValueError, match="unchanged"):
        ops.decode_jpeg(data, "hsv")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda b: ops.nms(b[:, :3]), ValueError, "\\(N, 4\\)"),
        (lambda b: ops.nms(b, 0.3, b[:, 0], b[:, 0]), AssertionError, "categories must be given"),
        (lambda b: ops.nms(b, 0.3, b[:, 0], b[:, 0], [0], 9), AssertionError, "at most 4"),
        (lambda b: ops.box_coder(b, [1.0] * 4, b, "xywh"), ValueError, "'xywh'"),
        (
            lambda b: ops.roi_align(
                paddle.ones([1, 1, 4, 4]), b, paddle.to_tensor([3], "int32"), 2
            ),
            ValueError,
            "1 images and 4 boxes",
        ),
        (
            lambda b: ops.deform_conv2d(
                paddle.ones([1, 1, 4, 4]), paddle.ones([1, 8, 2, 2]), paddle.ones([1, 1, 3, 3])
            ),
            ValueError,
            "expected \\[1, 18, 2, 2\\]",
        ),
    ],
)
def test_a_wrong_call_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call(paddle.to_tensor(BOXES))
