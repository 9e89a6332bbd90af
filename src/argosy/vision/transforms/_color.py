"""Transforms of values and colours."""

from __future__ import annotations

import numbers
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from argosy.foundation.errors import UsageError
from argosy.vision.transforms import functional as F
from argosy.vision.transforms._base import BaseTransform, Compose, jitter_range


class ToTensor(BaseTransform):
    """An image to a Tensor, uint8 levels to [0, 1]."""

    def __init__(self, data_format: str = "CHW", keys: Sequence[str] | None = None) -> None:
        super().__init__(keys)
        self.data_format = data_format

    def _apply_image(self, img: Any) -> Any:
        return F.to_tensor(img, self.data_format)


class Normalize(BaseTransform):
    """``(img - mean) / std`` per channel; one number stands for three channels."""

    def __init__(
        self,
        mean: Any = 0.0,
        std: Any = 1.0,
        data_format: str = "CHW",
        to_rgb: bool = False,
        keys: Sequence[str] | None = None,
    ) -> None:
        super().__init__(keys)
        self.mean = [mean] * 3 if isinstance(mean, numbers.Number) else mean
        self.std = [std] * 3 if isinstance(std, numbers.Number) else std
        self.data_format = data_format
        self.to_rgb = to_rgb

    def _apply_image(self, img: Any) -> Any:
        return F.normalize(img, self.mean, self.std, self.data_format, self.to_rgb)


class Transpose(BaseTransform):
    """Reorder the axes, by default [H, W, C] to [C, H, W]; a PIL image becomes an array."""

    def __init__(self, order: Sequence[int] = (2, 0, 1), keys: Sequence[str] | None = None) -> None:
        super().__init__(keys)
        self.order = order

    def _apply_image(self, img: Any) -> Any:
        if F._is_tensor_image(img):
            return img.transpose(self.order)
        array = np.asarray(img)
        return (array[..., None] if array.ndim == 2 else array).transpose(self.order)


class Grayscale(BaseTransform):
    """Luma, in one channel or in three."""

    def __init__(self, num_output_channels: int = 1, keys: Sequence[str] | None = None) -> None:
        super().__init__(keys)
        self.num_output_channels = num_output_channels

    def _apply_image(self, img: Any) -> Any:
        return F.to_grayscale(img, self.num_output_channels)


class _Jitter(BaseTransform):
    """A random change of one property; ``value`` is the range of its factor, or half the range's
    width.
    """

    value: Any

    def _adjust(self, img: Any, factor: float) -> Any:
        raise NotImplementedError

    def _apply_image(self, img: Any) -> Any:
        return (
            img
            if self.value is None
            else self._adjust(img, random.uniform(self.value[0], self.value[1]))
        )


class BrightnessTransform(_Jitter):
    """A random brightness, its factor from 1 - value to 1 + value."""

    def __init__(self, value: Any, keys: Sequence[str] | None = None) -> None:
        super().__init__(keys)
        self.value = jitter_range(value, "brightness")

    def _adjust(self, img: Any, factor: float) -> Any:
        return F.adjust_brightness(img, factor)


class ContrastTransform(_Jitter):
    """A random contrast, its factor from 1 - value to 1 + value."""

    def __init__(self, value: Any, keys: Sequence[str] | None = None) -> None:
        super().__init__(keys)
        if isinstance(value, numbers.Number) and value < 0:  # type: ignore[operator]
            raise UsageError(f"contrast value should be non-negative, but is {value}")
        self.value = jitter_range(value, "contrast")

    def _adjust(self, img: Any, factor: float) -> Any:
        return F.adjust_contrast(img, factor)


class SaturationTransform(_Jitter):
    """A random saturation, its factor from 1 - value to 1 + value."""

    def __init__(self, value: Any, keys: Sequence[str] | None = None) -> None:
        super().__init__(keys)
        self.value = jitter_range(value, "saturation")

    def _adjust(self, img: Any, factor: float) -> Any:
        return F.adjust_saturation(img, factor)


class HueTransform(_Jitter):
    """A random turn of the colour circle, from -value to value (at most 0.5)."""

    def __init__(self, value: Any, keys: Sequence[str] | None = None) -> None:
        super().__init__(keys)
        self.value = jitter_range(
            value, "hue", center=0, bound=(-0.5, 0.5), clip_first_on_zero=False
        )

    def _adjust(self, img: Any, factor: float) -> Any:
        return F.adjust_hue(img, factor)


class ColorJitter(BaseTransform):
    """Random brightness, contrast, saturation and hue, in random order."""

    def __init__(
        self,
        brightness: Any = 0,
        contrast: Any = 0,
        saturation: Any = 0,
        hue: Any = 0,
        keys: Sequence[str] | None = None,
    ) -> None:
        super().__init__(keys)
        self.brightness = brightness
        self.contrast = contrast
        self.saturation = saturation
        self.hue = hue

    def _get_param(self, brightness: Any, contrast: Any, saturation: Any, hue: Any) -> Compose:
        kinds = (
            (BrightnessTransform, brightness),
            (ContrastTransform, contrast),
            (SaturationTransform, saturation),
            (HueTransform, hue),
        )
        transforms = [kind(value, self.keys) for kind, value in kinds if value is not None]
        random.shuffle(transforms)
        return Compose(transforms)

    def _apply_image(self, img: Any) -> Any:
        return self._get_param(self.brightness, self.contrast, self.saturation, self.hue)(img)
