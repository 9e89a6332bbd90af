"""What the datasets of labelled images share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from argosy.foundation.errors import BadArgument, UsageError
from argosy.tensor.engine import get_default_dtype
from argosy.utils import try_import
from argosy.utils.dataset import Dataset
from argosy.vision.image import get_image_backend


class LabelledImages(Dataset[Any]):
    """Arrays [H, W] or [H, W, C] of uint8 with labels, served as PIL images or, with the backend
    'cv2', as floats.
    """

    def __init__(
        self, mode: str, transform: Callable[[Any], Any] | None, backend: str | None
    ) -> None:
        self.mode = mode.lower()
        if self.mode not in ("train", "test"):
            raise BadArgument(
                f"{type(self).__name__}: mode should be 'train' or 'test', but got {mode!r}"
            )
        self.backend = backend or get_image_backend()
        if self.backend not in ("pil", "cv2"):
            raise UsageError(
                f"{type(self).__name__}: the backend must be one of ['pil', 'cv2'], but is "
                f"{self.backend!r}"
            )
        self.transform = transform
        self.dtype = get_default_dtype()

    def _serve(self, array: np.ndarray) -> Any:
        image: Any = array
        if self.backend == "pil":
            image = try_import(
                "PIL.Image", "The backend 'pil' needs Pillow; pass backend='cv2' for arrays."
            ).fromarray(array)
        if self.transform is not None:
            image = self.transform(image)
        return image if self.backend == "pil" else image.astype(self.dtype)

    def _path(
        self, given: str | None, argument: str, download: bool, find: Callable[[], str]
    ) -> str:
        if given is not None:
            return given
        if not download:
            raise BadArgument(f"{type(self).__name__}: {argument} is not set and download=False")
        return find()
