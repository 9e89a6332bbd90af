"""Folders of images."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from argosy.foundation.errors import UsageError
from argosy.utils import try_import
from argosy.utils.dataset import Dataset
from argosy.vision.image import get_image_backend

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


class EmptyFolder(UsageError, RuntimeError):
    """A folder has no file of the wanted kinds."""


def default_loader(path: str) -> Any:
    """Read an image as RGB with the chosen backend."""
    if get_image_backend() == "cv2":
        cv2 = try_import("cv2")
        return cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB)
    with open(path, "rb") as file:
        return (
            try_import("PIL.Image", "Reading images needs Pillow: `pip install Pillow`.")
            .open(file)
            .convert("RGB")
        )


def _files(
    folder: str, extensions: Sequence[str] | None, is_valid_file: Callable[[str], bool] | None
) -> Iterator[str]:
    """The wanted files under ``folder``, sorted; by extension, or as the function says where one is
    given.
    """
    kinds = tuple(extension.lower() for extension in extensions or IMG_EXTENSIONS)
    for root, _, names in sorted(os.walk(os.path.expanduser(folder), followlinks=True)):
        for name in sorted(names):
            path = os.path.join(root, name)
            if (
                name.lower().endswith(kinds)
                if extensions or is_valid_file is None
                else is_valid_file(path)
            ):
                yield path


def _check_found(found: list[Any], root: str, extensions: Sequence[str] | None) -> list[Any]:
    if not found:
        raise EmptyFolder(
            f"Found 0 files under {root!r}. Supported extensions are: "
            f"{', '.join(extensions or IMG_EXTENSIONS)}"
        )
    return found


class DatasetFolder(Dataset[Any]):
    """``root/class/…/image``: samples are (image, number of the class), classes are numbered by
    name.
    """

    def __init__(
        self,
        root: str,
        loader: Callable[[str], Any] | None = None,
        extensions: Sequence[str] | None = None,
        transform: Callable[[Any], Any] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
    ) -> None:
        self.root = root
        self.transform = transform
        self.loader = loader or default_loader
        self.extensions = extensions or IMG_EXTENSIONS
        self.classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        self.samples = _check_found(
            [
                (path, i)
                for name, i in self.class_to_idx.items()
                for path in _files(os.path.join(root, name), extensions, is_valid_file)
            ],
            root,
            extensions,
        )
        self.targets = [target for _, target in self.samples]

    def __getitem__(self, index: int) -> tuple[Any, int]:
        path, target = self.samples[index]
        sample = self.loader(path)
        return (sample if self.transform is None else self.transform(sample)), target

    def __len__(self) -> int:
        return len(self.samples)


class ImageFolder(Dataset[Any]):
    """Every image under ``root``; samples are lists of one image."""

    def __init__(
        self,
        root: str,
        loader: Callable[[str], Any] | None = None,
        extensions: Sequence[str] | None = None,
        transform: Callable[[Any], Any] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
    ) -> None:
        self.root = root
        self.transform = transform
        self.loader = loader or default_loader
        self.extensions = extensions or IMG_EXTENSIONS
        self.samples = _check_found(list(_files(root, extensions, is_valid_file)), root, extensions)

    def __getitem__(self, index: int) -> list[Any]:
        sample = self.loader(self.samples[index])
        return [sample if self.transform is None else self.transform(sample)]

    def __len__(self) -> int:
        return len(self.samples)
