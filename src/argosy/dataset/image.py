"""Images as arrays [H, W, C] in the order blue, green, red, and the simple preparation of them that
readers use.
"""

from __future__ import annotations

import importlib
import io
from typing import Any

import numpy as np

from argosy.foundation.errors import BadArgument
from argosy.utils import try_import
from argosy.vision.transforms import functional as F

__all__ = [
    "load_image_bytes",
    "load_image",
    "resize_short",
    "to_chw",
    "center_crop",
    "random_crop",
    "left_right_flip",
    "simple_transform",
    "load_and_transform",
]


def _opencv() -> Any:
    """OpenCV, or None. It is imported, not looked for: while another thread imports it, looking
    finds a module without a spec, and importing waits.
    """
    try:
        return importlib.import_module("cv2")
    except ImportError:
        return None


def load_image_bytes(bytes: bytes, is_color: bool = True) -> np.ndarray:
    """Decode a file's content, with OpenCV where it is installed, else with Pillow."""
    opencv = _opencv()
    if opencv is not None:
        raw = np.frombuffer(bytes, np.uint8)
        return opencv.imdecode(raw, 1 if is_color else 0)  # type: ignore[no-any-return]
    module: Any = try_import(
        "PIL.Image", "Decoding images needs Pillow or OpenCV: `pip install Pillow`."
    )
    with module.open(io.BytesIO(bytes)) as image:
        array = np.asarray(image.convert("RGB" if is_color else "L"))
    return np.ascontiguousarray(array[..., ::-1]) if is_color else array


def load_image(file: str, is_color: bool = True) -> np.ndarray:
    """Decode a file."""
    with open(file, "rb") as source:
        return load_image_bytes(source.read(), is_color)


def resize_short(im: np.ndarray, size: int) -> Any:
    """Resize the shorter side to ``size`` with bicubic interpolation."""
    height, width = im.shape[:2]
    new = (size * height // width, size) if height > width else (size, size * width // height)
    return F.resize(im, new, "bicubic")


def to_chw(im: np.ndarray, order: tuple[int, ...] = (2, 0, 1)) -> np.ndarray:
    if im.ndim != len(order):
        raise BadArgument(
            f"to_chw: the order {order} is for another rank than that of shape {im.shape}"
        )
    return im.transpose(order)


def center_crop(im: np.ndarray, size: int, is_color: bool = True) -> np.ndarray:
    """Cut a square out of the middle."""
    top, left = (im.shape[0] - size) // 2, (im.shape[1] - size) // 2
    return im[top : top + size, left : left + size]


def random_crop(im: np.ndarray, size: int, is_color: bool = True) -> np.ndarray:
    """Cut a square out at random, drawn from NumPy's generator."""
    top = np.random.randint(0, im.shape[0] - size + 1)
    left = np.random.randint(0, im.shape[1] - size + 1)
    return im[top : top + size, left : left + size]


def left_right_flip(im: np.ndarray, is_color: bool = True) -> np.ndarray:
    return im[:, ::-1]


def simple_transform(
    im: np.ndarray,
    resize_size: int,
    crop_size: int,
    is_train: bool,
    is_color: bool = True,
    mean: Any = None,
) -> np.ndarray:
    """Resize the shorter side, crop (at random and perhaps mirrored for training), to [C, H, W]
    floats less the mean.
    """
    im = resize_short(im, resize_size)
    if is_train:
        im = random_crop(im, crop_size, is_color)
        if np.random.randint(2) == 0:
            im = left_right_flip(im, is_color)
    else:
        im = center_crop(im, crop_size, is_color)
    if im.ndim == 3:
        im = to_chw(im)
    im = im.astype("float32")
    if mean is not None:
        means = np.array(mean, dtype="float32")
        im -= means[:, None, None] if means.ndim == 1 and is_color else means
    return im


def load_and_transform(
    filename: str,
    resize_size: int,
    crop_size: int,
    is_train: bool,
    is_color: bool = True,
    mean: Any = None,
) -> np.ndarray:
    return simple_transform(
        load_image(filename, is_color), resize_size, crop_size, is_train, is_color, mean
    )
