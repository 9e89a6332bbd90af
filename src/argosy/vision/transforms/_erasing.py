"""RandomErasing."""

from __future__ import annotations

import numbers
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from argosy.foundation.errors import BadArgument, UsageError
from argosy.tensor.engine import Tensor, wrap
from argosy.vision.transforms import functional as F
from argosy.vision.transforms._base import BaseTransform
from argosy.vision.transforms._shape import image_size


class RandomErasing(BaseTransform):
    """With probability ``prob``, overwrite a random rectangle with ``value``: a number, one per
    channel, or 'random'.
    """

    def __init__(
        self,
        prob: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: Any = 0,
        inplace: bool = False,
        keys: Sequence[str] | None = None,
    ) -> None:
        super().__init__(keys)
        if not isinstance(scale, (tuple, list)) or not 0 <= scale[0] <= scale[1] <= 1:
            raise BadArgument(
                f"RandomErasing: scale should be (min, max) in range [0, 1], but is {scale!r}"
            )
        if not isinstance(ratio, (tuple, list)) or not 0 <= ratio[0] <= ratio[1]:
            raise BadArgument(f"RandomErasing: ratio should be (min, max), but is {ratio!r}")
        if not 0 <= prob <= 1:
            raise BadArgument(
                f"RandomErasing: the probability should be in range [0, 1], but is {prob!r}"
            )
        if not isinstance(value, (numbers.Number, str, tuple, list)):
            raise BadArgument(
                f"RandomErasing: value should be a number, tuple, list or str, but is {value!r}"
            )
        if isinstance(value, str) and value != "random":
            raise UsageError(
                f"RandomErasing: value must be 'random' when it is a str, but is {value!r}"
            )
        self.prob = prob
        self.scale = scale
        self.ratio = ratio
        self.value = value
        self.inplace = inplace

    def _colour(self) -> Any:
        """The value as a list of one or three numbers; None for random ones."""
        if isinstance(self.value, str):
            return None
        colour = [self.value] if isinstance(self.value, numbers.Number) else list(self.value)
        if len(colour) not in (1, 3):
            raise UsageError(
                "RandomErasing: value should be a number or have one for each channel, but is "
                f"{self.value!r}"
            )
        return colour

    def _patch(self, img: Any, height: int, width: int) -> Any:
        """What to write into a rectangle of this size."""
        colour = self._colour()
        if isinstance(img, Tensor):
            if colour is None:
                return wrap(torch.randn(img.shape[-3], height, width).to(img.raw))
            return Tensor(colour, img.dtype)[:, None, None]
        channels = np.asarray(img).shape[-1]
        return (
            np.random.normal(size=[height, width, channels]) * 255
            if colour is None
            else np.array(colour)[None, None, :]
        )

    def _apply_image(self, img: Any) -> Any:
        if random.random() >= self.prob:
            return img
        width, height = image_size(img)
        self._colour()
        for _ in range(10):
            area = np.random.uniform(self.scale[0], self.scale[1]) * (height * width)
            aspect = np.exp(np.random.uniform(*np.log(self.ratio)))
            h, w = round(np.sqrt(area * aspect)), round(np.sqrt(area / aspect))
            if h < height and w < width:
                patch = self._patch(img, h, w)
                top = np.random.randint(0, height - h + 1)
                return F.erase(
                    img, top, np.random.randint(0, width - w + 1), h, w, patch, self.inplace
                )
        return img
