"""Transforms of arrays, which goldens cannot show (Paddle needs OpenCV for them), and behaviour
around them.
"""

import random
import sys

import numpy as np
import pytest
import torch

import paddle
from argosy.foundation.errors import NotSupported
from argosy.vision import transforms as T


def picture(h=6, w=8, c=3):
    return np.random.RandomState(0).randint(0, 256, (h, w, c)).astype("uint8")


def as_tensor(array):
    """[H, W, C] levels as a float Tensor [C, H, W] of the same numbers."""
    return paddle.to_tensor(array.transpose(2, 0, 1).astype("float32"))


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(3, 5), (9, 11), 4])
def test_array_resize_rounds_what_the_tensor_gives(mode, size):
    array = picture()
    expected = (
        np.rint(T.resize(as_tensor(array), size, mode).numpy()).clip(0, 255).transpose(1, 2, 0)
    )
    out = T.resize(array, size, mode)
    assert out.dtype == np.uint8
    np.testing.assert_array_equal(out, expected)


def test_array_resize_of_other_shapes():
    assert T.resize(picture()[..., 0], (3, 4)).shape == (3, 4)
    assert T.resize(picture(c=1), (3, 4)).shape == (3, 4, 1)
    assert T.resize(picture().astype("float64"), (3, 4)).dtype == np.float64
    array = picture()
    assert T.resize(array, 6) is array


def test_array_area_needs_whole_factors():
    array = picture()
    np.testing.assert_array_equal(
        T.resize(array.astype("float64"), (3, 4), "area"),
        array.astype("float64").reshape(3, 2, 4, 2, 3).mean(axis=(1, 3)),
    )
    with pytest.raises(NotSupported, match="whole factors"):
        T.resize(array, (4, 4), "area")
    with pytest.raises(NotSupported, match="needs OpenCV"):
        T.resize(array, (4, 4), "lanczos")


def test_array_pad():
    array = picture()
    out = T.pad(array, (1, 2, 3, 4), fill=9)
    assert out.shape == (12, 12, 3)
    np.testing.assert_array_equal(out[2:8, 1:9], array)
    assert (out[0] == 9).all()
    assert T.pad(array, 1, fill=(1, 2, 3))[0, 0].tolist() == [1, 2, 3]
    np.testing.assert_array_equal(T.pad(array, 1, padding_mode="symmetric")[0, 1:-1], array[0])
    np.testing.assert_array_equal(T.pad(array, 1, padding_mode="reflect")[0, 1:-1], array[1])
    assert T.pad(array[..., 0], 1).shape == (8, 10)


@pytest.mark.parametrize("shape", [(6, 8), (6, 8, 1), (6, 8, 3)])
def test_array_flips_keep_the_shape(shape):
    array = np.arange(np.prod(shape)).reshape(shape)
    np.testing.assert_array_equal(T.hflip(array), array[:, ::-1])
    np.testing.assert_array_equal(T.vflip(array), array[::-1])


def test_array_levels():
    array = np.array([[[0, 100, 200]]], "uint8")
    assert T.adjust_brightness(array, 1.5).tolist() == [[[0, 150, 255]]]
    assert T.adjust_contrast(array, 0.5).tolist() == [[[37, 87, 137]]]
    assert T.adjust_contrast(array, 0).tolist() == [[[74, 74, 74]]]


def test_array_saturation_draws_its_share():
    array = picture()
    np.random.seed(1)
    share = np.random.uniform(0.5, 1.5)
    np.random.seed(1)
    out = T.adjust_saturation(array, 0.5)
    luma = array.astype("float32") @ np.array([0.114, 0.587, 0.299], "float32")
    expected = (array * share + luma[..., None] * (1 - share)).clip(0, 255)
    assert np.abs(out.astype(float) - expected).max() < 1.01


def test_array_hue_turns_primary_colours():
    blue_green_red = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255]]], "uint8")
    turned = T.adjust_hue(blue_green_red, 1 / 3)
    expected = np.array([[[0, 0, 255], [255, 0, 0], [0, 255, 0]]])
    assert np.abs(turned.astype(int) - expected).max() <= 6
    np.testing.assert_array_equal(T.adjust_hue(picture(), 0), picture())
    with pytest.raises(ValueError, match="hue_factor"):
        T.adjust_hue(picture(), 0.6)


def test_array_gray():
    array = np.array([[[10, 20, 30], [255, 255, 255]]], "uint8")
    assert T.to_grayscale(array).tolist() == [[[18], [255]]]
    assert T.to_grayscale(array, 3).shape == (1, 2, 3)


def test_array_rotation_by_right_angles():
    array = picture(5, 5)
    # (w / 2, h / 2) is half a pixel off the middle of the pixels: a quarter turn moves the image by
    # one
    np.testing.assert_array_equal(T.rotate(array, 180)[1:, 1:], array[1:, 1:][::-1, ::-1])
    np.testing.assert_array_equal(T.rotate(array, 90, center=(2, 2)), np.rot90(array))
    np.testing.assert_array_equal(T.rotate(array, 90, "bilinear", center=(2, 2)), np.rot90(array))
    assert (T.rotate(array, 180, fill=7)[0] == 7).all()
    assert T.rotate(picture(4, 8), 90, expand=True).shape == (8, 4, 3)
    with pytest.raises(NotSupported):
        T.rotate(array, 3, "bicubic")


def test_arrays_without_opencv():
    for call in (
        lambda: T.affine(picture(), 3, (0, 0), 1.0, 0),
        lambda: T.perspective(picture(), [], []),
    ):
        with pytest.raises(NotSupported, match="OpenCV"):
            call()


def test_batches_of_tensors():
    x = paddle.to_tensor(np.random.RandomState(0).rand(2, 3, 4, 4).astype("float32"))
    for fn in (
        T.hflip,
        T.vflip,
        lambda v: T.crop(v, 1, 1, 2, 2),
        lambda v: T.resize(v, 3),
        lambda v: T.adjust_contrast(v, 0.5),
    ):
        batch = fn(x)
        np.testing.assert_allclose(batch[1].numpy(), fn(x[1]).numpy(), rtol=1e-6)


def test_erase_in_place_only_when_asked():
    x = paddle.to_tensor(np.ones((3, 4, 4), "float32"))
    assert T.erase(x, 0, 0, 2, 2, 0.0).raw.sum() == 36
    assert x.raw.sum() == 48
    T.erase(x, 0, 0, 2, 2, 0.0, inplace=True)
    assert x.raw.sum() == 36


def test_random_erasing_of_a_tensor_with_noise():
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    x = paddle.to_tensor(np.zeros((3, 8, 8), "float32"))
    out = T.RandomErasing(1.0, value="random")(x)
    assert 0 < int((out.raw != 0).sum()) < 3 * 64


def test_crop_larger_than_the_image_says_so():
    with pytest.raises(
        ValueError, match=r"\(9, 9\) is larger than the image \(6, 8\); pass pad_if_needed"
    ):
        T.RandomCrop(9)(picture())


def test_compose_names_the_transform_that_failed():
    pipeline = T.Compose([T.CenterCrop(2), T.Resize(3)])
    with pytest.raises(TypeError) as caught:
        pipeline("not an image")
    assert "CenterCrop" in caught.value.__notes__[0]
    assert repr(pipeline).startswith("Compose(\n    <")


def test_parts_without_a_method():
    with pytest.raises(NotImplementedError, match="_apply_mask"):
        T.CenterCrop(2, keys=("image", "mask"))((picture(), picture()))
    with pytest.raises(NotSupported, match="'sound'"):
        T.CenterCrop(2, keys=("sound",))


def test_needs_no_pillow():
    assert "PIL" not in sys.modules or T.functional._is_pil_image(picture()) is False


def test_image_backend():
    assert paddle.vision.get_image_backend() == "pil"
    paddle.vision.set_image_backend("cv2")
    assert paddle.vision.get_image_backend() == "cv2"
    with pytest.raises(ValueError, match="must be one of"):
        paddle.vision.set_image_backend("gif")
    paddle.vision.set_image_backend("pil")


def test_image_load_without_pillow(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(ImportError, match="pip install Pillow"):
        paddle.vision.image_load("x.png", backend="pil")


def test_a_batch_of_samples_becomes_a_batch_of_fields():
    samples = [(np.full((2, 3, 3), i), i) for i in range(3)]
    doubled = paddle.vision.transforms.BatchCompose([lambda batch: [(x * 2, y) for x, y in batch]])
    images, labels = doubled(samples)
    assert [image.max() for image in images] == [0, 2, 4]
    assert labels == (0, 1, 2)


def test_the_size_of_an_image_is_width_and_height():
    size = paddle.vision.transforms.transforms._get_image_size
    assert tuple(size(np.zeros((4, 5, 3)))) == (5, 4)
