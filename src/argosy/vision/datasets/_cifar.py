"""CIFAR-10 and CIFAR-100."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from argosy.utils.dataset_file import locate
from argosy.vision.datasets._images import LabelledImages
from argosy.vision.datasets.formats import read_cifar


class Cifar10(LabelledImages):
    """32x32 colour images and their labels, 0-d arrays."""

    URL = "https://dataset.bj.bcebos.com/cifar/cifar-10-python.tar.gz"
    MD5 = "c58f30108f718f92721af3b95e74349a"
    PART_BY_MODE = {"train": "data_batch", "test": "test_batch"}

    def __init__(
        self,
        data_file: str | None = None,
        mode: str = "train",
        transform: Callable[[Any], Any] | None = None,
        download: bool = True,
        backend: str | None = None,
    ) -> None:
        super().__init__(mode, transform, backend)
        self.data_file = self._path(
            data_file, "data_file", download, lambda: locate(self.URL, "cifar", self.MD5)
        )
        self.data = list(read_cifar(self.data_file, self.PART_BY_MODE[self.mode], by_name=True))

    def __getitem__(self, idx: int) -> tuple[Any, np.ndarray]:
        values, label = self.data[idx]
        image = np.ascontiguousarray(values.reshape(3, 32, 32).transpose(1, 2, 0))
        return self._serve(image), np.array(label, "int64")

    def __len__(self) -> int:
        return len(self.data)


class Cifar100(Cifar10):
    """32x32 colour images of 100 classes."""

    URL = "https://dataset.bj.bcebos.com/cifar/cifar-100-python.tar.gz"
    MD5 = "eb9058c3a382ffc7106e4002c42a8d85"
    PART_BY_MODE = {"train": "train", "test": "test"}
