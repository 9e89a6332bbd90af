# ruff: noqa: PT028 -- test10 is a part of the dataset, not a test
"""CIFAR-10 and CIFAR-100: 32x32 images as 3072 floats in [0, 1], with their labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from argosy.dataset import common
from argosy.vision.datasets import Cifar10, Cifar100
from argosy.vision.datasets.formats import read_cifar

__all__ = ["train10", "test10", "train100", "test100"]


def reader_creator(
    filename: str, sub_name: str, cycle: bool = False
) -> Callable[[], Iterator[Any]]:
    """A reader over one part of an archive, without end where ``cycle``."""

    def reader() -> Iterator[Any]:
        while True:
            for sample, label in read_cifar(filename, sub_name, by_name=False):
                yield (sample / 255.0).astype("float32"), int(label)
            if not cycle:
                return

    return reader


def train10(cycle: bool = False) -> Callable[[], Iterator[Any]]:
    return reader_creator(common.download(Cifar10.URL, "cifar", Cifar10.MD5), "data_batch", cycle)


def test10(cycle: bool = False) -> Callable[[], Iterator[Any]]:
    return reader_creator(common.download(Cifar10.URL, "cifar", Cifar10.MD5), "test_batch", cycle)


def train100() -> Callable[[], Iterator[Any]]:
    return reader_creator(common.download(Cifar100.URL, "cifar", Cifar100.MD5), "train")


def test100() -> Callable[[], Iterator[Any]]:
    return reader_creator(common.download(Cifar100.URL, "cifar", Cifar100.MD5), "test")
