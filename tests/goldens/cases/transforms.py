"""Image transforms of Tensors, and of arrays where Paddle needs no OpenCV for them."""

import random

import numpy as np

from goldens.harness import Cases

cases = Cases("transforms")


def image(draw, c=3, h=6, w=8):
    return draw.uniform(c, h, w)


def on_tensor(name, fn, make=image, rtol=1e-6):
    """``fn(T, tensor)`` with T the module paddle.vision.transforms."""

    @cases.add(name, rtol=rtol)
    def _(paddle, draw):
        return fn(paddle.vision.transforms, paddle.to_tensor(make(draw)))


def on_array(name, fn, make=lambda d: d.integers(6, 8, 3, high=256, dtype="uint8")):
    @cases.add(name)
    def _(paddle, draw):
        return fn(paddle.vision.transforms, make(draw))


def tall(draw):
    return image(draw, 3, 9, 5)


def gray(draw):
    return image(draw, 1)


# interpolation, blends and colour conversion sum in another order
LOOSE = 1e-5

on_tensor("resize", lambda T, x: T.resize(x, (4, 5)), rtol=LOOSE)
on_tensor("resize-up", lambda T, x: T.resize(x, (9, 11)), rtol=LOOSE)
on_tensor("resize-short_side", lambda T, x: T.resize(x, 4), rtol=LOOSE)
on_tensor("resize-short_side_tall", lambda T, x: T.resize(x, 4), tall, rtol=LOOSE)
on_tensor("resize-same", lambda T, x: T.resize(x, 6))
on_tensor("resize-nearest", lambda T, x: T.resize(x, (4, 11), "nearest"))
on_tensor("resize-bicubic", lambda T, x: T.resize(x, (4, 11), "bicubic"), rtol=LOOSE)
on_tensor("pad", lambda T, x: T.pad(x, 2))
on_tensor("pad-two", lambda T, x: T.pad(x, (1, 2), fill=0.5))
on_tensor("pad-four", lambda T, x: T.pad(x, [1, 2, 3, 4], fill=1))
on_tensor("pad-edge", lambda T, x: T.pad(x, (1, 2), padding_mode="edge"))
on_tensor("pad-reflect", lambda T, x: T.pad(x, (1, 2), padding_mode="reflect"))
on_tensor("crop", lambda T, x: T.crop(x, 1, 2, 3, 4))
on_tensor("center_crop", lambda T, x: T.center_crop(x, 3))
on_tensor("center_crop-odd", lambda T, x: T.center_crop(x, (3, 5)))
on_tensor("hflip", lambda T, x: T.hflip(x))
on_tensor("vflip", lambda T, x: T.vflip(x))
on_tensor("brightness", lambda T, x: T.adjust_brightness(x, 1.6), rtol=LOOSE)
on_tensor("contrast", lambda T, x: T.adjust_contrast(x, 0.4), rtol=LOOSE)
on_tensor("contrast-gray", lambda T, x: T.adjust_contrast(x, 1.4), gray, rtol=LOOSE)
on_tensor("saturation", lambda T, x: T.functional.adjust_saturation(x, 1.7), rtol=LOOSE)
on_tensor("saturation-gray", lambda T, x: T.functional.adjust_saturation(x, 1.7), gray)
on_tensor("hue", lambda T, x: [T.adjust_hue(x, f) for f in (-0.5, -0.1, 0.0, 0.3)], rtol=LOOSE)
on_tensor(
    "hue-flat",
    lambda T, x: T.adjust_hue(x, 0.2),
    lambda d: np.full((3, 2, 2), 0.5, "float32"),
    rtol=LOOSE,
)
on_tensor("to_grayscale", lambda T, x: [T.to_grayscale(x), T.to_grayscale(x, 3)], rtol=LOOSE)
on_tensor("normalize", lambda T, x: T.normalize(x, [0.5, 0.4, 0.3], [0.2, 0.3, 0.4]), rtol=LOOSE)
on_tensor(
    "normalize-hwc",
    lambda T, x: T.normalize(x, [0.5] * 8, [0.2] * 8, data_format="HWC"),
    rtol=LOOSE,
)
on_tensor("rotate", lambda T, x: [T.rotate(x, a) for a in (0, 30, -75.5)], rtol=LOOSE)
on_tensor("rotate-fill", lambda T, x: T.rotate(x, 40, fill=[0.1, 0.2, 0.3]), rtol=LOOSE)
on_tensor("rotate-bilinear", lambda T, x: T.rotate(x, 25, "bilinear", fill=0.5), rtol=LOOSE)
on_tensor("rotate-expand", lambda T, x: T.rotate(x, 33, expand=True), rtol=LOOSE)
on_tensor("rotate-center", lambda T, x: T.rotate(x, 50, "bilinear", center=(1, 2)), rtol=LOOSE)
on_tensor(
    "affine",
    lambda T, x: T.affine(x, 20, (1, -1), 1.2, (5, 10), "bilinear", fill=[0.0, 0.5, 1.0]),
    rtol=LOOSE,
)
on_tensor("affine-shear", lambda T, x: T.affine(x, 0, [0, 0], 0.8, 12.0, fill=0), rtol=LOOSE)
on_tensor(
    "affine-center",
    lambda T, x: T.affine(x, 35, [0, 0], 1.0, [0, 0], "bilinear", center=[2, 1]),
    rtol=LOOSE,
)
POINTS = ([[0, 0], [7, 0], [7, 5], [0, 5]], [[1, 0], [6, 1], [7, 4], [0, 5]])
on_tensor("perspective", lambda T, x: T.perspective(x, *POINTS, "bilinear", fill=0.5), rtol=LOOSE)
on_tensor("erase", lambda T, x: T.erase(x, 1, 2, 3, 4, 0.5))
on_tensor("to_tensor", lambda T, x: [T.to_tensor(x), T.to_tensor(x, "HWC")])

on_array(
    "array-to_tensor", lambda T, x: [T.to_tensor(x), T.to_tensor(x, "HWC"), T.to_tensor(x[..., 0])]
)
on_array("array-to_tensor_float", lambda T, x: T.to_tensor(x), lambda d: d.normal(3, 4, 2))
on_array(
    "array-to_tensor_double",
    lambda T, x: T.to_tensor(x),
    lambda d: d.normal(3, 4, 2, dtype="float64"),
)
on_array("array-crop", lambda T, x: T.crop(x, 1, 2, 3, 4))
on_array("array-center_crop", lambda T, x: [T.center_crop(x, 3), T.center_crop(x, (3, 5))])
on_array("array-normalize", lambda T, x: T.normalize(x, [127.5] * 3, [127.5] * 3, "HWC"))
on_array(
    "array-normalize_rgb",
    lambda T, x: T.normalize(x, [1.0, 2.0, 3.0], [2.0] * 3, "HWC", to_rgb=True),
)
on_array("array-erase", lambda T, x: T.erase(x, 1, 2, 3, 4, np.array([[[1, 2, 3]]])))
on_array("array-transpose", lambda T, x: [T.Transpose()(x), T.Transpose()(x[..., 0])])


def drawn(name, make, rtol=1e-6, on=on_tensor):
    """A random transform, three times after one seed of both generators."""

    def fn(T, x):
        random.seed(5)
        np.random.seed(5)
        transform = make(T)
        return [transform(x) for _ in range(3)]

    on(name, fn, rtol=rtol) if on is on_tensor else on(name, fn)


drawn("Resize", lambda T: T.Resize((3, 3)), LOOSE)
drawn("CenterCrop", lambda T: T.CenterCrop(4))
drawn("Pad", lambda T: T.Pad([1, 2], fill=0))
drawn("Normalize", lambda T: T.Normalize(0.5, 0.25), LOOSE)
drawn("Grayscale", lambda T: T.Grayscale(3), LOOSE)
drawn("RandomResizedCrop", lambda T: T.RandomResizedCrop(4), LOOSE)
drawn(
    "RandomResizedCrop-central",
    lambda T: T.RandomResizedCrop((3, 5), scale=(2.0, 3.0), ratio=(0.9, 1.0)),
    LOOSE,
)
drawn("RandomCrop", lambda T: T.RandomCrop((3, 4), padding=1))
drawn("RandomCrop-if_needed", lambda T: T.RandomCrop((7, 9), pad_if_needed=True))
drawn("RandomHorizontalFlip", lambda T: T.RandomHorizontalFlip(0.5))
drawn("RandomVerticalFlip", lambda T: T.RandomVerticalFlip(0.5))
drawn("Brightness", lambda T: T.BrightnessTransform(0.4), LOOSE)
drawn("Contrast", lambda T: T.ContrastTransform(0.4), LOOSE)
drawn("Saturation", lambda T: T.SaturationTransform((0.2, 1.9)), LOOSE)
drawn("Hue", lambda T: T.HueTransform(0.4), LOOSE)
drawn("Hue-zero", lambda T: T.HueTransform(0))
drawn("ColorJitter", lambda T: T.ColorJitter(0.4, 0.3, 0.2, 0.1), LOOSE)
drawn("RandomRotation", lambda T: T.RandomRotation(40, "bilinear"), LOOSE)
drawn(
    "RandomAffine",
    lambda T: T.RandomAffine((-20, 30), (0.1, 0.2), (0.8, 1.2), (1, 5, 2, 6), "bilinear"),
    LOOSE,
)
drawn("RandomPerspective", lambda T: T.RandomPerspective(0.9, 0.4, "bilinear"), LOOSE)
drawn("RandomErasing", lambda T: T.RandomErasing(0.8, value=[0.1, 0.2, 0.3]))
drawn(
    "Compose",
    lambda T: T.Compose(
        [T.RandomHorizontalFlip(), T.CenterCrop(4), T.Normalize([0.5] * 3, [0.5] * 3)]
    ),
    LOOSE,
)
drawn("array-RandomCrop", lambda T: T.RandomCrop((3, 4)), on=on_array)
drawn("array-RandomErasing", lambda T: T.RandomErasing(0.8, value=7), on=on_array)
drawn("array-RandomErasing_random", lambda T: T.RandomErasing(1.0, value="random"), on=on_array)


@cases.add("keys")
def _(paddle, draw):
    class Scale(paddle.vision.transforms.BaseTransform):
        def _get_params(self, inputs):
            return len(inputs)

        def _apply_image(self, img):
            return img * self.params

        def _apply_mask(self, mask):
            return mask + 1

    x = draw.normal(2, 2)
    return [Scale()(x), Scale(keys=("image", "mask"))((x, x, x)), Scale()((x, "extra"))[0]]


def T(paddle):
    return paddle.vision.transforms


cases.error("error-not_an_image", lambda paddle: T(paddle).resize("x", 3))
cases.error("error-flat_array", lambda paddle: T(paddle).to_tensor(np.zeros(3)))
cases.error("error-resize_size", lambda paddle: T(paddle).resize(paddle.ones([3, 4, 4]), (1, 2, 3)))
cases.error("error-pad_count", lambda paddle: T(paddle).pad(paddle.ones([3, 4, 4]), (1, 2, 3)))
cases.error(
    "error-pad_mode", lambda paddle: T(paddle).pad(paddle.ones([3, 4, 4]), 1, padding_mode="nope")
)
cases.error(
    "error-pad_symmetric",
    lambda paddle: T(paddle).pad(paddle.ones([3, 4, 4]), 1, padding_mode="symmetric"),
)
cases.error("error-gray_channels", lambda paddle: T(paddle).to_grayscale(paddle.ones([3, 4, 4]), 2))
cases.error("error-rank", lambda paddle: T(paddle).hflip(paddle.ones([4, 4])))
cases.error(
    "error-brightness", lambda paddle: T(paddle).adjust_brightness(paddle.ones([3, 4, 4]), -1)
)
cases.error("error-hue", lambda paddle: T(paddle).adjust_hue(paddle.ones([3, 4, 4]), 0.6))
cases.error("error-data_format", lambda paddle: T(paddle).to_tensor(np.zeros((2, 2, 3)), "WHC"))
cases.error("error-Resize", lambda paddle: T(paddle).Resize("big"))
cases.error("error-probability", lambda paddle: T(paddle).RandomHorizontalFlip(2))
cases.error("error-HueTransform", lambda paddle: T(paddle).HueTransform((-1, 0)))
cases.error("error-BrightnessTransform", lambda paddle: T(paddle).BrightnessTransform("x"))
cases.error("error-ContrastTransform", lambda paddle: T(paddle).ContrastTransform(-0.1))
cases.error("error-RandomRotation", lambda paddle: T(paddle).RandomRotation(-3))
cases.error("error-RandomErasing", lambda paddle: T(paddle).RandomErasing(value="x"))
cases.error("error-scale", lambda paddle: T(paddle).RandomResizedCrop(3, scale=(2, 1)))
cases.error("error-keys", lambda paddle: T(paddle).Resize(3, keys=("sound",)))
cases.error(
    "error-affine_translate",
    lambda paddle: T(paddle).affine(paddle.ones([3, 4, 4]), 0, (1,), 1.0, 0),
)
cases.error(
    "error-affine_scale", lambda paddle: T(paddle).affine(paddle.ones([3, 4, 4]), 0, (1, 1), 0.0, 0)
)
