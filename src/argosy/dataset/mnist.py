"""MNIST: 28x28 images of digits as 784 floats in [-1, 1], with their labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from argosy.dataset import common
from argosy.vision.datasets import MNIST
from argosy.vision.datasets.formats import read_idx

__all__ = ["train", "test"]


def _path(name: str) -> str:
    return common.download(MNIST.URL_PREFIX + name, MNIST.NAME, MNIST.MD5_BY_FILE[name])


def reader_creator(
    image_filename: str, label_filename: str, buffer_size: int = 100
) -> Callable[[], Iterator[Any]]:
    """A reader over a pair of IDX files."""

    def reader() -> Iterator[Any]:
        images, labels = read_idx(image_filename), read_idx(label_filename)
        for image, label in zip(images.reshape(len(images), -1), labels, strict=True):
            yield image.astype("float32") / 255.0 * 2.0 - 1.0, int(label)

    return reader


def train() -> Callable[[], Iterator[Any]]:
    """A reader over the 60,000 training samples."""
    return reader_creator(_path("train-images-idx3-ubyte.gz"), _path("train-labels-idx1-ubyte.gz"))


def test() -> Callable[[], Iterator[Any]]:
    """A reader over the 10,000 test samples."""
    return reader_creator(_path("t10k-images-idx3-ubyte.gz"), _path("t10k-labels-idx1-ubyte.gz"))
