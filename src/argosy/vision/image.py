"""Reading images from files. Pillow and OpenCV are optional: each is imported when it is first
used.
"""

from __future__ import annotations

from typing import Any

from argosy.foundation.errors import UsageError
from argosy.foundation.process_state import Held
from argosy.utils import try_import

__all__ = ["set_image_backend", "get_image_backend", "image_load"]

BACKENDS = ("pil", "cv2", "tensor")


# what ``image_load`` uses when none is named
_backend = Held("image backend", "pil")


def _check(backend: str) -> str:
    if backend not in BACKENDS:
        raise UsageError(
            f"the image backend must be one of {list(BACKENDS)}, but received {backend!r}"
        )
    return backend


def set_image_backend(backend: str) -> None:
    """Choose what ``image_load`` and the folder datasets read images with: 'pil', 'cv2' or
    'tensor'.
    """
    _backend.value = _check(backend)


def get_image_backend() -> str:
    """The backend that is chosen."""
    return _backend.value


def image_load(path: str, backend: str | None = None) -> Any:
    """Read an image: a PIL image, for 'cv2' a BGR array, for 'tensor' a uint8 Tensor of shape [C,
    H, W] in RGB.
    """
    chosen = _check(backend or _backend.value)
    if chosen == "cv2":
        return try_import("cv2").imread(path)
    image = try_import("PIL.Image", "Reading images needs Pillow: `pip install Pillow`.").open(path)
    if chosen == "pil":
        return image
    from argosy.vision.transforms.pil import as_tensor

    return as_tensor(image.convert("RGB"))
