"""MNIST and Fashion-MNIST."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from argosy.utils.dataset_file import locate
from argosy.vision.datasets._images import LabelledImages
from argosy.vision.datasets.formats import read_idx


class MNIST(LabelledImages):
    """28x28 images of digits and their labels, arrays of shape [1]."""

    NAME = "mnist"
    URL_PREFIX = "https://dataset.bj.bcebos.com/mnist/"
    MD5_BY_FILE = {
        "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
        "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
        "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
    }

    def __init__(
        self,
        image_path: str | None = None,
        label_path: str | None = None,
        mode: str = "train",
        transform: Callable[[Any], Any] | None = None,
        download: bool = True,
        backend: str | None = None,
    ) -> None:
        super().__init__(mode, transform, backend)
        stem = "train" if self.mode == "train" else "t10k"
        self.image_path = self._path(
            image_path, "image_path", download, lambda: self._find(f"{stem}-images-idx3-ubyte.gz")
        )
        self.label_path = self._path(
            label_path, "label_path", download, lambda: self._find(f"{stem}-labels-idx1-ubyte.gz")
        )
        self.images = read_idx(self.image_path)
        self.labels = read_idx(self.label_path).astype("int64").reshape(-1, 1)

    def _find(self, name: str) -> str:
        return locate(self.URL_PREFIX + name, self.NAME, self.MD5_BY_FILE[name])

    def __getitem__(self, idx: int) -> tuple[Any, np.ndarray]:
        image = self.images[idx]
        return self._serve(
            image if self.backend == "pil" else image.astype("float32")
        ), self.labels[idx]

    def __len__(self) -> int:
        return len(self.labels)


class FashionMNIST(MNIST):
    """28x28 images of clothes and their labels."""

    NAME = "fashion-mnist"
    URL_PREFIX = "https://dataset.bj.bcebos.com/fashion_mnist/"
    MD5_BY_FILE = {
        "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
        "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
        "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
    }
